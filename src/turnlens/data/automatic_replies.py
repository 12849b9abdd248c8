"""Automatic replies: long messages that are, by their letters, the first answer in many conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from turnlens.data.sentences import letters_of

AUTOMATIC = 12  # words of an automatic reply, at least
_LEAST, LEAST_SHARE = 5, 0.01  # conversations that must have what is repeated, and their share
_FIRST = 0.9  # of the times that it is said; usual answers, which say what was asked, are often the first reply, too
_Role = TypeVar("_Role", bound=Hashable)


@dataclass(frozen=True)
class AutomaticReplies:
    """The automatic replies of some conversations.

    Attributes:
        known: The role and the letters of each.

    Examples:
        >>> AutomaticReplies(frozenset({("agent", "we answer soon")})).has("agent", "We answer (no. 7) soon!")
        False
        >>> AutomaticReplies(frozenset({("agent", "no we answer soon")})).has("agent", "No. 7: we answer soon!")
        True
    """

    known: frozenset[tuple[str, str]]

    @cached_property
    def _shortest(self) -> int:
        return min((len(letters) for _, letters in self.known), default=0)

    def has(self, role: str, text: str) -> bool:
        """Return true if a message of a role is one of these."""
        return bool(self.known) and len(text) >= self._shortest and (role, letters_of(text)) in self.known


def find_automatic_replies(
    letters: Sequence[str], conversation: Sequence[Hashable], role: Sequence[_Role]
) -> set[tuple[_Role, str]]:
    """Find the role and the letters of each automatic reply.

    Args:
        letters: The letters of the messages, in the order of the conversations (n).
        conversation: The conversation of each (n).
        role: The role of each (n).
    """
    least = least_conversations(len(set(conversation)))
    having: dict[tuple[_Role, str], set[Hashable]] = defaultdict(set)
    first: dict[tuple[_Role, str], int] = defaultdict(int)
    spoken: set[tuple[Hashable, _Role]] = set()
    before: Hashable = None
    for text, talk, speaker in zip(letters, conversation, role):
        if len(text.split()) >= AUTOMATIC:
            having[speaker, text].add(talk)
            first[speaker, text] += talk == before and (talk, speaker) not in spoken
        spoken.add((talk, speaker))
        before = talk
    return {reply for reply, talks in having.items() if len(talks) >= least and first[reply] >= _FIRST * len(talks)}


def least_conversations(count: int) -> float:
    """Return how many of some conversations must have what is repeated: fewer are chance."""
    return max(_LEAST, LEAST_SHARE * count)
