"""One input file: opening it, and the plain records (lines, JSON values, table rows) in it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar, cast

from turnlens._utils.text_values import with_formula
from turnlens.errors import ConversationError
from turnlens.formats.bad_input import (
    COLUMN,
    BadRow,
    Budget,
    TooLargeError,
    limited_lines,
    line_limit,
    parse_text,
    warn,
)
from turnlens.formats.folders import readable_path, size_of
from turnlens.formats.json_stream import JsonText
from turnlens.formats.parquet_rows import parquet_rows
from turnlens.formats.text_encoding import as_utf8, encoding_of, report
from turnlens.formats.workbooks import excel_cells

ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".vtt", ".srt", ".mbox")

_WITHOUT_LINES = (".json", ".parquet", ".xlsx")
_FEW_COLUMNS = 2  # of a table whose rows may lack all cells but the first
_MOST_BELOW = 20  # single cells below a table
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line that Excel reads, and not as a row
# The first line of a list or object, or of values with commas or separators between them.
_NO_LINE = re.compile(rb"\s*([\[{]\s*|\[.*,\s*|\{.*\},\s*|\x1e.*)", re.DOTALL)
_QUOTED = re.compile('"[^"]*"')
_HEADER_LINES = 64  # of a header with line breaks in its cells
_HEADER_SOUGHT = 20  # lines
_LONGEST_HEAD = 1 << 16  # characters of these lines
ROWS_OF_A_FILE = 1 << 40  # more than any has; numbers of rows in later files of one log begin at its multiples
_T = TypeVar("_T")
_encodings: dict[tuple[Path, int, int], str] = {}  # of files as they were


class Source:
    """One input file. ``stem`` and ``ending`` are those of the name without ``.gz`` and ``.sample``.

    Args:
        path: The file.
        encoding: That of its text, if it is known.
        budget: What reading may take, if other files draw from it too.
    """

    def __init__(self, path: Path, encoding: str | None = None, budget: Budget | None = None) -> None:
        self.path = path
        # called now and then by formats that read much before they yield a first conversation
        self.tick: Callable[[], None] = lambda: None
        self._encoding = encoding
        self._budget = budget
        self.is_gzipped = path.suffix.lower() == ".gz"
        name = Path((path.stem if self.is_gzipped else path.name).removesuffix(".sample"))
        self.stem = name.stem
        self.ending = name.suffix.lower()
        self._raw: BinaryIO | None = None

    @property
    def name(self) -> str:
        """The path as users know it, for messages."""
        return readable_path(str(self.path))

    def warn(self, problem: str) -> None:
        """Log that it is read in another way than a user may expect."""
        warn(self.name, problem)

    def place(self, number: int) -> str:
        """Return the place of record ``number``, for messages."""
        return f"{self.name}: row {number}" if self.ending in _WITHOUT_LINES else f"{self.name}:{number}"

    def default_id(self, prefix: str, number: int) -> str:
        """The id of a conversation that has none, by where it begins."""
        return f"{prefix}-{number}"

    @property
    def is_folder(self) -> bool:
        """Return whether it is a folder that is read as one file."""
        return self.path.is_dir()

    @property
    def budget(self) -> Budget:
        """The limits of reading it."""
        if self._budget is None:
            self._budget = Budget(self.size)
        return self._budget

    def limit(self, units: int) -> None:
        """Let reading take no more than these units of a budget."""
        self._budget = Budget(None, units)

    @property
    def size(self) -> int:
        """The final value of `position`."""
        return size_of(self.path)

    @property
    def position(self) -> int:
        """Number of bytes of the file on disk that have been read."""
        if self._raw is None:
            return 0
        return self.path.stat().st_size if self._raw.closed else self._raw.tell()

    @contextmanager
    def open_bytes(self) -> Iterator[BinaryIO]:
        """The file's bytes, decompressed."""
        with self.path.open("rb") as raw:
            self._raw = raw
            if self.is_gzipped:
                with gzip.open(raw) as file, self.budget.unpacked(cast(BinaryIO, file)) as drawn:
                    yield drawn
            else:
                yield raw

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The file's text as UTF-8, decompressed."""
        if self._encoding is None:
            self._encoding = self._detected_encoding()
        with self.open_bytes() as file:
            yield as_utf8(file, self._encoding)

    def _detected_encoding(self) -> str:
        """The encoding of the file in its present state, which is reported only once."""
        state = self.path.stat()
        key = (self.path, state.st_size, state.st_mtime_ns)
        if key not in _encodings:
            with self.open_bytes() as file:
                _encodings[key] = encoding_of(file)
            if not _encodings[key].startswith("utf") and self.ending != ".mbox":  # whose e-mails tell theirs
                report(self.name, _encodings[key])
        return _encodings[key]

    def records(self) -> Iterator[tuple[int, Any]]:
        """``(number, record)`` by the file's ending: a dict, the bytes of a line, or a `BadRow` in its place."""
        tables = dict.fromkeys((".csv", ".tsv", ".xlsx"), self.rows)
        readers = {".json": self.json_values, ".parquet": self.parquet_rows, **tables}
        if self.ending in (".jsonl", ".ndjson") and self._goes_on():
            return self.json_values()
        if self.ending == ".txt" and self._is_table():
            return self.rows()
        return readers.get(self.ending, self.lines)()

    def _goes_on(self) -> bool:
        """Return whether JSON goes on after its first line, which is not merely damaged before good ones."""
        lines = (raw for _, raw in self.lines())
        if not any(isinstance(raw, bytes) and _NO_LINE.fullmatch(raw) for raw in islice(lines, 1)):
            return False
        second, third = [*islice(lines, 2), b"", b""][:2]
        return not (third and re.fullmatch(rb"\s*\{.*\}\s*", second, re.DOTALL))

    def _is_table(self) -> bool:
        """Return whether text begins with cells separated by tabs, as the "Unicode text" of spreadsheets does."""
        return any(b"\t" in line and not line.lstrip().startswith((b"{", b"[")) for _, line in islice(self.lines(), 1))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines that are not blank. Decoding is left to the caller, so that a single bad line can be skipped."""
        number = 0
        with self.open() as file:
            try:
                for number, line in enumerate(limited_lines(file.readline), start=1):
                    if number == 1:
                        line = line.removeprefix(b"\xef\xbb\xbf")
                    if not line.isspace() and line:
                        yield number, line
            except TooLargeError as error:
                raise ConversationError(self.place(number + 1), str(error)) from None

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with their numbers in the file.

        Bytes that are not UTF-8 are escaped, and replaced when the row is checked.
        """
        for place, raw in self.lines():
            yield place, parse_text(raw)

    def cells(self) -> Iterator[tuple[int, list[str]]]:
        """Rows of a CSV or TSV file, header first; comma, tab or semicolon, whichever it has most of, else a bar.

        A header with line breaks in its cells takes several lines. Titles above it are passed over.
        """
        # a setting of the whole process, which has no other way to say it
        csv.field_size_limit(line_limit())
        # surrogateescape keeps bytes that are not UTF-8, which are replaced when the row is checked
        with self.open() as file, io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
            lines = limited_lines(text.readline)
            lines_before = 0
            try:
                header = next(lines, "")
                if told := _SEPARATOR.fullmatch(header):
                    lines_before, header = 1, next(lines, "")
                if not header:
                    return
                head = [header]
                try:
                    head.extend(_more(lines, len(header)))
                except TooLargeError:
                    lines_before += len(head)
                    raise
                titles = _titles_above(head)
                lines_before += titles
                del head[:titles]
                delimiter = told[1] if told else _delimiter(head)
                # strict, because otherwise a quote that is never closed would swallow all later rows
                reader = csv.reader(chain(head, lines), delimiter=delimiter, strict=True)
                first = lines_before
                for cells in reader:
                    if cells:
                        yield lines_before + 1, cells
                    lines_before = first + reader.line_num
            except (TooLargeError, csv.Error) as error:
                problem = f"malformed table, most likely a quote that is never closed or not doubled ({error})"
                large = TooLargeError("a cell") if "field limit" in str(error) else error
                problem = str(large) if isinstance(large, TooLargeError) else problem
                raise ConversationError(self.place(lines_before + 1), problem) from None

    def rows(self) -> Iterator[tuple[int, dict[str, str] | BadRow]]:
        """Rows of a CSV or TSV file, or of a workbook, by column name, without those that are blank.

        Single cells below a table, such as who made a report and when, are left out with a warning. The apostrophe that
        our own tables have before what a spreadsheet would take for a formula is taken off.
        """
        written = self.excel_cells() if self.ending == ".xlsx" else self.cells()
        cells = ((number, [*map(with_formula, row)]) for number, row in written)
        header = _unique_names(next(cells, (1, []))[1])
        self.budget.spend(COLUMN * len(header), "the number of its columns")
        waiting: list[tuple[int, list[str]]] = []
        for number, row in cells:
            if not any(cell.strip() for cell in row):  # spreadsheets leave blank rows
                continue
            if len(row) == 1 and len(header) > _FEW_COLUMNS and len(waiting) < _MOST_BELOW:
                waiting.append((number, row))
                continue
            if waiting:
                yield from ((place, _named(header, cells_below)) for place, cells_below in waiting)
                waiting.clear()
            yield number, _named(header, row)
        if waiting:
            warn(self.place(waiting[0][0]), "left out what stands below the table")

    def excel_cells(self) -> Iterator[tuple[int, list[str]]]:
        """Rows of a workbook, header first."""
        with self.seekable() as file:
            yield from excel_cells(file, self.name, self.budget)

    def parquet_rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Rows of a Parquet file."""
        with self.seekable() as file:
            yield from enumerate(parquet_rows(file, self.name, self.size, self.budget), start=1)

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """The file's bytes for what is read from its end, which a gzip stream cannot do."""
        with self.open_bytes() as file, tempfile.TemporaryFile() as unpacked:
            if self.is_gzipped:
                shutil.copyfileobj(file, unpacked)
                unpacked.seek(0)
            yield cast(BinaryIO, unpacked) if self.is_gzipped else file

    @contextmanager
    def open_json(self) -> Iterator[TextIO]:
        """The text of a JSON file."""
        with self.open() as file, io.TextIOWrapper(file, "utf-8-sig", "surrogateescape") as text:
            yield text

    def json_values(self) -> Iterator[tuple[int, Any]]:
        """The values of a JSON array, or of one or more JSON values in a row, one at a time."""
        return self._of_json(JsonText.values)

    def json_members(self, depth: int) -> Iterator[tuple[int, tuple[tuple[str, ...], Any]]]:
        """``(keys, value)`` for every value ``depth`` objects deep in a JSON object, as `JsonText.members` gives it."""
        return self._of_json(lambda text: text.members(depth))

    def object_items(self) -> Iterator[tuple[int, tuple[str, Any]]]:
        """``(key, item)`` for what is in the one JSON object of the file, as `JsonText.object_items` gives it."""
        return self._of_json(JsonText.object_items)

    def array_records(self, key: str) -> Iterator[tuple[int, Any]]:
        """The items of the array under ``key`` of the one JSON object of the file."""
        yield from enumerate((item for _, (name, item) in self.object_items() if name == key), start=1)

    def keyed_records(self) -> Iterator[tuple[int, Any]]:
        """The records of a JSON object that maps ids to them, each with its ``id``; or those of an array."""
        for number, (keys, record) in self.json_members(1):
            yield number, {**record, "id": keys[0]} if keys and isinstance(record, dict) else record

    def _of_json(self, read: Callable[[JsonText], Iterator[_T]]) -> Iterator[tuple[int, _T]]:
        number = 0
        try:
            with self.open_json() as text:
                for number, value in enumerate(read(JsonText(text)), start=1):
                    yield number, value
        except (json.JSONDecodeError, RecursionError, TooLargeError) as error:
            problem = str(error) if isinstance(error, TooLargeError) else f"malformed JSON ({error}); repair the file"
            raise ConversationError(self.place(number + 1), problem) from None


def _named(header: list[str], row: list[str]) -> dict[str, str] | BadRow:
    """The cells of a row by their columns."""
    filled = len(row)
    while filled > len(header) and not row[filled - 1].strip():
        filled -= 1
    if filled <= len(header) and not any(header[filled:]):  # but for columns without a name
        return dict(zip_longest(header, row[:filled], fillvalue=""))
    advice = "check quotes" if filled > len(header) else "check quotes, or give empty cells at its end their place"
    return BadRow(f"found {filled} cells; expected {len(header)} as in the header, {advice}")


def _more(lines: Iterator[str], length: int) -> Iterator[str]:
    """Return the next lines, as many as a header may stand in or go on in, after one of this length."""
    for line in islice(lines, _HEADER_LINES if length < _LONGEST_HEAD else 0):
        yield line
        length += len(line)
        if length >= _LONGEST_HEAD:
            return


def _delimiter(lines: list[str]) -> str:
    """The one of comma, tab and semicolon that a header has most of, which may go on in the next lines; or a bar."""
    header, *more = lines
    for line in more:
        if header.count('"') % 2 == 0:
            break
        header += line
    bare = _QUOTED.sub("", header)
    usual = max("\t,;", key=bare.count)
    return "|" if usual not in bare and "|" in bare else usual


def _titles_above(lines: list[str]) -> int:
    """Return how many lines of titles stand above the header of a table of three columns or more.

    They fill at most half as many cells as it, and the rows below all have as many cells as it. A comma of a text is no
    delimiter: a blank follows it.
    """
    for start in range(min(len(lines), _HEADER_SOUGHT)):
        if not lines[start].strip('\t,;|" \r\n'):
            continue
        delimiter = _delimiter(lines[start:])
        try:
            titles, (header, *rows) = (
                [row for row in csv.reader(part, delimiter=delimiter) if any(map(str.strip, row))]
                for part in (lines[:start], lines[start:])
            )
        except (csv.Error, ValueError):  # of cells that are too long, and where nothing is left
            return 0
        filled = sum(map(bool, header))
        if start == 0 and filled > _FEW_COLUMNS:
            return 0
        alike = [len(row) == len(header) for row in rows[:-1] or rows]  # the last may go on below
        if filled > _FEW_COLUMNS and alike and all(alike) and not any(cell.startswith(" ") for cell in header):
            few = all(2 * sum(map(bool, row)) <= filled for row in titles)
            return start if few else 0
    return 0


def _unique_names(header: list[str]) -> list[str]:
    """The columns' names; of columns with one name, the second is called ``name (2)``."""
    seen: Counter[str] = Counter()
    names = []
    for name in header:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names
