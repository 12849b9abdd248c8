"""Next replies: ranking a million candidates against a conversation, and what MaxSim costs.

Prints (a) the time to score 1,000,000 random candidates of 384 dimensions against a context of 20 turns with one query,
against scoring the 190 pair means one by one as the paper does; (b) MaxSim against the average on
10,000 candidates and 10 turns.

Run: python benchmarks/bench_replies.py [--candidates 1000000]
Needs 4 GB. Random vectors; no encoder takes part.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from quick import add_quick
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.reply_scores import inner_products
from turnlens.papers.triple_encoders.scores import max_scores, triple_query

DIM, BLOCK = 384, 8192


def random_units(rows: int, seed: int) -> np.ndarray:
    """Random directions, float32 (rows, DIM)."""
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((rows, DIM), dtype=np.float32)
    for start in range(0, rows, BLOCK):
        vectors[start : start + BLOCK] = unit_vectors(vectors[start : start + BLOCK])
    return vectors


def one_by_one(before1: np.ndarray, before2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The scores by the normalised means of all pairs i < j."""
    pairs = combinations(range(len(before1)), 2)
    means = unit_vectors(np.stack([(before1[i] + before2[j]) / 2 for i, j in pairs]))  # (pairs, DIM)
    scores = np.zeros(len(candidates), np.float32)
    for mean in means:
        scores += candidates @ mean
    return scores / len(means)


def average(before1: np.ndarray, before2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    return inner_products(triple_query(before1, before2), candidates)


def seconds(repeats: int, *functions: Callable[[], object]) -> list[float]:
    """The shortest time of each function, run in turns, so that a busy moment meets them all."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, own in zip(functions, times):
            start = time.perf_counter()
            function()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    add_quick(parser, candidates=1000)
    options = parser.parse_args()

    candidates = random_units(options.candidates, seed=0)
    context = random_units(40, seed=1).reshape(2, 20, DIM)
    (ours,) = seconds(5, lambda: average(*context, candidates))
    (literal,) = seconds(1, lambda: one_by_one(*context, candidates))
    error = float(np.abs(average(*context, candidates) - one_by_one(*context, candidates)).max())
    print(
        f"(a) 20 turns, {len(candidates):,} candidates: {ours:.3f} s; pair means one by one {literal:.2f} s, ratio "
        f"{literal / ours:.0f} (target: at least 10); largest difference {error:.1e} (target: at most 1e-5)"
    )
    some, talk = candidates[:10_000], context[:, :10]
    mean, maximum = seconds(100, lambda: average(*talk, some), lambda: max_scores(*talk, some))
    print(
        f"(b) 10 turns, {len(some):,} candidates: average {1000 * mean:.2f} ms, MaxSim {1000 * maximum:.2f} ms, ratio "
        f"{maximum / mean:.1f} (target: at most 10)"
    )
    return int(not options.quick and (literal < 10 * ours or error > 1e-5 or maximum > 10 * mean))


if __name__ == "__main__":
    sys.exit(main())
