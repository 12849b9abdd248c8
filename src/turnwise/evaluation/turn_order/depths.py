"""The utterances at one depth of conversations, and the contexts before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import BoolArray, FloatArray, IntArray
from turnwise.errors import ConversationError
from turnwise.evaluation.scoring import unit_rows
from turnwise.evaluation.turn_order.sequences import TURNS, EmbeddedSequences, Sequences

LENGTHS = tuple(range(2, 11))  # turns of a context, as in the paper


@dataclass(frozen=True, eq=False)
class Depth:
    """The utterances at one depth, and which of them are asked for.

    Args:
        turn: Turns before them.
        contexts: (contexts,) the conversations whose utterance is asked for.
        true: (contexts,) that utterance, an index of ``candidates``.
        candidates: (candidates,) the distinct texts at this depth of all conversations, indices of ``texts``.
        counts: (candidates,) how many conversations have each.
    """

    turn: int
    contexts: IntArray
    true: IntArray
    candidates: IntArray
    counts: IntArray

    @property
    def items(self) -> int:
        """Candidates, equal texts counted as often as they occur."""
        return int(self.counts.sum())


def find_depths(sequences: Sequences, lengths: Sequence[int]) -> list[Depth]:
    """The depths at which there is something to choose from.

    Raises:
        ValueError: A context length is out of range.
        ConversationError: No two conversations reach any of the depths.
    """
    if not all(2 <= turn < TURNS for turn in lengths):
        raise ValueError(f"context lengths must be from 2 to {TURNS - 1}, got {tuple(lengths)}")
    depths = []
    for turn in lengths:
        reaching = sequences.reaching(turn)
        contexts = np.intersect1d(sequences.queries, reaching)
        candidates, counts = np.unique(sequences.text[reaching, turn], return_counts=True)
        if len(reaching) > 1 and len(contexts):
            true = np.searchsorted(candidates, sequences.text[contexts, turn])
            depths.append(Depth(turn, contexts, true, candidates, counts))
    if not depths:
        problem = f"no two conversations have a message after a context of {' or '.join(map(str, lengths))} messages"
        raise ConversationError("conversations", problem)
    return depths


def prepare_depths(embedded: EmbeddedSequences, depths: Iterable[Depth], before1: bool) -> None:
    """Encode the contexts and candidates of all depths; with ``before1`` also in that view, if the encoder has it."""
    found = [context_turns(embedded.sequences, depth.contexts, depth.turn) for depth in depths]
    text, same = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*found))
    embedded.prepare("before", text, same)
    if before1 and embedded.triple:
        embedded.prepare("before1", text, same)
    embedded.prepare("after", np.concatenate([depth.candidates for depth in depths]))


def context_views(embedded: EmbeddedSequences, conversations: IntArray, turn: int) -> tuple[FloatArray, FloatArray]:
    """What precedes the utterances at ``turn``, as before1 and before2: each (conversations, turn, dim).

    An encoder with one before-view, or with none at all, gives the same for both.
    """
    text, same = context_turns(embedded.sequences, conversations, turn)
    before2 = embedded.rows("before", text, same)
    return (embedded.rows("before1", text, same) if embedded.triple else before2), before2


def after_units(embedded: EmbeddedSequences, text: IntArray) -> FloatArray:
    """The after-embeddings of texts, of length 1: (texts, dim)."""
    return unit_rows(embedded.rows("after", text), [embedded.sequences.texts[index] for index in text])


def per_context(depths: Sequence[Depth], values: Sequence[int]) -> IntArray:
    """A value of each depth for each of its contexts: (depths,) -> (contexts of all depths,)."""
    return np.repeat(values, [len(depth.contexts) for depth in depths])


def context_turns(sequences: Sequences, conversations: IntArray, turn: int) -> tuple[IntArray, BoolArray]:
    """Text of the turns before ``turn``, and whether their speaker is that turn's: each (conversations, turn)."""
    role = sequences.role[conversations]
    return sequences.text[conversations, :turn], role[:, :turn] == role[:, turn : turn + 1]
