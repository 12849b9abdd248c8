"""Texts as finders of personal data read them, and spans of such texts.

Digits of any width or script are digits, all dashes one, invisible signs are gone. Only the text that patterns examine
is changed; spans are translated back to the text as it was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Span = tuple[int, int]  # start and end in the text
Finder = Callable[[str], Iterable[Span]]

# Chinese and Japanese are written without spaces: such a letter beside another is no part of its word.
_UNSPACED = r"\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
LETTER = rf"[^\W{_UNSPACED}]"  # or digit
# Where a number may begin: not within a word, a decimal, a time or an amount; but after a whole number and a comma.
NUMBER_START = r"(?<![A-Za-z\d_])(?<!\d[./-])(?<!\b\d[,:])(?<!\b\d\d[,:])(?<!\b\d\d\d,)"


def covered(text: str, spans: Iterable[Span]) -> str:
    """Return the text with recognised spans replaced by neutral signs, so that nothing else is recognised there."""
    apart = merged((*span, "") for span in spans)
    return replaced(text, ((start, end, "|" * (end - start)) for start, end, _ in apart))


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with words in place of spans, of which none overlap."""
    parts, done = [], 0
    for start, end, word in spans:
        parts += [text[done:start], word]
        done = end
    return "".join(parts) + text[done:]


def merged(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Merge spans that overlap; each span has a word, and the longest one gives the word for the merged span."""
    joined: list[tuple[int, int, str, int]] = []  # start, end, word, length of the span whose word it is
    for start, end, word in sorted(spans):
        if joined and start < joined[-1][1]:
            before_start, before_end, before_word, length = joined.pop()
            if end - start > length:
                before_word, length = word, end - start
            joined.append((before_start, max(before_end, end), before_word, length))
        else:
            joined.append((start, end, word, end - start))
    return [span[:3] for span in joined]


def runs_in(text: str, run: re.Pattern[str], group: re.Pattern[str], least: int) -> Iterator[list[Span]]:
    """Yield the groups of digits in each run of such groups that has at least so many letters."""
    for found in run.finditer(text):
        if len(found[0]) >= least:
            yield [match.span() for match in group.finditer(text, *found.span())]


def numbers_in(groups: list[Span], end_of: Callable[[int, bool], int | None]) -> Iterator[Span]:
    """Yield the spans of numbers of several groups, none of which overlap.

    Args:
        groups: The groups of a run.
        end_of: From the first group of a number, and whether the number before it ended there, to its last group;
            None where no number begins.
    """
    first = done = 0
    while first < len(groups):
        last = end_of(first, first == done)
        if last is not None:
            yield groups[first][0], groups[last][1]
            done = last + 1
        first = first + 1 if last is None else done


# A letter and its accents, of which no more than this many are put together: to sort very many takes very long.
_MARKS = "\u0300-\u036f\u3099\u309a\ufe0f\u20e3"
_CLUSTER = re.compile(rf"(?s:.)[{_MARKS}]{{0,8}}+")
_MARK = re.compile(f"[{_MARKS}]")
# These signs end a web address or stand beside a number, while their narrow forms may be part of it.
_KEPT = frozenset("，；！？（）［］｛｝")
# Superscript, subscript or enclosed digits do not belong to the number before them.
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>", "<square>")
_KEYCAP = "\ufe0f\u20e3"


@dataclass(frozen=True)
class PlainText:
    """A text for patterns to examine, and the place of each of its letters in the text as written.

    Args:
        text: The text that finders examine.
        starts: Where each letter begins in the text as written; empty if both texts are the same.
        ends: Where each letter ends there.
    """

    text: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    @classmethod
    def of(cls, written: str) -> PlainText:
        """Return the plain form of a text (NFKC, letter by letter)."""
        if written.isascii() or not (_MARK.search(written) or written.translate(_PLAIN_LETTERS) != written):
            return cls(written)
        letters: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for cluster in _CLUSTER.finditer(written):
            plain = _plain(cluster[0])
            letters.append(plain)
            starts += [cluster.start()] * len(plain)
            ends += [cluster.end()] * len(plain)
        return cls("".join(letters), starts, ends)

    def as_written(self, span: Span) -> Span:
        """Translate a span of the plain text into a span of the text as written."""
        if self.starts is None or self.ends is None:
            return span
        start, end = span
        return self.starts[start], self.ends[end - 1]


@lru_cache(maxsize=8192)
def _plain(cluster: str) -> str:
    first = cluster[0]
    if first in _KEPT or unicodedata.decomposition(first).startswith(_KEPT_FORMS):
        return cluster
    return "".join(map(_plain_sign, unicodedata.normalize("NFKC", cluster)))


def _plain_sign(sign: str) -> str:
    category = unicodedata.category(sign)
    if category == "Nd":
        return str(unicodedata.decimal(sign))
    if category == "Pd" or sign == "\u2212":  # dashes, minus
        return "-"
    return "" if category == "Cf" or sign in _KEYCAP else sign


class _PlainLetters(dict[int, str]):
    """A table for `str.translate` that fills itself with what occurs."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _plain(chr(code))
        return plain


_PLAIN_LETTERS = _PlainLetters()
