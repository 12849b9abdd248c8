from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from turnlens.evaluation import LabelledConversations, RetrievalTask
from turnlens.papers.baselines import BASELINES, PooledEncoder, SimCSE, build_baseline
from turnlens.papers.baselines.dialogues import Concatenation, MeanOfUtterances

QUICK = [name for name in BASELINES if not name.endswith("-adapted") and name != "simcse"]


@pytest.mark.parametrize("name", QUICK)
def test_every_baseline_gives_what_the_table_says(
    name: str,
    tiny_encoder_path: Path,
    corpus: Dataset,
    tmp_path: Path,
    retrieval: RetrievalTask,
    dialogues: LabelledConversations,
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("order 1 0\ncancel 0 1\ni 1 1\n")
    few = corpus.select(range(15))
    given = {"encoder": tiny_encoder_path, "word_vectors": vectors, "model": tiny_encoder_path, "topics": 3}
    baseline = BASELINES[name]
    assert baseline.name == name and baseline.description
    for level in baseline.levels:
        model = build_baseline(name, level, **given).fit(few)
        if baseline.gives == "rankings":
            scored = {"message": model.score_retrieval, "conversation": model.score_conversation_retrieval}[level]
            assert scored(retrieval if level == "message" else dialogues).map > 0
        elif level == "message":
            found = model.encode_messages(["I want to cancel", "my order"])
            assert found.dtype == np.float32 and len(found) == 2 and np.isfinite(found).all()
        else:
            found = model.encode_conversations(few["messages"][:3])
            assert found.dtype == np.float32 and len(found) == 3 and np.isfinite(found).all()
            if baseline.gives == "clusters":
                assert set(model.clusters(few["messages"][:]).tolist()) <= set(range(3))


def test_names_mean_what_they_say(tiny_encoder: SentenceTransformer) -> None:
    for name in ("mean-adapted", "cls-adapted"):
        model = build_baseline(name, encoder=tiny_encoder, seed=7)
        assert isinstance(model, PooledEncoder) and model.pooling == name.split("-")[0]
        assert model.adaptation is not None and model.adaptation.seed == 7
    for name in ("whitening", "flow"):
        assert build_baseline(name, encoder=tiny_encoder).base.adaptation is None
        assert build_baseline(f"{name}-adapted", encoder=tiny_encoder, seed=7).base.adaptation.seed == 7
    assert build_baseline("flow", encoder=tiny_encoder, seed=7).seed == 7
    simcse = build_baseline("simcse", encoder=tiny_encoder, seed=7)
    assert isinstance(simcse, SimCSE) and simcse.settings.seed == 7
    assert isinstance(build_baseline("simcse", "conversation", encoder=tiny_encoder), MeanOfUtterances)
    whole = build_baseline("cls", "conversation", encoder=tiny_encoder)
    assert isinstance(whole, Concatenation) and whole.limit is whole.utterances


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="unknown baseline 'bert': expected one of glove, word2vec"):
        build_baseline("bert")
    with pytest.raises(ValueError, match="the baseline lda serves conversation, got level 'message'"):
        build_baseline("lda")
    with pytest.raises(ValueError, match="the baseline glove needs word_vectors, got none"):
        build_baseline("glove")
    with pytest.raises(ValueError, match="the baseline hf needs model, got none"):
        build_baseline("hf")


@pytest.mark.parametrize("name", [name for name in (*QUICK, "simcse") if BASELINES[name].learns != "nothing"])
def test_what_learns_has_to_learn_from_something(name: str, tiny_encoder: SentenceTransformer) -> None:
    model = build_baseline(name, BASELINES[name].levels[-1], encoder=tiny_encoder)
    with pytest.raises(ValueError, match="has learned nothing yet"):
        model.encode_conversations([[{"role": "user", "content": "hello"}]])
    with pytest.raises(ValueError, match="no conversations with text"):
        model.fit([])


@pytest.mark.parametrize("name", [name for name in QUICK if BASELINES[name].gives != "rankings" and name != "hf"])
def test_the_seed_changes_what_is_learned_randomly_and_each_fit_starts_again(
    name: str, tiny_encoder: SentenceTransformer, corpus: Dataset, tmp_path: Path
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("order 1 0\ncancel 0 1\ni 1 1\n")
    few, level = corpus.select(range(15)), BASELINES[name].levels[-1]
    model, other = (
        build_baseline(name, level, encoder=tiny_encoder, word_vectors=vectors, topics=3, seed=seed) for seed in (0, 1)
    )
    first, again, second = (one.fit(few).encode_conversations(few["messages"][:3]) for one in (model, model, other))
    assert np.array_equal(first, again)
    assert np.array_equal(first, second) == (BASELINES[name].learns != "randomly")
