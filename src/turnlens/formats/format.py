"""The description of a source format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.source_file import Source


@dataclass(frozen=True)
class Head:
    """The beginning of a file, as far as needed to detect its format.

    Args:
        keys: The columns, or the keys of the first JSON object; empty for other text.
        inner: For each of these keys that holds an object or an array of objects, the keys of the first one; for a
            record that is itself an array, under the key "".
        lines: The first lines that are not blank; empty where there are keys.
    """

    keys: frozenset[str] = frozenset()
    inner: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lines: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The first line; empty where there are keys."""
        return self.lines[0] if self.lines else ""

    @property
    def inner_keys(self) -> frozenset[str]:
        """The keys of the first object in the record."""
        return next(iter(self.inner.values()), frozenset())

    def has(self, name: str) -> bool:
        """Return whether there is a key, or one inside another, as in ``messages/role``."""
        outer, slash, inner = name.partition("/")
        return inner in self.inner.get(outer, ()) if slash else outer in self.keys


def signs(*layouts: str) -> Callable[[Head], bool]:
    """A match for files that have all names of one of some layouts; of names with ``|`` between them, one is enough.

    >>> signs("guild channel", "messages/role|messages/from")(Head(inner={"messages": frozenset({"from"})}))
    True
    """
    needed = [[names.split("|") for names in layout.split()] for layout in layouts]
    return lambda head: any(all(any(map(head.has, names)) for names in layout) for layout in needed)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A source format of conversations.

    Args:
        name: Its name for users.
        description: One line for lists of formats.
        layout: The content that a file must have, for error messages.
        records: From a file to ``(line or row number, raw)`` for every conversation; by default its records.
        convert: From ``raw`` to ``{"id"?, "messages": [{"role", "content", …}], …labels}``, or to None for a
            conversation without any message. Raises `BadRow` or the ``KeyError``, ``TypeError``, … of a record with an
            unexpected layout.
        matches: Whether a file that begins like this has this format.
        sidecars: Sidecar files without conversations: patterns of their names in lower case, and their content.
            Known names only: any other file is most likely a mistake, which should be an error.
        passed_over: Names of fields whose text is no part of a conversation, such as definitions of tools.
        spans_files: Whether conversations continue from file to file, so that files read together are one log.

    Examples:
        >>> from turnlens.formats import FORMATS
        >>> FORMATS["whatsapp"].matches(Head(lines=("31/12/2023, 21:05 - Ann: hello",)))
        True
    """

    name: str
    description: str
    layout: str
    records: Callable[[Source], Iterator[tuple[int, Any]]] = Source.records
    convert: Callable[[Any, Source], dict[str, Any] | None]
    matches: Callable[[Head], bool]
    sidecars: Mapping[str, str] = field(default_factory=dict)
    passed_over: frozenset[str] = frozenset()
    spans_files: bool = False

    def row(self, raw: Any, source: Source) -> dict[str, Any] | None:
        """Convert what `records` gave, or raise the `BadRow` that stands in its place."""
        if isinstance(raw, BadRow):
            raise raw
        return self.convert(raw, source)
