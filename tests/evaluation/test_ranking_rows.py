"""The row-wise metrics against those of single queries and of scikit-learn, with ties and negative scores."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from turnlens.evaluation.ranking_metrics import (
    average_precision_rows,
    rank_rows,
    reciprocal_rank_rows,
    retrieval_metrics,
    spearman_binary_rows,
)
from turnlens.papers.dial2vec.semantic_relatedness import best_spearman_binary
from turnlens.papers.dialogue_cse.dialogue_sts import spearman


def test_by_hand() -> None:
    # Row 0: relevant, not, relevant, not. Row 1: relevant and not tied first, then not, then relevant.
    scores = np.array([[9, 8, 7, 6], [-1, -1, -5, -9]])
    relevant = np.array([[1, 0, 1, 0], [0, 1, 0, 1]], dtype=bool)
    ranked = rank_rows(scores, relevant)
    assert average_precision_rows(ranked) == pytest.approx([(1 + 2 / 3) / 2, ((1 + 1 / 2) / 2 + 2 / 4) / 2])
    assert reciprocal_rank_rows(ranked) == pytest.approx([1, 3 / 4])
    # Row 0, ranks 1 and 3 of 4 relevant: (5 - 4) / sqrt(5 * 1). Row 1: ranks 1.5 and 4, one tie of two: variance 4.5.
    assert spearman_binary_rows(ranked) == pytest.approx([1 / np.sqrt(5), (5 - 5.5) / np.sqrt(4.5)])


@pytest.mark.parametrize("levels", [1, 2, 5, 1000, 2**51])
def test_as_the_metrics_of_single_queries(levels: int) -> None:
    generator = np.random.default_rng(levels)
    for items in (2, 3, 17, 60):
        scores = generator.integers(-levels, levels, size=(40, items))
        relevant = generator.random((40, items)) < generator.random((40, 1))
        relevant[np.arange(40), generator.integers(items, size=40)] = True  # some rows have nothing but relevant items
        before = scores.copy()
        ranked = rank_rows(scores, relevant)
        assert (scores == before).all()
        pairs = list(zip(scores, relevant))
        single = retrieval_metrics(pairs)
        assert average_precision_rows(ranked) == pytest.approx(single["map"])
        assert reciprocal_rank_rows(ranked) == pytest.approx(single["mrr"])
        assert spearman_binary_rows(ranked) == pytest.approx([spearman(*pair) for pair in pairs])


def test_average_precision_without_ties_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(2)
    scores = np.array([generator.permutation(50) for _ in range(20)])
    relevant = generator.random((20, 50)) < generator.random((20, 1))
    relevant[:, 0] = True
    expected = [average_precision_score(flags, row) for row, flags in zip(scores, relevant)]
    assert average_precision_rows(rank_rows(scores, relevant)) == pytest.approx(expected)


def test_the_skipped_item_does_not_exist() -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(-3, 4, size=(30, 12))
    relevant = generator.random((30, 12)) < 0.5
    skip = generator.integers(12, size=30)
    relevant[np.arange(30), skip - 1] = True
    others = np.array([np.delete(np.arange(12), skipped) for skipped in skip])
    all_but = rank_rows(np.take_along_axis(scores, others, 1), np.take_along_axis(relevant, others, 1))
    ranked = rank_rows(scores, relevant, skip)
    for metric in (average_precision_rows, reciprocal_rank_rows, spearman_binary_rows):
        assert metric(ranked).tolist() == metric(all_but).tolist()


def test_a_row_without_a_relevant_item() -> None:
    ranked = rank_rows(np.array([[1, 2], [1, 2]]), np.array([[True, False], [False, False]]))
    for metric in (average_precision_rows, reciprocal_rank_rows):
        with pytest.raises(ValueError, match="row 1 has no relevant item"):
            metric(ranked)
    assert spearman_binary_rows(ranked).tolist() == [-1.0, 0.0]


def test_a_perfect_ranking_has_the_best_spearman() -> None:
    generator = np.random.default_rng(1)
    for relevant in range(1, 9):
        flags = np.arange(9) < relevant
        best = best_spearman_binary(np.array([relevant]), 9)[0]
        assert best == pytest.approx(spearman(-np.arange(9), flags))
        assert best >= max(spearman(generator.permutation(9), flags) for _ in range(200)) - 1e-12
