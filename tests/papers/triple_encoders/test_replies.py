from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from closeness import assert_same_vectors, rounding
from sequence_cases import cosine
from turnlens.encoders.reply_model import ReplyModel
from turnlens.encoders.reply_scores import bi_query, inner_products
from turnlens.papers.triple_encoders import scores as module
from turnlens.papers.triple_encoders.replies import encode_turns
from turnlens.papers.triple_encoders.scores import inverse_pair_norms, max_scores, triple_query

TURNS = [
    ("hello", "user"),
    ("what do you want", "assistant"),
    ("i want a pizza", "user"),
    ("yes", "user"),
    ("hello", "supervisor"),
    ("thanks", "assistant"),
]


@pytest.fixture
def triple(tiny_encoder, with_views) -> ReplyModel:
    return ReplyModel(with_views(tiny_encoder, "c3l"))


def literal_average(before1: np.ndarray, before2: np.ndarray, candidate: np.ndarray, rows: range) -> float:
    """Eq. 3 over the pairs whose later utterance is in ``rows``."""
    pairs = [(i, j) for j in rows for i in range(j)]
    return float(np.mean([cosine((before1[i] + before2[j]) / 2, candidate) for i, j in pairs]))


def literal_max(before1: np.ndarray, before2: np.ndarray, candidate: np.ndarray) -> float:
    """Algorithm 1 of appendix B: walk through the sorted pairs."""
    pairs = [(i, j) for j in range(len(before2)) for i in range(j)]
    weights = inverse_pair_norms(before1, before2)
    scores = [(before1[i] @ candidate + before2[j] @ candidate) * weights[i, j] for i, j in pairs]
    added: list[float] = []
    covered: set[int] = set()
    for best in np.argsort(-np.array(scores), kind="stable"):
        if not covered.issuperset(pairs[best]):
            added.append(scores[best])
            covered.update(pairs[best])
    return float(np.mean(added))


def context(n: int, dim: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Before-1, before-2, not of length 1, and 20 candidates of length 1."""
    generator = np.random.default_rng(seed)
    before1, before2, candidates = (generator.normal(size=(rows, dim)) for rows in (n, n, 20))
    return before1, before2, candidates / np.linalg.norm(candidates, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("n", "last_rows"), [(2, None), (3, None), (10, None), (6, 1), (6, 2), (6, 5), (6, 6), (6, 100)]
)
def test_the_query_is_the_mean_over_the_pairs_of_the_last_rows(n: int, last_rows: int | None) -> None:
    before1, before2, candidates = context(n)
    rows = range(max(1, n - (last_rows or n)), n)
    expected = [literal_average(before1, before2, candidate, rows) for candidate in candidates]
    np.testing.assert_allclose(candidates @ triple_query(before1, before2, last_rows), expected, rtol=1e-12)


def test_queries_of_many_contexts_at_once() -> None:
    some = [context(4, seed=seed)[:2] for seed in range(6)]
    before1, before2 = (np.stack(views).reshape(2, 3, 4, 7) for views in zip(*some))
    for query in (lambda *views: triple_query(*views, last_rows=2), lambda _, before: bi_query(before)):
        together = query(before1, before2).reshape(6, 7)
        np.testing.assert_allclose(together, [query(*views) for views in some], rtol=1e-12)


def test_the_query_of_one_utterance_is_its_before2() -> None:
    before1, before2, candidates = context(1)
    expected = [cosine(before2[0], candidate) for candidate in candidates]
    np.testing.assert_allclose(candidates @ triple_query(before1, before2), expected, rtol=1e-12)
    np.testing.assert_allclose(max_scores(before1, before2, candidates), expected, rtol=1e-12)


def test_pairs_that_cancel_out_count_as_zero() -> None:
    before1, before2 = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [-1.0, -2.0]])
    assert not triple_query(before1, before2).any()
    assert inverse_pair_norms(np.zeros((1, 2)), np.zeros((1, 2))) == 0


@pytest.mark.parametrize("rows", [7, 10_000])
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_maximum_is_the_walk_through_the_sorted_pairs(n: int, rows: int, monkeypatch) -> None:
    monkeypatch.setattr(module, "_ROWS_MAXIMISED", rows)
    before1, before2, candidates = context(n)
    expected = [literal_max(before1, before2, candidate) for candidate in candidates]
    np.testing.assert_allclose(max_scores(before1, before2, candidates), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_maximum_with_ties_takes_pairs_in_order(n: int) -> None:
    generator = np.random.default_rng(n)
    for _ in range(20):
        # Two values only: many pairs, of the same and of different utterances, score exactly the same.
        before1, before2, candidates = (generator.integers(0, 2, size=(rows, 2)) * 1.0 for rows in (n, n, 9))
        expected = [literal_max(before1, before2, candidate) for candidate in candidates]
        np.testing.assert_allclose(max_scores(before1, before2, candidates), expected, rtol=1e-12)


@pytest.mark.parametrize(("mode", "last_rows"), [("average", None), ("last-1", 1), ("last-3", 3)])
def test_adding_turns_equals_starting_over(triple: ReplyModel, mode: str, last_rows: int | None) -> None:
    running = triple.start("assistant")
    for count, (text, speaker) in enumerate(TURNS, start=1):
        running.add(text, speaker)
        texts, same = [text for text, _ in TURNS[:count]], [speaker == "assistant" for _, speaker in TURNS[:count]]
        views = [encode_turns(triple.encoder, texts, same, view) for view in ("before1", "before2")]
        assert_same_vectors(running.query_of(mode), triple_query(*views, last_rows))
        assert_same_vectors(running.query_of("bi"), bi_query(views[1]))


def test_every_turn_is_encoded_once_in_each_view_and_relation(triple: ReplyModel, monkeypatch) -> None:
    encoded: list[tuple[str, str]] = []
    preprocess = SentenceTransformer.preprocess

    def counted(encoder, texts, prompt=None, **options):
        (name,) = (name for name, text in encoder.prompts.items() if text == prompt)
        encoded.extend((name, text) for text in texts)
        return preprocess(encoder, texts, prompt=prompt, **options)

    monkeypatch.setattr(SentenceTransformer, "preprocess", counted)
    running = triple.start("assistant")
    for turn in TURNS[:3]:
        running.add(*turn)
        running.query_of("average")
        running.query_of("bi")
    assert sorted(encoded) == [
        ("before1_other", "hello"),
        ("before1_same", "what do you want"),
        ("before2_other", "hello"),
        ("before2_other", "i want a pizza"),
        ("before2_same", "what do you want"),
    ]


def test_scores_of_each_mode(triple: ReplyModel) -> None:
    running = triple.start("assistant")
    for turn in TURNS:
        running.add(*turn)
    texts, same = [text for text, _ in TURNS], [speaker == "assistant" for _, speaker in TURNS]
    before1, before2 = (
        encode_turns(triple.encoder, texts, same, view).astype(np.float64) for view in ("before1", "before2")
    )
    candidates = triple.encode_candidates(["my card", "my card", "cancel the order"])
    n = len(TURNS)
    expected = {
        "average": [literal_average(before1, before2, one, range(1, n)) for one in candidates],
        "max": [literal_max(before1, before2, one) for one in candidates],
        "bi": [sum(cosine(before, one) for before in before2) for one in candidates],
    }
    for mode, scores in expected.items():
        quick = running.score(candidates, mode)
        np.testing.assert_allclose(quick, scores, atol=rounding(n))
        assert quick.dtype == np.float32
        np.testing.assert_allclose(running.score(candidates[2:], mode), scores[2:], atol=rounding(n))
    last = [literal_average(before1, before2, one, range(n - 2, n)) for one in candidates]
    np.testing.assert_allclose(running.score(candidates, "last-2"), last, atol=rounding())


@pytest.mark.parametrize("speakers", [True, False])
def test_speakers_count_by_their_relation_to_the_candidates(tiny_encoder, with_views, speakers: bool) -> None:
    model = ReplyModel(with_views(tiny_encoder, "c3l", speakers))

    def query(renamed: dict[str, str], candidate: str | None) -> np.ndarray:
        running = model.start(candidate)
        for text, speaker in TURNS:
            running.add(text, renamed.get(speaker, speaker))
        return running.query_of()

    original = query({}, "assistant")
    np.testing.assert_array_equal(original, query({"user": "ann", "supervisor": "ann"}, "assistant"))
    assert np.allclose(original, query({}, "user"), atol=1e-3) != speakers
    np.testing.assert_array_equal(query({}, None), query({}, "nobody"))


def test_a_bi_encoder_sums_cosines_only(tiny_encoder, with_views) -> None:
    model = ReplyModel(with_views(tiny_encoder, "ccl"))
    running = model.start("user")
    for turn in TURNS[:3]:
        running.add(*turn)
    names = ["before_same", "before_other", "before_same"]
    befores = [tiny_encoder.encode(text, prompt_name=name) for (text, _), name in zip(TURNS, names)]
    after = tiny_encoder.encode("yes please", prompt_name="after")
    expected = sum(cosine(before, after) for before in befores)
    np.testing.assert_allclose(
        running.score(model.encode_candidates(["yes please"]), "bi"), [expected], atol=rounding(3)
    )
    for mode in ("average", "max"):
        with pytest.raises(ValueError, match=r"is not one of this model's, which are bi"):
            running.score(np.ones((1, 32), np.float32), mode)


@pytest.mark.parametrize("mode", ["average", "max", "bi"])
def test_candidates_in_a_mapped_file_and_in_half_precision(triple, tmp_path: Path, mode, monkeypatch) -> None:
    monkeypatch.setattr("turnlens.encoders.reply_scores._ROWS_CONVERTED", 16)
    generator = np.random.default_rng(0)
    candidates = generator.normal(size=(50, 32)).astype(np.float32)
    candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
    running = triple.start("user")
    for turn in TURNS:
        running.add(*turn)
    exact = running.score(candidates, mode)
    for precision, tolerance in ((np.float32, rounding()), (np.float16, 1e-3)):
        np.save(tmp_path / "candidates.npy", candidates.astype(precision))
        mapped = np.load(tmp_path / "candidates.npy", mmap_mode="r")
        quick = running.score(mapped, mode)
        assert quick.dtype == np.float32
        np.testing.assert_allclose(quick, exact, atol=tolerance * np.abs(exact).max())
        in_memory = inner_products(running.query_of("bi"), candidates.astype(precision).astype(np.float32))
        np.testing.assert_allclose(inner_products(running.query_of("bi"), mapped), in_memory, atol=rounding(len(TURNS)))


def test_mistakes_are_told(triple: ReplyModel) -> None:
    running = triple.start("user")
    candidates = np.ones((3, 32), np.float32)
    for mode in ("average", "max", "bi"):
        with pytest.raises(ValueError, match="no turn yet"):
            running.score(candidates, mode)
    running.add("hello", "user")
    for mode in ("average", "max", "bi"):
        with pytest.raises(ValueError, match=r"at least one candidate \(m, 32\), got shape \(0, 32\)"):
            running.score(candidates[:0], mode)
        with pytest.raises(ValueError, match="have 31 dimensions, the conversation has 32"):
            running.score(candidates[:, 1:], mode)
        with pytest.raises(ValueError, match="floating-point numbers, got int64"):
            running.score(candidates.astype(np.int64), mode)
    with pytest.raises(ValueError, match=r"one of this model's, which are average, last-1, .*, last-4, max, bi"):
        running.score(candidates, "mean")
    with pytest.raises(ValueError, match="'max' is no inner product"):
        running.query_of("max")
    with pytest.raises(ValueError, match="last_rows must be positive"):
        triple_query(candidates, candidates, last_rows=0)
    before = np.ones((2, 4))
    with pytest.raises(ValueError, match=r"of one shape, got \(2, 4\) and \(3, 4\)"):
        triple_query(before, np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"at least one message .* got \(0, 4\)"):
        bi_query(before[:0])
    with pytest.raises(ValueError, match="one context"):
        max_scores(before[None], before[None], before)
