"""The messages at one depth of conversations, and the contexts before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.errors import ConversationError
from turnlens.evaluation.replies.sequences import TURNS, Sequences

LENGTHS = tuple(range(2, 11))  # turns of a context, as in the paper


@dataclass(frozen=True, eq=False)
class Depth:
    """The messages at one depth, and which of them are asked for.

    Args:
        turn: Turns before them.
        contexts: (contexts,) the conversations whose message is asked for.
        true: (contexts,) that message, an index of ``candidates``.
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


def per_context(depths: Sequence[Depth], values: Sequence[int]) -> IntArray:
    """A value of each depth for each of its contexts: (depths,) -> (contexts of all depths,)."""
    return np.repeat(values, [len(depth.contexts) for depth in depths])


def context_turns(sequences: Sequences, conversations: IntArray, turn: int) -> tuple[IntArray, BoolArray]:
    """Text of the turns before ``turn``, and whether their speaker is that turn's: each (conversations, turn)."""
    role = sequences.role[conversations]
    return sequences.text[conversations, :turn], role[:, :turn] == role[:, turn : turn + 1]


def all_turns(sequences: Sequences, depths: Iterable[Depth]) -> tuple[IntArray, BoolArray]:
    """`context_turns` of all contexts of all depths: each (turns of all contexts,)."""
    turns = [context_turns(sequences, depth.contexts, depth.turn) for depth in depths]
    text, same = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*turns))
    return text, same
