"""Ranks of a true item: figures as averages over all orders of tied items and over all draws of candidates."""

from itertools import combinations

import numpy as np
import pytest

from turnlens.evaluation.ranking_metrics import retrieval_metrics
from turnlens.papers.next_message.scores import rank_true_items, recall_among


def test_rank_and_expected_values_with_ties_and_counts() -> None:
    scores = np.array([[0.5, 0.9, 0.5, -1.0], [0.0, 0.0, 0.0, 0.0]])
    ranks = rank_true_items(scores, np.array([0, 3]), np.array([2, 3, 1, 4]))
    assert ranks.above.tolist() == [3, 0] and ranks.tied.tolist() == [3, 10]
    assert ranks.expected_rank().tolist() == [5, 5.5]
    repeated = np.repeat(scores, [2, 3, 1, 4], axis=1)
    rankings = [(row, np.arange(10) == true) for row, true in zip(repeated, (0, 9))]
    assert ranks.expected(1 / np.arange(1, 11)) == pytest.approx(retrieval_metrics(rankings)["mrr"])


def test_recall_is_the_mean_over_all_draws() -> None:
    for k in (1, 3):
        chances = recall_among(k, items=7, drawn=4)
        for above in range(7):
            others = [index for index in range(7) if index != above]
            draws = [sum(other < above for other in draw) < k for draw in combinations(others, 4)]
            assert chances[above] == pytest.approx(np.mean(draws))


def test_recall_among_fewer_than_asked_is_that_among_all() -> None:
    assert recall_among(2, items=4, drawn=99).tolist() == [1, 1, 0, 0]
