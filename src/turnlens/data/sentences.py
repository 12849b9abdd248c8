"""Sentences of messages, compared by their letters alone.

The number of a ticket, quoted mail and placeholders of personal data do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_GREETING_WORDS = (
    "hi hello hey hiya howdy greetings morning afternoon evening hallo servus bonjour salut hola buenas ciao olá "
    "你好 您好"
)
_DEAR_WORDS = "dear liebe lieber cher chère estimado estimada querido querida caro cara prezado prezada beste"
GREETINGS = frozenset(_GREETING_WORDS.split())
GAP = "\ufffc"  # stands for what was taken out of a text
CALLED = rf"(?:{GAP}|[^\W\d_a-zß-öø-ÿ][^\W\d_]+(?:[.’'-][^\W\d_]+)*|\[\w+\])"
# A greeting before what is said, and whom it calls: "Hi Ann Lee,", "Hello there", "Sehr geehrte Frau Lee,".
GREETING = re.compile(
    rf"\A\s*(?i:(?:good[ \t]+)?(?:{'|'.join(f'{_GREETING_WORDS} {_DEAR_WORDS}'.split())})|sehr geehrter?)\b"
    rf"(?:((?:[ \t]+{CALLED}){{1,3}})[ \t]*[,!:\n]|[ \t]+(?i:there|all|team|everyone|everybody)\b[,!.]?|[,!])"
    r"\s*(?=\w)"
)
# What stands in for personal data, in the notation of this and other programs; addresses of pages; handles of accounts
# (`@name`), and the signatures of those who answer for a company at the end of a line (`^JS`, `*MS`).
PLACEHOLDER = re.compile(
    r"\[[A-Z][A-Z0-9_ -]*\]|\[(?:email|phone|card|iban|url|ip|name)\]|<[A-Z][A-Z0-9_ ]*>|__[a-z]+(?:_[a-z]+)*__"
    r"|\{\{[^{}\n]{1,40}\}\}|\b[Xx]{3,}(?:[-/ ][Xx]{2,})*\b|\*{3,}|(?:https?://|www\.)\S+"
    r"|(?<![\w.@/])@\w{2,30}|(?<!\S)[\^*][A-Z][A-Za-z]{0,11}(?=\s*(?:$|\n|https?:))"
)
LONGEST_TEXT = 4000  # characters that are read
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…。！？]+(?=\s|$)|\s[-–—|]+(?=\s)|(?=\n)|$)|\n")
LETTERS = re.compile(r"[^\W\d_]+")
_QUOTE = re.compile(r"(?:^[^\n]*:[ \t]*\n)?(?:^[ \t]*>[^\n]*(?:\n|$))+|^--[ \t]*\n[\s\S]*", re.MULTILINE)
Piece = tuple[int, int, str]  # start and end of a sentence, and its letters, by which it is compared


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
        pieces.append((start, end, "" if is_quoted else " ".join(LETTERS.findall(match[0].lower()))))
    return pieces
