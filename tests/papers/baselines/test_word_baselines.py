import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from closeness import rounding
from turnlens.errors import ConversationError
from turnlens.evaluation import LabelledConversations, RetrievalTask, embed_labelled, evaluate_retrieval
from turnlens.papers.baselines import (
    BM25,
    LDA,
    Concatenation,
    Doc2Vec,
    MeanOfUtterances,
    TfIdf,
    Word2Vec,
    WordVectors,
)
from turnlens.papers.domain_categorization import purity
from turnlens.papers.retrieval import evaluate_conversation_retrieval

GLOVE = "red 1 0 0\ntaxi 0 1 0\nwine 0 0 -2\n"


@pytest.mark.parametrize("header", ["", "3 3\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_word_vectors_of_a_file_by_hand(tmp_path: Path, header: str, packed: bool) -> None:
    path = tmp_path / ("vectors.txt.gz" if packed else "vectors.txt")
    content = (header + GLOVE).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    found = WordVectors(path).encode_messages(["Red taxi!", "red RED wine", "green", ""])
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([[0.5, 0.5, 0], [2 / 3, 0, -2 / 3], [0, 0, 0], [0, 0, 0]]))


def test_word_vectors_of_one_dimension_are_no_header(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("red 2\ntaxi 4\n")
    assert WordVectors(path).encode_messages(["red taxi"]).tolist() == [[3.0]]


def test_other_files_are_refused_unopened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    for name in ("vectors.kv", "vectors.model", "vectors.txt"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
        with pytest.raises(ConversationError, match=f"{name}: binary or other content: a text file"):
            WordVectors(tmp_path / name)
    assert not (tmp_path / "sprung").exists()
    for content, message in [
        ("", "no vector"),
        ("red\n", "no vector"),
        ("red taxi wine\n", "other content"),
        ("red 1 2\ntaxi 1 2 3\n", "not a whole text file"),
        ("3 2\nred 1 2\n", "not a whole text file"),
    ]:
        (tmp_path / "bad.txt").write_text(content)
        with pytest.raises(ConversationError, match=f"bad.txt: .*{message}"):
            WordVectors(tmp_path / "bad.txt")
    with pytest.raises(ConversationError, match="no such file"):
        WordVectors(tmp_path / "missing.txt")


def test_words_beat_random(corpus: Dataset, beats_random, tmp_path: Path) -> None:
    trained = Word2Vec(dim=50, epochs=20).fit(corpus)
    beats_random(trained)
    beats_random(Concatenation(trained))
    # The same vectors as a file are the same baseline.
    trained.vectors.save_word2vec_format(str(tmp_path / "own.txt"))
    from_file = WordVectors(tmp_path / "own.txt").fit(corpus)
    texts = ["I want to cancel my order", "nothing"]
    assert from_file.encode_messages(texts) == pytest.approx(trained.encode_messages(texts), abs=1e-6)
    tfidf = TfIdf().fit(corpus)
    beats_random(tfidf)
    beats_random(Concatenation(tfidf))
    beats_random(MeanOfUtterances(tfidf))


def test_tfidf_keeps_the_most_frequent_words(corpus: Dataset) -> None:
    few = TfIdf(max_words=7).fit(corpus).encode_messages(["please help the customer", "zzz"])
    assert few.shape == (2, 7) and few.dtype == np.float32
    assert np.linalg.norm(few, axis=1) == pytest.approx([1, 0])


def test_doc2vec_beats_random_and_infers_each_dialogue_on_its_own(corpus: Dataset, beats_random) -> None:
    model = Doc2Vec().fit(corpus)
    beats_random(model)
    messages = corpus["messages"][:5]
    together = model.encode_conversations(messages)
    assert together.shape == (5, 100) and together.dtype == np.float32
    for number in (4, 0):
        assert np.array_equal(model.encode_conversations([messages[number]])[0], together[number])
    unknown = [{"role": "user", "content": "zzzz"}]
    assert not model.encode_conversations([unknown]).any()


def test_topics_agree_with_labels_more_than_random_clusters(corpus: Dataset, dialogues: LabelledConversations) -> None:
    model = LDA(topics=4).fit(corpus)  # as many as the corpus has subjects
    shares = model.encode_conversations(dialogues.conversations)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)), abs=rounding())
    clusters = model.clusters(dialogues.conversations)
    generator = np.random.default_rng(0)
    by_chance = [purity(generator.permutation(clusters), dialogues.codes) for _ in range(200)]
    assert purity(clusters, dialogues.codes) > max(by_chance)


def test_bm25_beats_random(retrieval: RetrievalTask, dialogues: LabelledConversations, random_vectors) -> None:
    for result, floor in [
        (BM25().score_retrieval(retrieval), evaluate_retrieval(random_vectors, retrieval)),
        (
            BM25().score_conversation_retrieval(dialogues),
            evaluate_conversation_retrieval(embed_labelled(random_vectors, dialogues)),
        ),
    ]:
        assert result.map_interval[0] > floor.map_interval[1]
        assert result.queries == floor.queries
        assert result.summary().keys() == floor.summary().keys()


def test_bm25_ranks_by_hand() -> None:
    texts = ("red taxi now", "a blue taxi", "red wine", "green tea", "red taxi please", "?!")
    # For "red taxi now": 4 shares two words; 2 and 1 share one, and 2 is the shorter; 3 and 5 share none and tie.
    task = RetrievalTask(texts, (0, 5), (np.array([2, 3]), np.array([0])), (np.array([4, 1, 5]), np.array([1])))
    result = BM25().score_retrieval(task)
    at_rank_4_or_5 = (2 / 4 + 2 / 5) / 2
    assert result.values["map"] == pytest.approx([(1 / 2 + at_rank_4_or_5) / 2, (1 + 1 / 2) / 2])
    assert result.values["mrr"] == pytest.approx([1 / 2, (1 + 1 / 2) / 2])


def test_inference_does_not_depend_on_the_hashes_of_a_process(corpus: Dataset, monkeypatch) -> None:
    def salted(*args: object, **kwargs: object) -> None:
        raise AssertionError("Python hashes strings differently in every process")

    model = Doc2Vec(epochs=2).fit(corpus.select(range(10)))
    monkeypatch.setattr("gensim.models.doc2vec.pseudorandom_weak_vector", salted)
    assert model.encode_conversations(corpus["messages"][:1]).any()
