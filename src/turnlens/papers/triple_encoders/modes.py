"""The modes of next utterance that encoders with views have: averages over pairs of turns, MaxSim and components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import override

from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.exact_ranking import on_grid
from turnlens.papers.next_message.modes import Modes, Scorer, mean_cosine_query
from turnlens.papers.next_message.sequences import Depth, EmbeddedSequences
from turnlens.papers.triple_encoders.embedded_views import EmbeddedViews
from turnlens.papers.triple_encoders.replies import LAST_ROWS
from turnlens.papers.triple_encoders.scores import max_scores, triple_query

# Before-embeddings of contexts, before1 and before2, each (contexts, turns, dim) -> one vector each, (contexts, dim).
Query = Callable[[FloatArray, FloatArray], FloatArray]


def _neighbours(before1: FloatArray, before2: FloatArray) -> FloatArray:
    """The mean of the normalised pair means of adjacent utterances: each is the query of a context of two."""
    first, second = (np.stack([rows[:, :-1], rows[:, 1:]], axis=2) for rows in (before1, before2))
    return np.asarray(triple_query(first, second).mean(axis=1))  # of (contexts, turns - 1, dim)


# The modes whose score is one inner product. Where there is one before-view, it stands for both.
_TRIPLE: dict[str, Query] = {name: partial(triple_query, last_rows=rows) for name, rows in LAST_ROWS.items()}
# Appendix D.
COMPONENTS: dict[str, Query] = {
    "normal": triple_query,
    "normal-and-bi-b2": lambda before1, before2: (triple_query(before1, before2) + mean_cosine_query(before2)) / 2,
    "neighbours": _neighbours,
    "bi-b1-and-b2": lambda before1, before2: (mean_cosine_query(before1) + mean_cosine_query(before2)) / 2,
    "mean-b2": lambda before1, before2: triple_query(before2, before2),
    "bi-b2": lambda before1, before2: mean_cosine_query(before2),
    "mean-b1": lambda before1, before2: triple_query(before1, before1),
    "bi-b1": lambda before1, before2: mean_cosine_query(before1),
}
_QUERIES: dict[str, Query] = {"bi": COMPONENTS["bi-b2"], **_TRIPLE, **COMPONENTS}
_NEED_BEFORE1 = {*_TRIPLE, *COMPONENTS, "max"}


class TripleModes(Modes):
    """The modes of an encoder with views; a triple-encoder also takes those of ``COMPONENTS``, when they are named."""

    def __init__(self, embedded: EmbeddedSequences) -> None:
        super().__init__(embedded)
        self.views = EmbeddedViews(embedded)
        self.own = (*_TRIPLE, "max", "bi") if self.views.triple else ("bi",)
        self.further = tuple(COMPONENTS) if self.views.triple else ()

    @override
    def prepare(self, depths: Sequence[Depth], names: Sequence[str]) -> None:
        self.views.prepare_depths(depths, before1=not _NEED_BEFORE1.isdisjoint(names))

    @override
    def candidates(self, text: IntArray) -> FloatArray:
        return self.views.after_units(text)

    @override
    def contexts(self, conversations: IntArray, turn: int) -> tuple[FloatArray, FloatArray]:
        return self.views.contexts(conversations, turn)

    @override
    def scorer(self, name: str, depth: Depth, units: FloatArray) -> Scorer:
        if name == "max":
            return _max_scorer(units)
        if name not in _QUERIES:
            return super().scorer(name, depth, units)
        query, grid = _QUERIES[name], on_grid(units).T
        return lambda block, contexts: on_grid(query(*contexts)) @ grid


def _max_scorer(units: FloatArray) -> Scorer:
    distinct, place = np.unique(units.astype(np.float32), axis=0, return_inverse=True)  # the same for MaxSim

    def scores(block: slice, contexts: Any) -> FloatArray:
        return np.stack([max_scores(before1, before2, distinct) for before1, before2 in zip(*contexts)])[:, place]

    return scores
