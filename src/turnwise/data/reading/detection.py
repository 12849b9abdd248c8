"""Detecting the format of a file from what it begins with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import islice

from turnwise.data.formats import FORMATS
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.json_text import JsonText
from turnwise.data.reading.source import ENDINGS, BadRow, Source, parse_record, parse_text
from turnwise.data.reading.suggesting import Layout, look_at
from turnwise.errors import ConversationError

_RECORDS_LOOKED_AT = 100
_KEYS_SHOWN = 20


def detect_format(source: Source) -> Format:
    """Detect a file's format from its first records.

    Raises:
        ConversationError: The file is empty, its first records are all malformed, or no format matches.
    """
    if source.ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        problem = f"unknown ending {source.ending!r}; known are {known}, each also with .gz; otherwise name the format"
        raise ConversationError(str(source.path), problem)
    head = Head()
    for head in _heads(source):
        for candidate in FORMATS.values():
            if candidate.matches(head):
                return candidate
    raise UnknownLayout(source, head)


class UnknownLayout(ConversationError):
    """A file in none of the known formats.

    Args:
        source: The file.
        head: What it begins with.
    """

    def __init__(self, source: Source, head: Head) -> None:
        self.layout = look_at(source) if head.keys else Layout({}, None)
        self.closest = _closest(self.layout)
        if self.layout.columns is not None:
            named = f"--columns {shlex.quote(str(self.layout.columns))}"
            advice = f"it is most like {self.closest!r}; name its columns, most likely\n  {named}"
        else:
            known = "".join(f"\n  {known.name}: {known.layout}" for known in FORMATS.values() if not known.is_corpus)
            corpora = ", ".join(known.name for known in FORMATS.values() if known.is_corpus)
            advice = f"expected one of{known}\n  or the files of a corpus: {corpora}"
        super().__init__(str(source.path), f"could not detect the format: found {_found(head)}; {advice}")


def _closest(layout: Layout) -> str:
    """The format whose layout names most of the fields; by default the one that has messages in a list, or in rows."""
    fields = {part for path in layout.examples for part in re.split(r"\W+", path) if part}
    shared = {known.name: len(fields & set(re.findall(r"\w+", known.layout))) for known in FORMATS.values()}
    best = max(shared, key=shared.__getitem__)
    if shared[best] > 2:
        return best
    return "chat" if layout.columns is not None and layout.columns.messages else "table"


def _found(head: Head) -> str:
    if not head.keys:
        return repr(head.line[:60])
    keys = sorted(head.keys)
    more = f", … ({len(keys)} in all)" if len(keys) > _KEYS_SHOWN else ""
    return f"the columns or keys {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _heads(source: Source) -> Iterator[Head]:
    """What the beginning of the file shows, the cheapest look first."""
    if source.ending == ".tsv":  # perhaps without a header
        yield from _line_head(source)
    if source.ending == ".json":  # perhaps one object as large as the file
        head, is_whole = _object_head(source)
        yield head
        if is_whole:
            return
    yield _record_head(source)


def _line_head(source: Source) -> Iterator[Head]:
    for _, line in islice(source.lines(), 1):
        try:
            head = Head(line=parse_text(line))
        except BadRow:
            return
        yield head


def _object_head(source: Source) -> tuple[Head, bool]:
    """The keys of the JSON object a file begins with, as far as its first chunk goes, and whether that is all of it."""
    keys: list[str] = []
    inner_keys: frozenset[str] = frozenset()
    with source.open_json() as file:
        text = JsonText.first_chunk(file)
    try:
        for key in text.object_keys():
            keys.append(key)
            value = text.value()
            if isinstance(value, dict):
                inner_keys = inner_keys or frozenset(value)
    except (json.JSONDecodeError, RecursionError):
        return Head(keys=frozenset(keys), inner_keys=inner_keys), False
    return Head(keys=frozenset(keys), inner_keys=inner_keys), True


def _record_head(source: Source) -> Head:
    first_problem = None
    for number, raw in islice(source.records(), _RECORDS_LOOKED_AT):
        try:
            if isinstance(raw, bytes) and source.ending == ".txt" and not raw.lstrip().startswith(b"{"):
                return Head(line=parse_text(raw))
            return Head(keys=frozenset(parse_record(raw)))
        except BadRow as problem:
            first_problem = first_problem or ConversationError(source.place(number), str(problem))
    raise first_problem or ConversationError(str(source.path), "the file is empty: no conversations in it")
