"""The modes of next message: ways of scoring the messages at one depth as the next ones of contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from turnlens._utils.registries import NEXT_MESSAGE_MODES
from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.encoders.reply_scores import HeadArrays, bi_query, head_of
from turnlens.evaluation.bm25 import bm25_scorer
from turnlens.evaluation.ranking_metrics import on_grid
from turnlens.evaluation.scoring import unit_rows
from turnlens.papers.next_message.sequences import Depth, EmbeddedSequences, all_turns, context_turns

# Some contexts of a depth, and what `Modes.contexts` gives for them -> the scores of the depth's candidates,
# (contexts, candidates).
Scorer = Callable[[slice, Any], FloatArray]

_BLOCK = 2_000_000  # scores at a time
_SINGLE = ("single", "single-averaged")


def mean_cosine_query(turns: FloatArray) -> FloatArray:
    """The mean of the cosines instead of their sum, which gives the same order but no vector longer than 1.

    Args:
        turns: (contexts, turns, dim)

    Returns:
        (contexts, dim)
    """
    return np.asarray(bi_query(turns) / turns.shape[-2])


def modes_of(embedded: EmbeddedSequences) -> Modes:
    """The modes that serve the encoder."""
    kind: type[Modes] = NEXT_MESSAGE_MODES.first_of(embedded.encoder.prompts) or Modes
    return kind(embedded)


class Modes:
    """The modes of a plain encoder; encoders of a paper have subclasses of their own, see ``modes_of``.

    Args:
        embedded: The conversations and their encoder.

    Attributes:
        own: Modes that are evaluated by default, besides those that do not depend on the kind of encoder.
        further: Modes that are evaluated when they are named.
    """

    own: tuple[str, ...] = ("bi", *_SINGLE)
    further: tuple[str, ...] = ()

    def __init__(self, embedded: EmbeddedSequences) -> None:
        self.embedded = embedded
        self.head = head_of(embedded.encoder)

    @property
    def served(self) -> tuple[str, ...]:
        """The modes that the encoder can be evaluated in, the main one first; BM25 needs no encoder."""
        composed = ("composed",) if self.head is not None else ()
        return (*composed, *self.own, "bm25")

    def check(self, names: Sequence[str]) -> None:
        """Raise ``ValueError`` if the encoder cannot be evaluated in all of these modes, or none is given."""
        served = (*self.served, *self.further)
        if not names or not set(names) <= set(served):
            raise ValueError(
                f"modes must be among {', '.join(served)} for this encoder, got {', '.join(names) or 'none'}"
            )

    def prepare(self, depths: Sequence[Depth], names: Sequence[str]) -> None:
        """Encode the contexts and candidates of all depths, as much as possible at once."""
        self.embedded.prepare(all_turns(self.embedded.sequences, depths)[0])
        self.embedded.prepare(np.concatenate([depth.candidates for depth in depths]))
        for name in _SINGLE:
            if name in names:
                for depth in depths:
                    self._single_vectors(depth, name)

    def candidates(self, text: IntArray) -> FloatArray:
        """The vectors of candidates, of length 1: (texts, dim)."""
        return unit_rows(self.embedded.rows(text), [self.embedded.sequences.texts[index] for index in text])

    def contexts(self, conversations: IntArray, turn: int) -> Any:
        """The turns before ``turn`` as scorers need them, here their vectors (conversations, turn, dim)."""
        return self.embedded.rows(context_turns(self.embedded.sequences, conversations, turn)[0])

    def scorer(self, name: str, depth: Depth, units: FloatArray) -> Scorer:
        """The scorer of the candidates of a depth in a mode; ``units`` are from ``candidates``."""
        if name == "bm25":
            return _bm25(self.embedded, depth)
        if name == "composed" and self.head is not None:
            return _composed(self.embedded, depth, self.head)
        grid = on_grid(units).T  # inner products on the grid are exact: equal embeddings tie
        if name == "bi":
            return lambda block, contexts: on_grid(mean_cosine_query(contexts)) @ grid
        vectors = self._single_vectors(depth, name)
        return lambda block, contexts: on_grid(vectors[block]) @ grid

    def _single_vectors(self, depth: Depth, name: str) -> FloatArray:
        """Every context of a depth as one vector of length 1, in one of the modes ``_SINGLE``: (contexts, dim)."""
        turns = self.embedded.sequences.text[depth.contexts, : depth.turn]
        if name == "single":
            return self.embedded.joined(turns)
        # The last turn alone and the earlier ones joined, which mode "single" and the previous depth use.
        return unit_vectors(self.embedded.joined(turns[:, :-1]) + self.embedded.joined(turns[:, -1:]))


def scored_blocks(modes: Modes, depth: Depth, names: Sequence[str]) -> Iterator[tuple[str, FloatArray, IntArray]]:
    """Score all candidates of a depth as the next message of its contexts.

    Args:
        modes: The modes of the encoder, prepared for the depth.
        depth: The depth.
        names: Those to score in.

    Yields:
        Block by block of contexts and for each mode: its name, the scores (block, candidates) and the true candidates
        (block,).
    """
    units = modes.candidates(depth.candidates)
    scorers = {name: modes.scorer(name, depth, units) for name in names}
    step = max(1, _BLOCK // max(len(depth.candidates), depth.turn * units.shape[1]))
    for start in range(0, len(depth.contexts), step):
        block = slice(start, start + step)
        contexts = modes.contexts(depth.contexts[block], depth.turn)
        for name in names:
            yield name, scorers[name](block, contexts), depth.true[block]


def _bm25(embedded: EmbeddedSequences, depth: Depth) -> Scorer:
    texts = embedded.sequences.texts
    score = bm25_scorer([texts[index] for index in depth.candidates])

    def scores(block: slice, contexts: Any) -> FloatArray:
        spoken = embedded.sequences.text[depth.contexts[block], : depth.turn]
        return np.stack([score(" ".join(texts[index] for index in turns)) for turns in spoken])

    return scores


def _composed(embedded: EmbeddedSequences, depth: Depth, head: HeadArrays) -> Scorer:
    """The reply head's queries against its candidates, from vectors that other modes use as well."""
    units = unit_rows(embedded.rows(depth.candidates), [embedded.sequences.texts[index] for index in depth.candidates])
    grid = on_grid(head.map_candidates(units)).T

    def scores(block: slice, contexts: Any) -> FloatArray:
        text, same = context_turns(embedded.sequences, depth.contexts[block], depth.turn)
        latest = slice(None, -1 - head.turns, -1)
        vectors, relation = unit_vectors(embedded.rows(text)[:, latest]).astype(np.float32), same[:, latest]
        return on_grid(head.queries(vectors, relation, np.ones_like(relation))) @ grid

    return scores
