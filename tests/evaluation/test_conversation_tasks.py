"""The four tasks on whole dialogues: hand arithmetic, the literal definition as a loop, blocks, and running by name."""

import json
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from turnlens.errors import ConversationError
from turnlens.evaluation import (
    TASKS,
    EmbeddedConversations,
    compare_results,
    embed_labelled,
    evaluate,
    labelled_conversations,
    load_task,
)
from turnlens.evaluation.ranking_metrics import rank_conversations, retrieval_metrics
from turnlens.papers import evaluate_categorization, evaluate_relatedness
from turnlens.papers.dial2vec.alignment_uniformity import (
    evaluate_alignment_uniformity,
    mean_squared_distances,
    uniformity,
)
from turnlens.papers.dialogue_cse.dialogue_sts import spearman
from turnlens.papers.domain_categorization import assignment_accuracy, purity
from turnlens.papers.retrieval import evaluate_conversation_retrieval

ON_CONVERSATIONS = [task.name for task in TASKS.values() if task.level.name == "conversation"]


def embedded(vectors: Any, labels: list[Any], max_queries: int | None = None) -> EmbeddedConversations:
    rows = [
        {"id": f"d{number}", "messages": [{"role": "user", "content": str(number)}], "domain": str(label)}
        for number, label in enumerate(labels)
    ]
    return embed_labelled(lambda some: np.asarray(vectors), labelled_conversations(rows, max_queries=max_queries))


def noisy(count: int = 60, labels: int = 4, noise: float = 0.8, seed: int = 0) -> EmbeddedConversations:
    """Clustered embeddings with exact duplicates, a zero vector and a label that occurs once."""
    generator = np.random.default_rng(seed)
    codes = np.arange(count) % labels
    vectors = generator.normal(size=(labels, 6))[codes] + noise * generator.normal(size=(count, 6))
    vectors[10:20] = 3 * vectors[:10]
    vectors[30] = 0
    return embedded(vectors, [*codes[:-1].tolist(), "lone"])


def test_retrieval_and_relatedness_by_hand() -> None:
    radians = np.deg2rad([0, 10, 20, 40, 180])
    vectors = 7 * np.stack([np.cos(radians), np.sin(radians)], axis=1)
    data = embedded(vectors, ["a", "b", "b", "a", "a"])
    result = evaluate_conversation_retrieval(data)
    # From 0: b b a a. From 10: a b a a. From 20: 10 (b) first. From 40: b b a a. From 180: a b b a.
    expected = [(1 / 3 + 2 / 4) / 2, 1 / 2, 1, (1 / 3 + 2 / 4) / 2, (1 + 2 / 4) / 2]
    assert result.values["map"] == pytest.approx(expected)
    assert result.values["mrr"] == pytest.approx([1 / 3, 1 / 2, 1, 1 / 3, 1])
    assert result.map == pytest.approx(100 * np.mean(expected), abs=1e-5)
    assert result.map_interval[0] < result.map < result.map_interval[1]
    assert result.queries == ("d0", "d1", "d2", "d3", "d4")
    related = evaluate_relatedness(data)
    # Two of four relevant: at most (7 - 3) / 2 / sqrt(5); one of four: 1.5 / sqrt(5 * 3/4).
    assert related.per_query[[0, 2, 4]] == pytest.approx([-2 / 5**0.5, 1.5 / 3.75**0.5, 0])
    assert related.spearman_best == pytest.approx(100 * (3 * 2 / 5**0.5 + 2 * 1.5 / 3.75**0.5) / 5, abs=1e-5)


def test_every_query_as_a_loop_over_the_single_metrics() -> None:
    data = noisy()
    units, codes, queries = data.units.astype(np.float64), data.conversations.codes, data.conversations.queries
    assert len(queries) == 59 and data.conversations.dropped == 1
    for place, query in enumerate(queries):
        others = np.arange(len(codes)) != query
        scores = np.round(units[others] @ units[query], 6)  # duplicates tie here as well
        relevant = codes[others] == codes[query]
        for name, values in retrieval_metrics([(scores, relevant)]).items():
            assert data.ranking[name][place] == pytest.approx(values[0])
        assert data.ranking["spearman"][place] == pytest.approx(spearman(scores, relevant))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = noisy(count=97)
    units, codes, queries = data.units, data.conversations.codes, data.conversations.queries
    for block in (1, 97 * 2, 97 * 13 + 5, 10**9):
        monkeypatch.setattr("turnlens.evaluation.ranking_metrics._RANKED", max(1, block // 3))
        ranking = rank_conversations(units, codes, queries, block)
        for name in ("spearman", "map", "mrr"):
            assert ranking[name].tolist() == data.ranking[name].tolist()
        assert uniformity(units, block) == uniformity(units)


def test_the_order_of_the_dialogues_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    vectors, labels = generator.normal(size=(40, 384)).astype(np.float32), np.arange(40) % 3
    vectors[20:] = vectors[:20] * 5  # equal cosines with different labels
    order = generator.permutation(40)
    straight = evaluate_conversation_retrieval(embedded(vectors, labels.tolist()))
    shuffled = evaluate_conversation_retrieval(embedded(vectors[order], labels[order].tolist()))
    assert shuffled.values["map"].tolist() == pytest.approx(straight.values["map"][order].tolist(), abs=1e-14)


def test_collapsed_embeddings_score_as_chance() -> None:
    for vectors in (np.ones((40, 3)), np.zeros((40, 3))):
        data = embedded(vectors, [0] * 10 + [1] * 30)
        assert evaluate_relatedness(data).spearman == 0.0
        precision = evaluate_conversation_retrieval(data).values["map"]
        assert len(set(precision[:10].round(12))) == 1 and precision[0] < 0.35
        assert evaluate_categorization(data, runs=2).summary()["purity"] == 75.0
        assert evaluate_alignment_uniformity(data).uniformity == pytest.approx(0)


def test_a_sample_of_queries_still_ranks_all_dialogues() -> None:
    generator = np.random.default_rng(0)
    vectors, labels = generator.normal(size=(50, 4)), [number % 3 for number in range(50)]
    full, few = (embedded(vectors, labels, wanted) for wanted in (None, 7))
    assert few.ranking["map"].tolist() == full.ranking["map"][few.conversations.queries].tolist()
    assert evaluate_relatedness(few).summary()["queries"] == 7


def test_categorization_is_perfect_for_separate_labels_only() -> None:
    good = evaluate_categorization(noisy(noise=0.0, labels=2, count=40), runs=3)
    assert good.clusters.shape == (3, 40)
    perfect = evaluate_categorization(embedded(np.eye(3)[np.arange(30) % 3], (np.arange(30) % 3).tolist()), runs=1)
    figures = perfect.summary()
    assert [figures[name] for name in ("purity", "nmi", "ari", "accuracy", "purity_std")] == [100, 100, 100, 100, 0]
    noise = evaluate_categorization(embedded(np.random.default_rng(0).normal(size=(300, 8)), [0, 1, 2] * 100))
    assert abs(float(noise.ari.mean())) < 0.05 and noise.purity.mean() < 0.5
    for run, groups in enumerate(noise.clusters):
        codes = noise.conversations.codes
        assert noise.purity[run] == purity(groups, codes)
        assert noise.accuracy[run] == assignment_accuracy(groups, codes)
    with pytest.raises(ValueError, match="runs must be 1 or more"):
        evaluate_categorization(noisy(), runs=0)


def test_categorization_depends_on_seed_and_directions_alone() -> None:
    generator = np.random.default_rng(0)
    vectors, labels = generator.normal(size=(80, 5)), [0, 1, 2, 3] * 20
    first, again, other = (evaluate_categorization(embedded(vectors, labels), seed) for seed in (0, 0, 1))
    assert first.summary() == again.summary() != other.summary()
    assert len({tuple(run) for run in first.clusters.tolist()}) > 1  # the runs are independent
    lengths = 2.0 ** generator.integers(-3, 4, size=(80, 1))
    scaled = embedded(vectors * lengths, labels)
    assert evaluate_categorization(scaled).summary() == first.summary()
    np.testing.assert_allclose(scaled.units * scaled.lengths[:, None], vectors * lengths, rtol=1e-5)


def test_published_categorization_clusters_raw_vectors_ten_times() -> None:
    generator = np.random.default_rng(0)
    # Labels of one direction each, and of two lengths: only the lengths tell the two of a direction apart.
    directions = np.repeat(np.eye(2), 40, axis=0) + 0.01 * generator.normal(size=(80, 2))
    vectors = directions * np.where(np.arange(80) % 2, 1.0, 9.0)[:, None]
    data = embedded(vectors, (2 * (np.arange(80) // 40) + np.arange(80) % 2).tolist())
    assert evaluate_categorization(data).summary()["purity"] < 80
    found = TASKS["domain-categorization-published"].measure(data, 0).summary()
    assert found["purity"] == 100
    assert found["runs"] == 10
    with pytest.raises(ValueError, match="n_init must be 1 or more"):
        evaluate_categorization(data, n_init=0)


def test_what_is_left_out_is_told(caplog) -> None:
    rows = [
        {"messages": [{"role": "a", "content": str(number)}], "domain": label}
        for number, label in enumerate((["x"], ["x"], ["y"], ["x", "y"], []))
    ]
    labelled_conversations(rows)
    assert "left out of the evaluation: 2 conversations without exactly one label, of 5" in caplog.text
    alone = "left out of the evaluation: 1 conversations as queries, since no other one has their label (1 of 2 labels)"
    assert f"{alone}, of 3" in caplog.text


def test_labels_of_nearly_one_spelling_are_told(caplog) -> None:
    topics = ["order", "order", "Order", "pay"]
    rows = [{"messages": [{"role": "a", "content": topic}], "topic": topic} for topic in topics]
    labelled_conversations(rows, "topic")
    assert "punctuation count as different labels: 'Order' and 'order'" in caplog.text


def test_assignment_accuracy_by_hand() -> None:
    # Cluster 0: 2 x, 1 y; cluster 1: 2 x. One cluster may stand for x: 2 + 0 or 1 + 2.
    assert assignment_accuracy([0, 0, 0, 1, 1], list("xxyxx")) == pytest.approx(3 / 5)
    assert purity([0, 0, 0, 1, 1], list("xxyxx")) == pytest.approx(4 / 5)
    with pytest.raises(ValueError, match="shapes"):
        assignment_accuracy([1], [1, 2])


def test_alignment_and_uniformity_as_literal_sums() -> None:
    # Squared distances: 2 at a right angle, 4 between opposites.
    small = evaluate_alignment_uniformity(embedded([[1, 0], [0, 5], [-2, 0]], ["a", "a", "b"]))
    assert small.alignment == pytest.approx(2) and small.adjusted_alignment == pytest.approx(2 - (4 + 2) / 2)
    assert small.uniformity == pytest.approx(np.log((2 * np.exp(-4) + np.exp(-8)) / 3), abs=1e-6)
    data = noisy()
    codes, units = data.conversations.codes, data.units.astype(np.float64)
    distances, pairs = cdist(units, units, "sqeuclidean"), np.triu(np.ones((60, 60), bool), 1)
    same = codes[:, None] == codes
    positive, negative = mean_squared_distances(data.units, codes)
    assert positive == pytest.approx(distances[pairs & same].mean())
    assert negative == pytest.approx(distances[pairs & ~same].mean())
    assert uniformity(data.units) == pytest.approx(np.log(np.exp(-2 * distances[pairs]).mean()), abs=1e-6)


def test_comparison_of_two_encoders() -> None:
    good, bad = noisy(noise=0.3), noisy(noise=3.0, seed=1)
    for task in (evaluate_conversation_retrieval, evaluate_relatedness):
        assert compare_results(task(good), task(bad)) < 0.01
        assert compare_results(task(good), task(good)) == 1.0
    with pytest.raises(ValueError, match="different tasks: ConversationRetrievalResult and RelatednessResult"):
        compare_results(evaluate_conversation_retrieval(good), evaluate_relatedness(good))
    with pytest.raises(ValueError, match="not of the same task: 59 and 96 queries"):
        compare_results(evaluate_relatedness(good), evaluate_relatedness(noisy(count=97)))
    with pytest.raises(ValueError, match="a CategorizationResult has no figure for each query"):
        compare_results(evaluate_categorization(good), evaluate_categorization(bad))


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    texts = {"ride": ["red taxi now", "a blue taxi", "red taxi please"], "drink": ["red wine", "white wine, no taxi"]}
    return [
        {"id": text, "messages": [{"role": "user", "content": text, "intent": label}], "topic": label, "kind": label[0]}
        for label, some in texts.items()
        for text in some
    ]


def by_words(conversations: list[list[dict[str, str]]]) -> np.ndarray:
    texts = [messages[0]["content"] for messages in conversations]
    return np.array([[word in text for word in ("red", "taxi", "wine", "blue")] for text in texts], dtype=float)


def test_all_tasks_on_one_embedding(rows: list[dict[str, Any]]) -> None:
    calls: list[int] = []

    def counted(conversations: list[list[dict[str, str]]]) -> np.ndarray:
        calls.append(len(conversations))
        return by_words(conversations)

    result = evaluate(rows, encoder=counted, tasks=ON_CONVERSATIONS)
    assert calls == [5]
    assert list(result) == [
        "conversation_retrieval",
        "domain_categorization",
        "semantic_relatedness",
        "domain_categorization_published",
        "alignment_uniformity",
    ]
    assert json.loads(json.dumps(result)) == result
    for name in ON_CONVERSATIONS:
        figures = result[TASKS[name].key]
        assert isinstance(figures[TASKS[name].metric], float)
        assert figures["conversations"] == 5 and figures["labels"] == 2 and figures["left_out"] == 0
        assert TASKS[name].score(by_words, load_task(name, rows), 0).summary() == figures
    assert evaluate(rows, encoder=by_words, tasks=ON_CONVERSATIONS, conversation_label="kind") == result


def test_an_encoder_serves_both_levels_in_one_call(tiny_encoder, rows: list[dict[str, Any]]) -> None:
    def embed(conversations: list[list[dict[str, str]]]) -> np.ndarray:
        return tiny_encoder.encode_conversations(conversations, pooling="interlocutor")

    tasks = ["conversation-retrieval", "semantic-retrieval"]
    both = evaluate(rows, encoder=tiny_encoder, tasks=tasks, pooling="interlocutor")
    alone = [evaluate(rows, encoder=own, tasks=task) for own, task in zip((embed, tiny_encoder.encode), tasks)]
    assert both == alone[0] | alone[1] and list(both) == ["conversation_retrieval", "semantic_retrieval"]


def test_a_function_serves_one_level(rows: list[dict[str, Any]]) -> None:
    message = (
        "tasks on messages or tasks on conversations, got semantic-retrieval, conversation-retrieval: give the enc"
    )
    with pytest.raises(ValueError, match=message):
        evaluate(rows, encoder=by_words, tasks=["semantic-retrieval", "conversation-retrieval"])


def test_bad_labels_are_reported_with_the_file(tmp_path: Any, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({**row, "topic": "same"}) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(ConversationError, match=r"chats\.jsonl: at least 2 different labels"):
        evaluate(path, encoder=by_words, tasks="conversation-retrieval")
    with pytest.raises(ConversationError, match=r"chats\.jsonl: no column 'domain' with the labels"):
        evaluate(path, encoder=by_words, tasks="conversation-retrieval", conversation_label="domain")
