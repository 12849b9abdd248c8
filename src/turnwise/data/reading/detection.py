"""Detecting the format of a file from what it begins with."""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.data.formats import FORMATS, slack
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.head import object_head, record_head, text_head
from turnwise.data.reading.source import ENDINGS, Source
from turnwise.errors import ConversationError

_TEXT_ENDINGS = (".txt", ".vtt", ".srt", ".mbox")
_KEYS_SHOWN = 20


def detect_format(source: Source) -> Format:
    """Detect a file's format from its first records.

    Raises:
        ConversationError: The file is empty, its first records are all malformed, or no format matches.
    """
    if source.path.is_dir():  # the only folders that `find_files` gives
        return slack.FORMAT
    if source.ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        problem = f"unknown ending {source.ending!r}; known are {known}, each also with .gz; otherwise name the format"
        raise ConversationError(str(source.path), problem)
    head = Head()
    for head in _heads(source):
        for candidate in FORMATS.values():
            if candidate.matches(head):
                return candidate
    layouts = "".join(f"\n  {known.name}: {known.layout}" for known in FORMATS.values())
    problem = f"could not detect the format: found {_found(head)}; expected one of{layouts}"
    raise ConversationError(str(source.path), problem)


def _found(head: Head) -> str:
    if not head.keys:
        return repr(head.line[:60])
    keys = sorted(head.keys)
    more = f", … ({len(keys)} in all)" if len(keys) > _KEYS_SHOWN else ""
    return f"the columns or keys {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _heads(source: Source) -> Iterator[Head]:
    """What the beginning of the file shows, the cheapest look first."""
    if source.ending == ".tsv":  # perhaps without a header
        yield text_head(source)
    if source.ending in _TEXT_ENDINGS:
        head = text_head(source)
        is_json = head.line.lstrip().startswith(("{", "[{", "[["))
        if not is_json:
            yield head
        if not is_json and "\t" not in head.line:
            return
    if source.ending == ".json":  # perhaps one object as large as the file
        head, is_whole = object_head(source)
        yield head
        if is_whole:
            return
    yield record_head(source)
