"""Detection of a file's format from its beginning."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from itertools import islice

from turnlens.errors import ConversationError, NoConversations
from turnlens.formats import FORMATS
from turnlens.formats.bad_input import DAMAGE, OTHER_LAYOUT, TooLargeError
from turnlens.formats.column_guesses import lacks_header
from turnlens.formats.column_suggestions import Layout, describe_layout
from turnlens.formats.format import Format, Head, object_head, record_heads, text_head
from turnlens.formats.row_checker import RowChecker
from turnlens.formats.source_file import ENDINGS, Source

_TABLES = (".csv", ".tsv", ".txt", ".xlsx")
_ROWS_LOOKED_AT = 100
_TEXT_ENDINGS = (".txt", ".vtt", ".srt", ".mbox")
_PACKED = (".zip", ".tar", ".tgz", ".rar", ".7z")  # as most exports arrive
_OTHER_FILES = {".xls": "an old workbook: save it as .xlsx or CSV", ".pdf": "a PDF: export it as text or as a table"}
# What a file begins with, and the endings it then has.
_CONTENTS = {
    b"\x1f\x8b": ("compressed by gzip", (".gz",)),
    b"PK\x03\x04": ("a zip file or workbook", (".xlsx", ".zip")),
    b"PAR1": ("Parquet", (".parquet",)),
    b"%PDF": ("a PDF", ()),
    b"\xd0\xcf\x11\xe0": ("an old workbook or document of Office", ()),
    b"SQLite format 3": ("a database of SQLite", ()),
}
_KEYS_SHOWN = 20
_UNITS_LOOKED_AT = 1 << 26  # of a budget: some ten thousand rows of a table
_NOT_READ: tuple[type[Exception], ...] = (ConversationError, *OTHER_LAYOUT, *DAMAGE)
NAME_COLUMNS = (
    "name its columns with --columns 'conversation=…,speaker=…,text=…' (where each row is a text of its own, "
    "with --columns 'text=…')"
)
NO_HEADER = (
    "its first row looks like a message, not like the names of columns: add a first row that names every column, "
    "such as conversation_id,speaker,text"
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
    if source.ending in _OTHER_FILES:
        raise ConversationError(source.name, f"{_OTHER_FILES[source.ending]}, and give that")
    if source.ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        problem = f"unknown ending {source.ending!r}; known are {known}, each also with .gz"
        raise ConversationError(source.name, problem)
    if source.path.is_file():  # which what a program gives is not
        _check_content(source)
    try:
        return _by_content(source)
    except TooLargeError as error:
        raise ConversationError(source.name, str(error)) from None


def _by_content(source: Source) -> Format:
    head = Head()
    for head in _heads(source):
        for candidate in FORMATS.usable(Format):
            if candidate.matches(head):
                return candidate
    if head.keys:
        for later in islice(record_heads(source), 1, None):  # the first may be an empty conversation
            for candidate in FORMATS.usable(Format):
                if candidate.matches(later) and reads_some(source, candidate, 1):
                    return candidate
    if source.ending in _TABLES and lacks_header(row for _, row in islice(source.records(), _ROWS_LOOKED_AT)):
        raise ConversationError(source.name, NO_HEADER)
    raise UnknownLayout(source, head)


def _check_content(source: Source) -> None:
    """Refuse an empty file, and one whose name says that it holds something else."""
    with source.path.open("rb") as file:
        beginning = file.read(max(map(len, _CONTENTS)))
    if not beginning:
        raise NoConversations(source.name, "the file is empty: no conversations in it")
    name = source.path.name.removesuffix(".sample").lower()
    for mark, (content, endings) in _CONTENTS.items():
        if beginning.startswith(mark) and not name.endswith(endings):
            named = " or ".join(f"…{ending}" for ending in endings)
            advice = f"name it {named}" if endings else "export it as text or as a table"
            raise ConversationError(source.name, f"the content of the file is {content}: {advice}")


class UnknownLayout(NoConversations):
    """A file in none of the known formats.

    Args:
        source: The file.
        head: Its beginning.
        problem: The reason why the format that it looks like does not read it.
    """

    def __init__(self, source: Source, head: Head, problem: str = "") -> None:
        self.layout = describe_layout(source) if head.keys else Layout({})
        if self.layout.columns is not None:
            one = ", as one conversation (--split-by cuts it)" if self.layout.columns.are_of_one_conversation else ""
            advice = f"name its columns, as was tried{one}\n  --columns {shlex.quote(str(self.layout.columns))}"
        else:
            tried = f"{self.layout.problem}; " if self.layout.problem else ""
            advice = f"{tried}{_advice(source, head)}; docs/formats.md lists what can be read"
        problem = problem or f"could not detect the format: found {_excerpt(head)}"
        super().__init__(source.name, f"{problem}; {advice}")


def reads_some(source: Source, chosen: Format, most: int = _ROWS_LOOKED_AT) -> bool:
    """Return whether a format reads any of a file's first records, at most so many."""
    looked_at = copy(source)
    looked_at.limit(_UNITS_LOOKED_AT)
    try:
        for _, raw in islice(chosen.records(looked_at), most):
            with suppress(*OTHER_LAYOUT):
                row = chosen.row(raw, looked_at)
                if row is None or RowChecker().check(row, source.stem):
                    return True
    except TooLargeError:  # a long table, of which few rows are bad
        return True
    except _NOT_READ:
        pass
    return False


def misread_layout(source: Source, chosen: Format, problem: str) -> UnknownLayout | None:
    """The error for a file whose detected format does not read it, where columns would; None where none would.

    Args:
        source: The file.
        chosen: The detected format.
        problem: The problem that the format has with it.
    """
    if source.is_folder:
        return None
    try:
        head = next(record_heads(source))
    except _NOT_READ:
        return None
    unknown = UnknownLayout(source, head, f"looks like {chosen.name!r}, which does not read it: {problem}")
    return unknown if unknown.layout.columns is not None else None


def _advice(source: Source, head: Head) -> str:
    if head.line:
        return EXPECTED_LINES
    if not head.keys and source.ending in (".jsonl", ".ndjson"):
        return "if all conversations are in one list, name the file .json"
    return NAME_COLUMNS if head.keys else "expected conversations or messages as objects"


def _excerpt(head: Head) -> str:
    if head.line:
        return repr(head.line[:60])
    if not head.keys:
        inside = sorted(head.inner.get("", ()))
        return f"lists of objects with {', '.join(inside[:_KEYS_SHOWN])}" if inside else "no object with any key"
    keys = sorted(head.keys)
    more = f", … ({len(keys)} in all)" if len(keys) > _KEYS_SHOWN else ""
    return f"the columns or keys {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _heads(source: Source) -> Iterator[Head]:
    """Views of the beginning of a file, the cheapest first."""
    if source.ending == ".tsv":  # perhaps without a header
        yield text_head(source)
    if source.ending in _TEXT_ENDINGS:
        head = text_head(source)
        if not head.line.lstrip().startswith(("{", "[{", "[[")):  # JSON
            yield head
            if "\t" not in head.line:
                return
    if source.ending == ".json":  # perhaps one object as large as the file
        head, is_whole = object_head(source)
        yield head
        if is_whole:
            return
    yield next(record_heads(source))
