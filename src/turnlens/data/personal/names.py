"""Given names, found as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turnlens.data.personal.plain_text import PlainText
from turnlens.data.personal.spans import LETTER, Finder, Span


def names_finder(names: Iterable[str]) -> Finder:
    """A finder of whole names, whatever their case and however they are spaced.

    Args:
        names: The names. Chinese and Japanese ones, in whose texts words are not spaced, are found anywhere.
    """
    pattern = re.compile(_alternatives(_trie(names)), re.IGNORECASE)

    def find(text: str) -> Iterator[Span]:
        return (match.span() for match in pattern.finditer(text))

    return find


_END = ""
_Trie = dict[str, "_Trie"]


def _trie(names: Iterable[str]) -> _Trie:
    """The letters of all names as a tree, so that thousands of names are one quick pattern."""
    root: _Trie = {}
    for name in names:
        node = root
        for letter in " ".join(PlainText.of(name).text.split()):
            node = node.setdefault(letter.lower(), {})
        node[_END] = {}
    return root


def _alternatives(root: _Trie) -> str:
    return rf"(?:(?<!{LETTER})|(?!{LETTER})){_branches(root)}(?:(?!{LETTER})|(?<!{LETTER}))"


def _branches(node: _Trie) -> str:
    inner = [
        (r"\s+" if letter == " " else re.escape(letter)) + _branches(rest) for letter, rest in node.items() if letter
    ]
    if not inner:
        return ""
    joined = f"(?:{'|'.join(inner)})"
    return f"{joined}?" if _END in node else joined
