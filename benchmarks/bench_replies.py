"""Next replies: ranking a million candidates against a conversation, and what MaxSim costs.

Prints (b) the time to score 1,000,000 random candidates of 384 dimensions against a context of 20 turns with one query,
against scoring the 190 pair means one by one as the paper does, and as one blocked matrix product; what a further
turn costs; what half precision changes. (c) MaxSim against the average on 10,000 candidates and 10 turns, and against
the walk through sorted scores as the paper describes it. ((a), training, is in bench_triple_training.py.)

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
from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.reply_head import ReplyHead
from turnwise.papers.triple_encoders.scores import max_scores, triple_query
from turnwise.replies.composed import ComposedContext
from turnwise.replies.scores import inner_products

DIM, BLOCK, QUERIES, TOP = 384, 8192, 200, 10


def random_units(rows: int, seed: int) -> np.ndarray:
    """Random directions, float32 (rows, DIM)."""
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((rows, DIM), dtype=np.float32)
    for start in range(0, rows, BLOCK):
        vectors[start : start + BLOCK] = unit_vectors(vectors[start : start + BLOCK])
    return vectors


def pair_means(before1: np.ndarray, before2: np.ndarray) -> np.ndarray:
    """The normalised means of all pairs i < j (pairs, DIM)."""
    return unit_vectors(np.stack([(before1[i] + before2[j]) / 2 for i, j in combinations(range(len(before1)), 2)]))


def one_by_one(before1: np.ndarray, before2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    means = pair_means(before1, before2)
    scores = np.zeros(len(candidates), np.float32)
    for mean in means:
        scores += candidates @ mean
    return scores / len(means)


def blocked_product(before1: np.ndarray, before2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    means = pair_means(before1, before2)
    starts = range(0, len(candidates), BLOCK)
    return np.concatenate([(means @ candidates[start : start + BLOCK].T).mean(0) for start in starts])


def sorted_walk(before1: np.ndarray, before2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Algorithm 1 of appendix B, for all candidates at once."""
    pairs = np.array(list(combinations(range(len(before1)), 2)))
    scores = candidates @ pair_means(before1, before2).T  # (candidates, pairs)
    order = np.argsort(-scores, axis=1, kind="stable")
    rows = np.arange(len(candidates))
    covered = np.zeros((len(candidates), len(before1)), bool)
    total, count = np.zeros(len(candidates)), np.zeros(len(candidates))
    for place in order.T:
        first, second = pairs[place].T
        brings = ~(covered[rows, first] & covered[rows, second])
        total += np.where(brings, scores[rows, place], 0)
        count += brings
        covered[rows, first] = covered[rows, second] = True
    return total / count


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


def changed_in_half(candidates: np.ndarray, halves: np.ndarray) -> float:
    """The share of the best ten of many queries that half precision replaces."""
    turns = random_units(2 * QUERIES * 20, seed=2).reshape(2, QUERIES, 20, DIM)
    queries = triple_query(*turns)
    kept = 0
    for start in range(0, QUERIES, 20):
        some = queries[start : start + 20]
        best = [np.argpartition(-inner_products(some, rows), TOP)[:, :TOP] for rows in (candidates, halves)]
        kept += sum(len(np.intersect1d(*both)) for both in zip(*best))
    return 1 - kept / (QUERIES * TOP)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    add_quick(parser, candidates=1000)
    options = parser.parse_args()

    candidates = random_units(options.candidates, seed=0)
    halves = candidates.astype(np.float16)
    context = random_units(40, seed=1).reshape(2, 20, DIM)
    ours, half, reading = seconds(
        5, lambda: average(*context, candidates), lambda: average(*context, halves), lambda: candidates.sum()
    )
    literal, blocked = seconds(
        1, lambda: one_by_one(*context, candidates), lambda: blocked_product(*context, candidates)
    )
    scores = average(*context, candidates)
    error = max(float(np.abs(scores - way(*context, candidates)).max()) for way in (one_by_one, blocked_product))
    (query,) = seconds(5, lambda: triple_query(*context))
    print(
        f"(b) 20 turns, {len(candidates):,} candidates: {ours:.3f} s; pair means one by one {literal:.2f} s, ratio "
        f"{literal / ours:.0f}; as a blocked matrix product {blocked:.2f} s, ratio {blocked / ours:.0f} (target: at "
        f"least 10); largest difference {error:.1e} (target: at most 1e-5)"
    )
    print(
        f"    a further turn: the query {1000 * query:.1f} ms and one pass over the candidates; summing up their "
        f"{candidates.nbytes / 1e9:.1f} GB takes {reading:.3f} s, ratio {ours / reading:.2f}"
    )
    composed = ComposedContext(ReplyHead(DIM).arrays())
    for vector in context[0]:
        composed.add(vector, same=True)

    def further_turn() -> None:
        composed.add(context[1, 0], same=True)
        composed.query()

    (turn,) = seconds(100, further_turn)
    print(
        f"    with a reply head a further turn and its query take {1e6 * turn:.0f} µs whatever came before, ratio "
        f"{query / turn:.0f} (target: at most 100 µs)"
    )
    changed = changed_in_half(candidates, halves)
    print(
        f"    float16: {half:.3f} s; of the best ten of {QUERIES} queries {100 * changed:.2f} % are others (target: at "
        f"most 0.1 %)"
    )

    some = candidates[:10_000]
    talk = context[:, :10]
    mean, maximum = seconds(100, lambda: average(*talk, some), lambda: max_scores(*talk, some))
    (walk,) = seconds(5, lambda: sorted_walk(*talk, some))
    difference = float(np.abs(max_scores(*talk, some) - sorted_walk(*talk, some)).max())
    print(
        f"(c) 10 turns, {len(some):,} candidates: average {1000 * mean:.2f} ms, MaxSim {1000 * maximum:.2f} ms, ratio "
        f"{maximum / mean:.1f} (target: at most 10); as a walk through sorted scores {1000 * walk:.0f} ms, ratio "
        f"{walk / mean:.0f}; largest difference {difference:.1e}"
    )
    if options.quick:
        return 0
    return int(min(literal, blocked) < 10 * ours or error > 1e-5 or changed > 0.001 or maximum > 10 * mean)


if __name__ == "__main__":
    sys.exit(main())
