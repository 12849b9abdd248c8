"""The description of a source format, the beginning of a file by which it is detected, and records of pages.

A page is a JSON object of an API whose records are a list in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from turnlens.errors import ConversationError, NoConversations
from turnlens.formats.bad_input import BadRow, parse_record, parse_value
from turnlens.formats.json_stream import JsonText
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
        is_export: Whether an app writes it among files of other content, which are then passed over.
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
    is_export: bool = False
    spans_files: bool = False

    def row(self, raw: Any, source: Source) -> dict[str, Any] | None:
        """Convert what `records` gave, or raise the `BadRow` that stands in its place."""
        if isinstance(raw, BadRow):
            raise raw
        return self.convert(raw, source)


_RECORDS_LOOKED_AT = 100
# Where pages keep their records, whatever these are.
PAGES = "data results _results value items records payload rows tickets chats threads conversations"


def text_head(source: Source) -> Head:
    """The first lines of text.

    Raises:
        ConversationError: The file is empty.
    """
    lines = tuple(text for _, text in islice(source.text_lines(), _RECORDS_LOOKED_AT))
    if not lines:
        raise _empty(source)
    return Head(lines=lines)


def object_head(source: Source) -> tuple[Head, bool]:
    """The JSON object a file begins with, as far as its first chunk goes, and whether that is all of it."""
    keys: list[str] = []
    inner: dict[str, set[str]] = {}
    with source.open_json() as file:
        text = JsonText.first_chunk(file)
    is_whole = True
    try:
        for key in text.object_keys():
            keys.append(key)
            for inner_key in text.first_keys():
                inner.setdefault(key, set()).add(inner_key)
    except (json.JSONDecodeError, RecursionError):
        is_whole = False
    return Head(frozenset(keys), {key: frozenset(inner_keys) for key, inner_keys in inner.items()}), is_whole


def record_heads(source: Source) -> Iterator[Head]:
    """The first record that is not malformed, and those among the next that have other keys than it.

    Raises:
        ConversationError: The file is empty, or its first records are all malformed.
    """
    first: Head | None = None
    first_problem = None
    for number, raw in islice(source.records(), _RECORDS_LOOKED_AT):
        try:
            value = parse_value(raw)
            is_list = isinstance(value, list)
            head = Head(inner=_inner({"": value})) if is_list else Head(frozenset(parse_record(value)), _inner(value))
        except BadRow as error:
            first_problem = first_problem or ConversationError(source.place(number), str(error))
            continue
        if head != first:
            yield head
        first = first or head
    if first is None:
        raise first_problem or _empty(source)


def _inner(record: dict[str, Any]) -> dict[str, frozenset[str]]:
    """Under each key that holds an object or an array that begins with one, its keys."""
    first = {key: value[0] if isinstance(value, list) and value else value for key, value in record.items()}
    return {key: frozenset(value) for key, value in first.items() if isinstance(value, dict)}


def _empty(source: Source) -> ConversationError:
    return NoConversations(source.name, "the file is empty: no conversations in it")


def page_records(source: Source, *pages: str) -> Iterator[tuple[int, Any]]:
    """The records of a page that keeps them at one of these places, which are all equally deep."""
    paths = [tuple(page.split(".")) for page in pages]
    records = (value for _, (keys, value) in source.json_members(len(paths[0]) + 1) if keys in paths)
    yield from enumerate(records, start=1)


def any_records(source: Source, besides: str = "") -> Iterator[tuple[int, Any]]:
    """The records of a file or, where it is a page, those in it; ``besides`` is a name under which there are none."""
    if source.ending == ".json":
        inner = object_head(source)[0].inner
        page = next((page for page in PAGES.split() if page in inner and page != besides), "")
        rows = page_records(source, page) if page else iter(())
        first = next(rows, None)  # none where an object, not a list, has this name
        if first is not None:
            yield first
            yield from rows
            return
    yield from source.records()
