"""Fusing the rankings by vector and by text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_FUSION = 60  # k of reciprocal rank fusion (Cormack et al., SIGIR 2009)


def fused(rankings: Sequence[pa.Table], count: int) -> pa.Table:
    """Fuse rankings by reciprocal rank fusion: a row scores the sum of 1 / (60 + rank) over the rankings it is in."""
    scores: dict[tuple[str, int], float] = {}
    for ranking in rankings:
        for rank, key in enumerate(zip(ranking["conversation"].to_pylist(), ranking["turn"].to_pylist()), start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION + rank)
    rows = pa.concat_tables([ranking.drop_columns("score") for ranking in rankings])
    keys = list(zip(rows["conversation"].to_pylist(), rows["turn"].to_pylist()))
    place = {key: row for row, key in reversed(list(enumerate(keys)))}
    best = sorted(scores, key=lambda key: (-scores[key], key))[:count]
    chosen = rows.take(pa.array([place[key] for key in best], pa.int64()))
    return chosen.append_column("score", pa.array([scores[key] for key in best], pa.float32()))
