"""The beginning of a file, and the records of pages: JSON objects of an API whose records are a list in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow, parse_record, parse_value
from turnlens.formats.format import Head
from turnlens.formats.json_stream import JsonText
from turnlens.formats.source_file import Source

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
    return ConversationError(source.name, "the file is empty: no conversations in it")


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
