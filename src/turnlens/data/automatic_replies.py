"""Automatic replies: long messages that are, word for word, the first answer in many conversations.

Words are letters alone: the number of a ticket, quoted mail and placeholders of personal data do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

# What stands in for personal data, in the notation of this and other programs; addresses of pages; handles of accounts
# (`@name`), and the signatures of those who answer for a company at the end of a line (`^JS`, `*MS`).
PLACEHOLDER = re.compile(
    r"\[[A-Z][A-Z0-9_ -]*\]|\[(?:email|phone|card|iban|url|ip|name)\]|<[A-Z][A-Z0-9_ ]*>|__[a-z]+(?:_[a-z]+)*__"
    r"|\{\{[^{}\n]{1,40}\}\}|\b[Xx]{3,}(?:[-/ ][Xx]{2,})*\b|\*{3,}|(?:https?://|www\.)\S+"
    r"|(?<![\w.@/])@\w{2,30}|(?<!\S)[\^*][A-Z][A-Za-z]{0,11}(?=\s*(?:$|\n|https?:))"
)
LONGEST_TEXT = 4000  # characters that are read
AUTOMATIC = 12  # words of an automatic reply, at least
_LEAST, LEAST_SHARE = 5, 0.01  # conversations that must have what is repeated, and their share
_FIRST = 0.9  # of the times that it is said; usual answers, which say what was asked, are often the first reply, too
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…。！？]+(?=\s|$)|\s[-–—|]+(?=\s)|(?=\n)|$)|\n")
_LETTERS = re.compile(r"[^\W\d_]+")
_QUOTE = re.compile(r"(?:^[^\n]*:[ \t]*\n)?(?:^[ \t]*>[^\n]*(?:\n|$))+|^--[ \t]*\n[\s\S]*", re.MULTILINE)
Piece = tuple[int, int, str]  # start and end of a sentence, and its letters, by which it is compared
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


def letters_of(text: str) -> str:
    """Return the letters of a whole message."""
    return letters_of_pieces(pieces_of(text, quotes_of(text)))


def letters_of_pieces(pieces: Sequence[Piece]) -> str:
    """Return the letters of a message by its sentences."""
    return " ".join(key for _, _, key in pieces if key)


def quotes_of(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each quote and signature of mail in a text."""
    return [match.span() for match in _QUOTE.finditer(text)] if "\n" in text or text.startswith(">") else []


def pieces_of(text: str, quoted: Sequence[tuple[int, int]]) -> list[Piece]:
    """Return the sentences of a text; those in quotes, and what has no letters, are compared with nothing."""
    pieces = []
    for match in _SENTENCE.finditer(PLACEHOLDER.sub(lambda stood: " " * len(stood[0]), text[:LONGEST_TEXT])):
        start, end = match.span()
        is_quoted = any(first <= start < last for first, last in quoted)
        pieces.append((start, end, "" if is_quoted else " ".join(_LETTERS.findall(match[0].lower()))))
    return pieces
