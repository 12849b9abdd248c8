"""Metrics by hand arithmetic, ties against every ordering of the tied items, and the bootstrap against theory."""

import warnings
from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import ArrayLike

from turnlens._utils.vectors import bootstrap_interval, paired_bootstrap_p
from turnlens.evaluation.ranking_metrics import retrieval_metrics
from turnlens.papers.dialogue_cse.dialogue_sts import spearman, spearman_rows
from turnlens.papers.domain_categorization import purity


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    return retrieval_metrics([(scores, relevant)])["map"][0]


def reciprocal_rank(scores: ArrayLike, relevant: ArrayLike) -> float:
    return retrieval_metrics([(scores, relevant)])["mrr"][0]


def test_ties_are_the_mean_over_all_orderings() -> None:
    def plain_average_precision(relevant: list[bool]) -> float:
        precisions = [sum(relevant[: rank + 1]) / (rank + 1) for rank, hit in enumerate(relevant) if hit]
        return sum(precisions) / len(precisions)

    def plain_reciprocal_rank(relevant: list[bool]) -> float:
        return 1 / (relevant.index(True) + 1)

    generator = np.random.default_rng(0)
    for size in range(1, 7):
        for _ in range(6):
            scores = generator.integers(-1, 2, size=size).astype(float)
            relevant = generator.random(size) < 0.5
            relevant[generator.integers(size)] = True
            # Sorting each permutation of the items by score gives every ordering of the tied items equally often.
            orders = [sorted(order, key=lambda item: -scores[item]) for order in permutations(range(size))]
            rankings = [[bool(relevant[item]) for item in order] for order in orders]
            expected = np.mean([plain_average_precision(ranking) for ranking in rankings])
            assert average_precision(scores, relevant) == pytest.approx(expected)
            expected = np.mean([plain_reciprocal_rank(ranking) for ranking in rankings])
            assert reciprocal_rank(scores, relevant) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [average_precision, reciprocal_rank])
def test_ranking_metrics_refuse_what_they_cannot_rank(metric) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="no relevant item"):
        metric([0.1, 0.2], [0, 0])
    with pytest.raises(ValueError, match="no relevant item"):
        metric([], [])
    with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
        metric([0.1, 0.2], [1])
    with pytest.raises(ValueError, match="finite"):
        metric([0.1, np.nan], [1, 0])


def test_spearman_by_hand() -> None:
    # Squared rank differences 0, 1, 1: 1 - 6 * 2 / (3 * 8)
    assert spearman([1, 2, 3], [10, 30, 20]) == pytest.approx(0.5)
    assert spearman([1, 2, 3], [-1, -2, -30]) == pytest.approx(-1.0)
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5, variances 1.5 and 2
    assert spearman([5, 5, 9], [1, 2, 3]) == pytest.approx(1.5 / np.sqrt(1.5 * 2))


def test_spearman_of_a_constant_is_zero_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spearman([1, 2, 3], [0.3, 0.3, 0.3]) == 0.0
        assert spearman([2, 2], [0.3, 0.3]) == 0.0


def test_spearman_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        spearman([1], [1])
    with pytest.raises(ValueError, match="shapes"):
        spearman([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        spearman([1, 2], [1, np.inf])


def test_purity_by_hand() -> None:
    clusters = ["a", "a", "a", "b", "b", "c"]
    labels = [1, 1, 2, 2, 3, 3]
    assert purity(clusters, labels) == pytest.approx((2 + 1 + 1) / 6)
    assert purity([-1, -1, 0], ["x", "y", "x"]) == pytest.approx(2 / 3)  # noise is a cluster like any other
    with pytest.raises(ValueError, match="1 or more"):
        purity([], [])
    with pytest.raises(ValueError, match="shapes"):
        purity([1], [1, 2])


def test_bootstrap_interval_has_the_width_theory_gives() -> None:
    values = np.random.default_rng(3).normal(10, 2, size=400)
    low, high = bootstrap_interval(values)
    standard_error = values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - 1.96 * standard_error, abs=0.2 * standard_error)
    assert high == pytest.approx(values.mean() + 1.96 * standard_error, abs=0.2 * standard_error)


def test_bootstrap_intervals_cover_at_their_nominal_rate() -> None:
    generator = np.random.default_rng(5)
    trials = 300
    covered = 0
    for trial in range(trials):
        low, high = bootstrap_interval(generator.random(60), seed=trial, resamples=400)
        covered += low <= 0.5 <= high
    assert 0.90 <= covered / trials <= 0.98


def test_bootstrap_depends_on_its_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(7.0)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1, resamples=50) != bootstrap_interval(values, seed=2, resamples=50)
    monkeypatch.setattr("turnlens._utils.vectors._CHUNK", 20)
    low, high = bootstrap_interval(values, seed=1)
    assert 0 <= low < values.mean() < high <= 6


def test_bootstrap_resamples_pairs_together() -> None:
    ranks = np.arange(30.0)
    # Any resample of a perfect order is in perfect order: shuffling one column alone would not be.
    low, high = bootstrap_interval(np.stack([ranks, 3 * ranks], axis=1), statistic=spearman_rows)
    assert low == pytest.approx(1.0) and high == pytest.approx(1.0)


def test_bootstrap_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="resamples"):
        bootstrap_interval([1.0], resamples=0)
    for values in ([], [np.nan]):
        with pytest.raises(ValueError, match="finite"):
            bootstrap_interval(values)


def test_paired_bootstrap_finds_only_steady_differences() -> None:
    generator = np.random.default_rng(0)
    base = generator.random(200)
    better = base + 0.02 + generator.normal(0, 0.02, size=200)
    same = base + generator.normal(0, 0.02, size=200)
    assert paired_bootstrap_p(base, better) < 0.001
    assert paired_bootstrap_p(better, base) < 0.001
    assert paired_bootstrap_p(base, same) > 0.05
    assert paired_bootstrap_p(base, base) == 1.0
    assert paired_bootstrap_p(base, better, seed=4) == paired_bootstrap_p(base, better, seed=4)


def test_paired_bootstrap_is_rarely_fooled() -> None:
    generator = np.random.default_rng(1)
    values = [paired_bootstrap_p(*generator.random((2, 50)), seed=trial, resamples=300) for trial in range(300)]
    assert 0.02 <= np.mean(np.array(values) < 0.05) <= 0.09


def test_paired_bootstrap_by_enumeration() -> None:
    # Differences 1 and 3, mean 2; shifted to -1 and 1. Means of the four equally likely resamples: -1, 0, 0, 1.
    means = [np.mean(pair) for pair in product([-1, 1], repeat=2)]
    assert sum(abs(mean) >= 2 for mean in means) == 0
    assert paired_bootstrap_p([1, 3], [0, 0], resamples=999) == pytest.approx(1 / 1000)
    with pytest.raises(ValueError, match="shapes"):
        paired_bootstrap_p([1, 2], [1])
    with pytest.raises(ValueError, match="1 or more"):
        paired_bootstrap_p([], [])
