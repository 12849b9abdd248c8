"""The retrieval task: the released format, the builder with candidates worked out by hand, and the scores."""

from pathlib import Path

import numpy as np
import pytest

from turnlens.errors import ConversationError
from turnlens.evaluation import RetrievalTask, build_retrieval_task, evaluate_retrieval
from turnlens.evaluation.bm25 import bm25_candidates
from turnlens.papers.released_files import read_retrieval_task


def corpus(**texts_of: list[str]) -> list[dict[str, object]]:
    """One conversation per intent."""
    return [
        {"messages": [{"role": "user", "content": text, "intent": intent} for text in texts]}
        for intent, texts in texts_of.items()
    ]


def select_file(folder: Path, *lines: str) -> Path:
    path = folder / "select.txt"
    path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines), encoding="utf-8")
    return path


GOOD = ("0|red taxi|ride|1|2", "1|blue taxi|ride|0|2,3", "2|red wine|||0", "3|red beans|food|2|0,1")


def test_the_released_format(tmp_path: Path) -> None:
    task = read_retrieval_task(select_file(tmp_path, *GOOD))
    assert task.texts == ("red taxi", "blue taxi", "red wine", "red beans")
    assert task.queries == (0, 1, 3)  # 2 has no positive
    assert [indices.tolist() for indices in task.positives] == [[1], [0], [2]]
    assert [indices.tolist() for indices in task.negatives] == [[2], [2, 3], [0, 1]]
    assert task.dropped == 1


def test_windows_line_ends_and_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "select.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(GOOD).replace("|", "\t").encode() + b"\r\n\r\n")
    assert read_retrieval_task(path).queries == (0, 1, 3)


def test_a_sample_of_the_released_queries(tmp_path: Path) -> None:
    path = select_file(tmp_path, *GOOD)
    samples = [read_retrieval_task(path, max_queries=2, seed=seed) for seed in range(20)]
    assert {len(task.queries) + task.dropped for task in samples} == {2}
    assert len({task.queries for task in samples}) > 1
    assert samples[3].queries == read_retrieval_task(path, max_queries=2, seed=3).queries
    assert samples[0].texts == read_retrieval_task(path).texts
    with pytest.raises(ValueError, match="max_queries must be 1 or more, got 0"):
        read_retrieval_task(path, max_queries=0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("0|a||1|2", "1|b||0"), "select.txt:2: expected 5 tab-separated columns .*, got 4"),
        (("0|a||1|2", "", "2|b||0|1"), "select.txt:2: expected 5 tab-separated columns .*, got 1"),
        (("1|a||0|2",), "select.txt:1: expected index 0"),
        (("0|a||1|", "1| ||0|"), "select.txt:2: the text is empty"),
        (("0|a||1|7", "1|b||0|2"), "select.txt:1: negatives: expected line indices from 0 to 1, got '7'"),
        (("0|a||-1|1", "1|b||0|"), "select.txt:1: positives: expected line indices"),
        (("0|a||x|1", "1|b||0|"), "select.txt:1: positives: expected line indices .*'x'"),
        (("0|a||0|1", "1|b||0|"), "select.txt:1: positives: the query is its own candidate"),
        (("0|a||1,1|2", "1|b||0|2", "2|c||0|1"), "select.txt:1: positives: an index is listed twice"),
        (("0|a||1|1", "1|b||0|"), "select.txt:1: index 1 is both a positive and a negative"),
        (("0|a||1|", "1|b|||0"), "select.txt: none of 2 queries has both"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        read_retrieval_task(select_file(tmp_path, *lines))


def test_not_utf8_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "select.txt"
    path.write_bytes(b"0\ta\t\t1\t2\n1\t\xff\t\t0\t2\n")
    with pytest.raises(ConversationError, match=r"select\.txt:2: not UTF-8"):
        read_retrieval_task(path)
    path.write_bytes(b"\n\n")
    with pytest.raises(ConversationError, match=r"select\.txt: the file is empty"):
        read_retrieval_task(path)


def test_bm25_candidates_by_hand() -> None:
    texts = ["red taxi now", "a blue taxi", "red wine", "green tea", "red taxi please", "?!"]
    # For "red taxi now": 4 shares two words, 1 and 2 share one, 3 none. "red" and "taxi" are in three texts each, so
    # length alone decides between 1 and 2: 2 has two words, 1 three.
    candidates = {query: found.tolist() for query, found in zip(range(6), bm25_candidates(texts, range(6), 10))}
    assert candidates[0] == [4, 2, 1]
    assert candidates[3] == [] and candidates[5] == []
    assert next(bm25_candidates(texts, [0], 2)).tolist() == [4, 2]


def test_bm25_tells_nothing_of_its_index(caplog: pytest.LogCaptureFixture) -> None:
    list(bm25_candidates(["red taxi", "blue taxi"], [0], 1))
    assert "index" not in caplog.text


def test_bm25_ties_come_in_the_order_of_the_texts() -> None:
    texts = ["taxi a", "taxi b", "taxi c", "taxi d", "taxi e"]
    assert [found.tolist() for found in bm25_candidates(texts, [2, 0], 3)] == [[0, 1, 3], [1, 2, 3]]
    assert next(bm25_candidates(["?", "!"], [0], 3)).tolist() == []


def test_texts_with_several_labels_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    rows = corpus(ride=["red taxi", "blue taxi", "a taxi"], drink=["red wine", "a taxi", "green tea", "blue tea"])
    assert build_retrieval_task(rows).dropped == 3
    assert "left out of the evaluation: 1 texts with several labels, of 6" in caplog.text
    assert "2 queries without a positive or without a negative candidate, of 5" in caplog.text


def test_similar_labels_stay_different_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    spelled = ["lost_card", "Lost card", "pay", "pay!", "é", "e\u0301", "A", "a", "b", "-1", "1"]
    rows = [
        {"messages": [{"role": "user", "content": f"{word} {number}", "intent": label} for word in ("one", "two")]}
        for number, label in enumerate(spelled)
    ]
    for _ in range(2):
        assert len(build_retrieval_task(rows).texts) == 2 * len(spelled)
    (told,) = [record.getMessage() for record in caplog.records if "capitals" in record.getMessage()]
    assert told.endswith("as different labels: 'A' and 'a', 'Lost card' and 'lost_card', 'e\u0301' and 'é', and 1 more")


def test_built_task_splits_candidates_by_label() -> None:
    rows = corpus(
        ride=["red taxi now", "a blue taxi", "red taxi please"], drink=["red wine", "green tea"], lone=["red taxi, no?"]
    )
    task = build_retrieval_task(rows)
    by_text = {
        task.texts[query]: ({task.texts[i] for i in positives}, {task.texts[i] for i in negatives})
        for query, positives, negatives in zip(task.queries, task.positives, task.negatives)
    }
    assert by_text["a blue taxi"] == ({"red taxi now", "red taxi please"}, {"red taxi, no?"})
    assert by_text["red taxi now"] == ({"a blue taxi", "red taxi please"}, {"red wine", "red taxi, no?"})
    # "red wine": only rides and the lone one share a word with it; "green tea" shares none; the lone one has no peer.
    assert set(by_text) == {"red taxi now", "a blue taxi", "red taxi please"}
    assert task.dropped == 3


def test_candidates_limit_counts_positives_and_negatives_together() -> None:
    rows = corpus(ride=["red taxi now", "red taxi please"], drink=["red wine", "red beer, no wine"])
    task = build_retrieval_task(rows, candidates=2, max_queries=None)
    assert {len(p) + len(n) for p, n in zip(task.positives, task.negatives)} == {2}


def test_surplus_positives_are_no_negatives() -> None:
    rows = corpus(ride=[f"taxi number {n}" for n in range(12)], food=["taxi food", "more taxi food"])
    capped = build_retrieval_task(rows, max_positives=3)
    full = build_retrieval_task(rows, max_positives=30)
    assert capped.queries == full.queries
    for few, many, negatives, same in zip(capped.positives, full.positives, capped.negatives, full.negatives):
        assert len(few) == min(3, len(many)) and set(few) <= set(many)
        assert negatives.tolist() == same.tolist()
    kept = {tuple(few - query) for few, query in zip(capped.positives, capped.queries)}
    assert len(kept) > 3  # a random choice for each query, not always the same places


def test_building_is_deterministic_with_independent_queries() -> None:
    rows = corpus(ride=[f"taxi number {n}" for n in range(40)], food=[f"food number {n}" for n in range(40)])
    few, again = (build_retrieval_task(rows, max_queries=10, max_positives=5, seed=7) for _ in range(2))
    many = build_retrieval_task(rows, max_queries=50, max_positives=5, seed=7)
    positives_of = {query: indices.tolist() for query, indices in zip(many.queries, many.positives)}
    assert few.queries == again.queries and set(few.queries) <= set(many.queries)
    assert len(few.queries) == 10 and len(many.queries) == 50
    for query, positives, same in zip(few.queries, few.positives, again.positives):
        assert positives.tolist() == same.tolist() == positives_of[query]
    assert build_retrieval_task(rows, max_queries=10, seed=8).queries != few.queries


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (corpus(ride=["taxi", "red taxi", "blue taxi"]), "3 distinct messages and 2 different labels .* got 3 and 1"),
        (corpus(ride=["taxi"], food=["wine"]), "got 2 and 2"),
        (corpus(ride=["a", "b"], food=["c", "d"]), "none of 4 queries has both"),
    ],
)
def test_too_little_to_build_from(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        build_retrieval_task(rows)


@pytest.mark.parametrize("bad", [{"candidates": 0}, {"max_positives": 0}, {"max_queries": 0}])
def test_bad_settings(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        build_retrieval_task(corpus(ride=["taxi", "a taxi"], food=["no taxi"]), **bad)  # type: ignore[arg-type]


# Angles in degrees stand for texts: their cosines are easy to order.
ANGLES = RetrievalTask(
    texts=("0", "10", "20", "40", "180", "unused"),
    queries=(0, 4),
    positives=(np.array([1, 3]), np.array([0])),
    negatives=(np.array([2]), np.array([3, 1])),
    dropped=2,
)


def by_angle(texts: list[str]) -> np.ndarray:
    radians = np.deg2rad([float(text) for text in texts])
    return np.stack([np.cos(radians), np.sin(radians)], axis=1) * 7  # length must not matter


def test_scores_by_hand() -> None:
    result = evaluate_retrieval(by_angle, ANGLES)  # "unused" is never encoded: float("unused") would fail
    # From 0: 10 (positive), 20, 40 (positive). From 180, all cosines negative: 40, 10, 0 (positive).
    assert result.values["map"] == pytest.approx([(1 + 2 / 3) / 2, 1 / 3])
    assert result.values["mrr"] == pytest.approx([1, 1 / 3])
    assert result.map == pytest.approx(100 * (5 / 6 + 1 / 3) / 2)
    assert result.summary()["mrr"] == pytest.approx(100 * 2 / 3)
    low, high = result.map_interval
    assert low == pytest.approx(100 / 3) and high == pytest.approx(
        100 * 5 / 6
    )  # two queries: either may be drawn twice
    assert result.queries == ("0", "180") and result.dropped == 2
    assert set(result.summary()) == {"map", "map_interval", "mrr", "mrr_interval", "queries", "dropped"}


def test_each_distinct_text_is_encoded_once() -> None:
    seen: list[str] = []

    def spy(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.eye(len(texts))

    task = RetrievalTask(("a", "b", "a", "c"), (0, 2), (np.array([1]), np.array([1])), (np.array([3]), np.array([3])))
    evaluate_retrieval(spy, task)
    assert sorted(seen) == ["a", "b", "c"]


def test_constant_embeddings_score_as_chance() -> None:
    generator = np.random.default_rng(0)
    indices = np.arange(1, 100)
    task = RetrievalTask(tuple(map(str, range(100))), (0, 0), (indices[:9], indices[-9:]), (indices[9:], indices[:-9]))
    for vector in (generator.normal(size=384).astype(np.float32), np.zeros(384)):
        result = evaluate_retrieval(lambda texts, v=vector: np.tile(v, (len(texts), 1)), task)  # type: ignore[misc]
        assert result.values["map"][0] == pytest.approx(result.values["map"][1])
        assert result.values["map"][0] < 0.2


def test_what_an_encoder_may_not_return() -> None:
    with pytest.raises(ValueError, match=r"must return \(5, dim\) numbers, got shape \(5,\)"):
        evaluate_retrieval(lambda texts: np.zeros(len(texts)), ANGLES)
    with pytest.raises(ValueError, match=r"got shape \(2, 3\)"):
        evaluate_retrieval(lambda texts: np.zeros((2, 3)), ANGLES)
    with pytest.raises(ValueError, match="nan or inf for 1 texts, first '20'"):
        evaluate_retrieval(lambda texts: np.array([[np.nan if text == "20" else 1.0] for text in texts]), ANGLES)
