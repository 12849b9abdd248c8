"""Detecting the format of a file from its beginning."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from turnwise.data.formats import FORMATS
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.head import object_head, record_head, text_head
from turnwise.data.reading.source import ENDINGS, Source
from turnwise.data.reading.suggesting import Layout, look_at
from turnwise.errors import ConversationError

_TEXT_ENDINGS = (".txt", ".vtt", ".srt", ".mbox")
_PACKED = (".zip", ".tar", ".tgz", ".rar", ".7z")  # as most exports arrive
_KEYS_SHOWN = 20
NAME_COLUMNS = (
    "name its columns with --columns 'conversation=…,speaker=…,text=…' (where each row is a text of its own, "
    "with --columns 'text=…')"
)
EXPECTED_LINES = "expected lines that begin with who speaks, such as “Anna: Good morning.”"


def detect_format(source: Source) -> Format:
    """Detect a file's format from its first records.

    Raises:
        ConversationError: The file is empty, its first records are all malformed, or no format matches.
    """
    if source.is_folder:  # the only folders that `find_files` gives
        return FORMATS["slack"]
    if source.ending in _PACKED:
        raise ConversationError(source.name, f"a {source.ending} is not read: unpack it and give the folder or file")
    if source.ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        problem = f"unknown ending {source.ending!r}; known are {known}, each also with .gz"
        raise ConversationError(source.name, problem)
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
        self.layout = look_at(source) if head.keys else Layout({})
        if self.layout.columns is not None:
            advice = f"name its columns, as was tried\n  --columns {shlex.quote(str(self.layout.columns))}"
        else:
            problem = f"{self.layout.problem}; " if self.layout.problem else ""
            advice = f"{problem}{NAME_COLUMNS if head.keys else EXPECTED_LINES}; docs/formats.md lists what can be read"
        super().__init__(source.name, f"could not detect the format: found {_excerpt(head)}; {advice}")


def _excerpt(head: Head) -> str:
    if not head.keys:
        return repr(head.line[:60])
    keys = sorted(head.keys)
    more = f", … ({len(keys)} in all)" if len(keys) > _KEYS_SHOWN else ""
    return f"the columns or keys {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _heads(source: Source) -> Iterator[Head]:
    """Views of the beginning of a file, the cheapest first."""
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
