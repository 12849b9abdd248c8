"""Looking at the beginning of a file."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.format import Head
from turnlens.formats.json_stream import JsonText
from turnlens.formats.source_file import BadRow, Source, parse_text, parse_value

_RECORDS_LOOKED_AT = 100


def text_head(source: Source) -> Head:
    """The first lines of text.

    Raises:
        ConversationError: The file is empty, or none of these lines is UTF-8.
    """
    lines = []
    first_problem = None
    for number, raw in islice(source.lines(), _RECORDS_LOOKED_AT):
        try:
            lines.append(parse_text(raw))
        except BadRow as problem:
            first_problem = first_problem or ConversationError(source.place(number), str(problem))
    if not lines:
        raise first_problem or _empty(source)
    return Head(lines=tuple(lines))


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


def record_head(source: Source) -> Head:
    """The first record that is not malformed.

    Raises:
        ConversationError: The file is empty, or its first records are all malformed.
    """
    first_problem = None
    for number, raw in islice(source.records(), _RECORDS_LOOKED_AT):
        try:
            return _head_of(parse_value(raw))
        except BadRow as problem:
            first_problem = first_problem or ConversationError(source.place(number), str(problem))
    raise first_problem or _empty(source)


def _head_of(record: Any) -> Head:
    if isinstance(record, list):
        return Head(inner=_inner({"": record}))
    if not isinstance(record, dict):
        raise BadRow(f"expected a JSON object, found {json.dumps(record)[:60]}")
    return Head(frozenset(record), _inner(record))


def _inner(record: dict[str, Any]) -> dict[str, frozenset[str]]:
    """Under each key that holds an object or an array that begins with one, its keys."""
    first = {key: value[0] if isinstance(value, list) and value else value for key, value in record.items()}
    return {key: frozenset(value) for key, value in first.items() if isinstance(value, dict)}


def _empty(source: Source) -> ConversationError:
    return ConversationError(source.name, "the file is empty: no conversations in it")
