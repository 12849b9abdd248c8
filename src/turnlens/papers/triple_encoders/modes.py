"""The modes of next utterance that encoders with views have: averages over pairs of turns, MaxSim and components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import override

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.evaluation.ranking_metrics import on_grid
from turnlens.evaluation.scoring import unit_rows
from turnlens.papers.citations import TRIPLE_ENCODERS
from turnlens.papers.next_message.modes import Modes, Scorer, mean_cosine_query
from turnlens.papers.next_message.next_message import NextMessageResult, evaluate_next_message
from turnlens.papers.next_message.sequences import (
    Depth,
    EmbeddedSequences,
    all_turns,
    context_turns,
    reply_task,
)
from turnlens.papers.triple_encoders.replies import LAST_ROWS
from turnlens.papers.triple_encoders.scores import max_scores, triple_query
from turnlens.papers.triple_encoders.views import View, view_prompt, views_of


class EmbeddedViews:
    """Utterances in views; a plain encoder gives one embedding whatever the view.

    Args:
        embedded: The sequences, which keep what is encoded.

    Attributes:
        triple: Whether the encoder is a triple-encoder.
    """

    def __init__(self, embedded: EmbeddedSequences) -> None:
        self.embedded = embedded
        views = views_of(embedded.encoder)
        self.plain = views is None
        self.triple = views is not None and views.triple

    def _prompt(self, view: View, same: bool) -> str | None:
        return None if self.plain else view_prompt(self.embedded.encoder, view, same)

    def prepare(self, view: View, text: IntArray, same: BoolArray | bool = True) -> None:
        """Encode what is missing, as much as possible at once. The arguments are those of ``rows``."""
        for relation in (True, False):
            self.embedded.prepare(text[np.broadcast_to(same, text.shape) == relation], self._prompt(view, relation))

    def rows(self, view: View, text: IntArray, same: BoolArray | bool = True) -> FloatArray:
        """Embeddings exactly as the encoder gives them.

        Args:
            view: The view.
            text: (…) indices of texts.
            same: (…) whether the text's speaker is that of the utterance it is paired with, or one value for all.

        Returns:
            (…, dim)
        """
        self.prepare(view, text, same)
        if self.plain:
            return self.embedded.rows(text)
        same = np.broadcast_to(same, text.shape)
        of_same = self.embedded.rows(text[same], self._prompt(view, True))
        of_others = self.embedded.rows(text[~same], self._prompt(view, False))
        rows = np.empty((*text.shape, max(of_same.shape[-1], of_others.shape[-1])), dtype=np.float32)
        for chosen, vectors in ((same, of_same), (~same, of_others)):
            if chosen.any():
                rows[chosen] = vectors
        return rows

    def prepare_depths(self, depths: Iterable[Depth], before1: bool) -> None:
        """Encode the contexts and candidates of all depths; with ``before1`` also in that view, if there is one."""
        text, same = all_turns(self.embedded.sequences, depths)
        self.prepare("before", text, same)
        if before1 and self.triple:
            self.prepare("before1", text, same)
        self.prepare("after", np.concatenate([depth.candidates for depth in depths]))

    def contexts(self, conversations: IntArray, turn: int) -> tuple[FloatArray, FloatArray]:
        """The context of the utterances at ``turn``, as before1 and before2: each (conversations, turn, dim).

        An encoder with one before-view, or with none at all, gives the same for both.
        """
        text, same = context_turns(self.embedded.sequences, conversations, turn)
        before2 = self.rows("before", text, same)
        return (self.rows("before1", text, same) if self.triple else before2), before2

    def after_units(self, text: IntArray) -> FloatArray:
        """The after-embeddings of texts, of length 1: (texts, dim)."""
        return unit_rows(self.rows("after", text), [self.embedded.sequences.texts[index] for index in text])


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


def evaluate_components(embedded: EmbeddedSequences, seed: int = 0) -> NextMessageResult:
    """As ``evaluate_next_message``, with parts of a triple-encoder only: the modes are ``COMPONENTS``.

    Raises:
        ValueError: The encoder is not a triple-encoder.
    """
    if not EmbeddedViews(embedded).triple:
        raise ValueError("component-analysis takes a triple-encoder apart: the model must be trained with c3l")
    return evaluate_next_message(embedded, seed, tuple(COMPONENTS))


COMPONENT_ANALYSIS = reply_task(
    name="component-analysis",
    metric="average_rank",
    description="Next utterance with parts of a triple-encoder only: which of them matter?",
    citation=TRIPLE_ENCODERS,
    measure=evaluate_components,
)
