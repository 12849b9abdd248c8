"""Plans: contexts of conversations, what could be said next, and where it should lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.errors import ConversationError
from turnlens.papers.next_message.sequences import TURNS, Sequences

# A context and the next speaker -> what could be said; called with the keyword ``speaker``.
Candidates = Callable[..., Sequence[str]]
# The conversation and the turns of a context -> the candidates besides the true utterance, indices of texts.
OtherCandidates = Callable[[int, int], IntArray]


@dataclass(frozen=True, eq=False)
class Plan:
    """One context with its candidates, the true utterance first, and one goal.

    Args:
        conversation: Whose context it is.
        turn: Turns of the context.
        distance: Turns from the utterance to the goal.
        candidates: (candidates,) indices of texts.
    """

    conversation: int
    turn: int
    distance: int
    candidates: IntArray

    def relations(self, sequences: Sequences) -> BoolArray:
        """Whether the speaker of each turn of the context, and of the candidates, is the goal's: (turn + 1,)."""
        role = sequences.role[self.conversation]
        return np.asarray(role[: self.turn + 1] == role[self.turn + self.distance])


def check_reach(lengths: Sequence[int], distances: Sequence[int]) -> None:
    """Raise ``ValueError`` if a goal could lie before the utterance, or beyond the turns that are considered."""
    if min(lengths) < 1 or min(distances) < 1 or max(lengths) + max(distances) >= TURNS:
        problem = f"1 or more, and together less than {TURNS}, got {tuple(lengths)} and {tuple(distances)}"
        raise ValueError(f"context lengths and goal distances must be {problem}")


def find_plans(
    sequences: Sequences, others: OtherCandidates, lengths: Sequence[int], distances: Sequence[int]
) -> list[Plan]:
    """All contexts that have a goal and another candidate. All goals of a context share its candidates.

    Raises:
        ConversationError: There is none.
    """
    plans = []
    contexts = [
        (turn, conversation)
        for turn in lengths
        for conversation in np.intersect1d(sequences.queries, sequences.reaching(turn)).tolist()
    ]
    with progress_bar() as bar:
        for turn, conversation in bar.track(contexts, description="candidates"):
            text = sequences.text[conversation]
            goals = [distance for distance in distances if text[turn + distance] >= 0]
            alternatives = others(conversation, turn) if goals else np.zeros(0, dtype=np.int64)
            if len(alternatives):
                candidates = np.concatenate([text[turn, None], alternatives])
                plans += [Plan(conversation, turn, distance, candidates) for distance in goals]
    if not plans:
        shortest = min(lengths) + 1 + min(distances)
        problem = f"at least 2 conversations of {shortest} or more messages (context, next utterance, goal) are needed"
        raise ConversationError("conversations", problem)
    return plans


def drawn_candidates(sequences: Sequences, seed: int, count: int) -> OtherCandidates:
    """Random utterances at the same depth of other conversations; equal texts are drawn as often as they occur."""

    def others(conversation: int, turn: int) -> IntArray:
        pool = sequences.reaching(turn)
        texts = sequences.text[pool[pool != conversation], turn]
        generator = np.random.default_rng([seed, conversation, turn])
        return generator.choice(texts, min(count, len(texts)), replace=False)

    return others


def given_candidates(sequences: Sequences, candidates: Candidates, numbers: dict[str, int]) -> OtherCandidates:
    """The candidates that a function gives.

    Args:
        sequences: The conversations.
        candidates: The function.
        numbers: Text -> its index; texts that are new get the next indices.
    """

    def others(conversation: int, turn: int) -> IntArray:
        speaker = sequences.roles[sequences.role[conversation, turn]]
        given = candidates(sequences.messages(conversation, turn), speaker=speaker)
        texts = [text for text in map(str.strip, given) if text]
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)

    return others
