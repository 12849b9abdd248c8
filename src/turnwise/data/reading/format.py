"""What a source format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from turnwise.data.reading.source import Source


@dataclass(frozen=True)
class Head:
    """The beginning of a file, as far as needed to detect its format.

    Args:
        keys: The columns, or the keys of the first JSON object; empty for other text.
        line: The first line; empty where there are keys.
        inner_keys: Where the file is one JSON object, the keys of the first object in it.
    """

    keys: frozenset[str] = frozenset()
    line: str = ""
    inner_keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Format:
    """A source format of conversations.

    Args:
        name: What users call it.
        description: One line for lists of formats.
        layout: What a file must hold, for error messages.
        records: From a file to ``(line or row number, raw)`` for every conversation.
        convert: From ``raw`` to ``{"id"?, "messages": [{"role", "content", …}], …labels}``. Raises `BadRow` or the
            ``KeyError``, ``TypeError``, … of a record with an unexpected layout.
        matches: Whether a file that begins like this has this format.
        is_corpus: It is the layout of one released corpus, which nobody has by chance.
    """

    name: str
    description: str
    layout: str
    records: Callable[[Source], Iterator[tuple[int, Any]]]
    convert: Callable[[Any, Source], dict[str, Any]]
    matches: Callable[[Head], bool]
    is_corpus: bool = False
