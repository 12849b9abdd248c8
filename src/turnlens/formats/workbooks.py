"""Excel workbooks (``.xlsx``): the first sheet that holds something, its cells as the text that CSV would have.

Cells that are merged downwards all hold what the first of them shows, and titles above the header are passed over.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime, time
from errno import EINVAL
from itertools import chain, islice
from typing import IO, Any, BinaryIO, NamedTuple
from xml.parsers import expat

from turnlens._compat import worksheet_part
from turnlens.errors import ConversationError
from turnlens.formats.bad_input import CELL, ELEMENT, FILE, ROW, Budget, TooLargeError, warn

_MOST_ELEMENTS = 200_000  # of XML in a row or string, for which the library takes a kilobyte each; 16,384 columns fit
_UNITS_OF_A_BYTE = 4  # which the library keeps more than once
_LONGEST_TAG = 1 << 20  # bytes; the parser reads an unfinished one again with each piece
_NO_XML = re.compile("[\0-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED = re.compile("_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")  # but for halves of pairs
# What the library raises where a workbook is damaged; of XML, SyntaxError.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, TypeError, AttributeError, SyntaxError),
    *(NotImplementedError, ArithmeticError, RuntimeError, expat.ExpatError),
)


class Merged(NamedTuple):
    """Merged cells: those that go down, as ``first row -> (column, last row)``, and rows with some that go across."""

    down: dict[int, list[tuple[int, int]]]
    across: set[int]


def excel_cells(file: BinaryIO, place: str, budget: Budget) -> Iterator[tuple[int, list[str]]]:
    """The rows of the sheet with their numbers, the header first; the others are as long as it is.

    Raises:
        ConversationError: It is no workbook, or larger than it may be.
    """
    from openpyxl import load_workbook

    try:
        merged = _merged_cells(file, budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of formatting that the library does not know
            workbook = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        visible = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        sheets = [(s.title, _rows(s, merged.get(worksheet_part(s), Merged({}, set())), budget)) for s in visible]
        filled = [(title, rows) for title, rows in sheets if rows is not None]
        if len(filled) > 1:
            further = ", ".join(repr(title) for title, _ in filled[1:])
            warn(place, f"read the sheet {filled[0][0]!r}; not read: {further}, save them as separate files")
        for _, rows in filled[:1]:
            yield from _as_text(rows, budget)
    except (TooLargeError, ConversationError):
        raise
    except (*_DAMAGE, OSError) as error:
        # Those of the disk have other numbers: a damaged table of contents asks for places before the file's start.
        if isinstance(error, OSError) and error.errno not in (None, EINVAL):
            raise
        problem = "not a readable Excel workbook; save it again as .xlsx, without a password, or as CSV"
        raise ConversationError(place, problem) from None


def _merged_cells(file: BinaryIO, budget: Budget) -> dict[str, Merged]:
    """The merged cells of each part; `TooLargeError` or ``ValueError`` for what is too large."""
    merged: dict[str, Merged] = {}
    with zipfile.ZipFile(file) as parts:
        budget.spend(sum(part.file_size for part in parts.infolist()) * _UNITS_OF_A_BYTE, "the unpacked workbook")
        for part in parts.infolist():
            if part.filename.endswith((".xml", ".rels")):
                with parts.open(part) as xml:
                    merged[part.filename] = _merged_in(xml, budget)
    file.seek(0)
    return merged


def _merged_in(xml: IO[bytes], budget: Budget) -> Merged:
    """The merged cells of a part; ``ValueError`` if its XML takes the library far more than its size tells."""
    from openpyxl.utils import range_boundaries

    elements = cost = 0
    merged = Merged({}, set())

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements, cost
        name = name.rpartition(":")[2]
        cost += FILE if name == "sheet" else ELEMENT  # several may show one part
        elements = 1 if name in ("row", "si") else elements + 1
        if elements > _MOST_ELEMENTS:
            raise ValueError("no spreadsheet writes such XML")
        if name == "mergeCell":
            column, first, last_column, last = range_boundaries(attributes["ref"])
            if last_column > column:
                merged.across.add(first)
            elif last > first:
                merged.down.setdefault(first, []).append((column - 1, last))

    def refuse(*_: object) -> None:
        raise ValueError("no spreadsheet defines entities")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    read = 0
    while piece := xml.read(1 << 16):
        cost = 0
        parser.Parse(piece)
        budget.spend(cost, "the unpacked workbook")
        read += len(piece)
        if read - parser.CurrentByteIndex > _LONGEST_TAG:
            raise ValueError("no spreadsheet writes such a tag")
    return merged


def _rows(sheet: Any, merged: Merged, budget: Budget) -> Iterator[tuple[int, tuple[Any, ...]]] | None:
    """The rows that are not empty, with their numbers; None if all are."""
    sheet.reset_dimensions()  # which some programs write wrong
    all_rows = _drawn(_filled_down(enumerate(sheet.iter_rows(values_only=True), start=1), merged), budget)
    rows = _from_header(((number, row) for number, row in all_rows if any(map(_text, row))), merged)
    first = next(rows, None)
    return chain([first], rows) if first is not None else None


def _drawn(rows: Iterator[tuple[int, tuple[Any, ...]]], budget: Budget) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows; also those that no element stands for, up to the one that a file names."""
    for number, row in rows:
        budget.spend(ROW + CELL * len(row), "the rows and columns of the workbook")
        yield number, row


def _filled_down(rows: Iterator[tuple[int, tuple[Any, ...]]], merged: Merged) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows with the value of cells that are merged downwards in each of them."""
    going_on: dict[int, tuple[int, Any]] = {}  # column -> last row, value
    for number, row in rows:
        going_on = {column: (last, value) for column, (last, value) in going_on.items() if number <= last}
        if going_on:
            cells = [*row, *[None] * (max(going_on) + 1 - len(row))]
            for column, (_, value) in going_on.items():
                cells[column] = value
            row = tuple(cells)
        for column, last in merged.down.get(number, ()):
            going_on[column] = (last, row[column] if column < len(row) else None)
        yield number, row


def _from_header(rows: Iterator[tuple[int, tuple[Any, ...]]], merged: Merged) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows without titles above the header: those merged across, or with at most half as many cells as others."""
    first = list(islice(rows, 20))
    filled = [sum(1 for value in row if _text(value)) for _, row in first]
    least = max(filled, default=0) / 2
    headers = (n for n, row in enumerate(first) if filled[n] > least and row[0] not in merged.across)
    yield from first[next(headers, 0) :]
    yield from rows


def _as_text(rows: Iterator[tuple[int, tuple[Any, ...]]], budget: Budget) -> Iterator[tuple[int, list[str]]]:
    width = None
    for number, row in rows:
        cells = [_text(value) for value in row]
        budget.spend(sum(map(len, cells)), "the text of the workbook")  # one string may return again and again
        if width is None:
            width = max(place for place, cell in enumerate(cells, start=1) if cell)
        yield number, [*cells[:width], *[""] * (width - len(cells))]


def escaped_cell(text: str) -> str:
    r"""Return a text as workbooks hold it, whose XML cannot hold most control characters.

    >>> escaped_cell("a\rb"), escaped_cell("_x000D_")
    ('a_x000D_b', '_x005F_x000D_')
    """
    return _NO_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
