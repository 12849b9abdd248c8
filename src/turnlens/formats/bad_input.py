"""Input that cannot be used: bad rows, damaged files, and what is too large to be taken into memory at once.

A line, a table cell, or a value of JSON may have 64 MB, or what the environment variable ``TURNLENS_MAX_LINE_MB`` says.

All that a reading takes together draws from one `Budget`: unpacked bytes, rows, cells, labels and files. A unit is a
byte of text, or some 20 nanoseconds of processor time. A reading has 64 for each byte on the disk and eight times the
limit of a line besides, so that whatever a file of 10 MB expands to, there is an answer or an error within 20 seconds.
The text of a plain file costs nothing: it is as large as it says.
"""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, AnyStr, BinaryIO, cast

_VARIABLE = "TURNLENS_MAX_LINE_MB"
_DEFAULT_MB = 64
_BYTES_OF_A_VALUE = 64  # an empty object takes as much
_LIMIT_OF_VALUES = 8  # times that of a line
# What a format's functions raise where the layout differs from what they rely on.
OTHER_LAYOUT = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)


class BadRow(ValueError):
    """A row that cannot be used. Whatever reads the file adds the place.

    Args:
        problem: A description of what was found and what was expected.
        number: The line or row number, if it is not the one the record started at.
    """

    def __init__(self, problem: str, number: int | None = None) -> None:
        super().__init__(problem)
        self.number = number


class TooLargeError(ValueError):
    """A line, cell or value above the limit, or all that is read. Whatever reads the file adds the place.

    Args:
        subject: The part of the file that is too large.
        problem: What is wrong with it, if not its size.
    """

    def __init__(self, subject: str, problem: str = "") -> None:
        limit = line_limit() >> 20
        problem = problem or f"is larger than {limit} MB"
        super().__init__(f"{subject} {problem}; if it is meant to be, set {_VARIABLE} to a larger number than {limit}")


def line_limit() -> int:
    """The limit in bytes (of decoded text: characters).

    Raises:
        ValueError: The environment variable is not a whole number above zero.
    """
    value = os.environ.get(_VARIABLE, str(_DEFAULT_MB))
    if not value.isdecimal() or not int(value):
        raise ValueError(f"{_VARIABLE} is {value!r}; expected a whole number of megabytes above zero")
    return int(value) << 20


def limited_lines(readline: Callable[[int], AnyStr]) -> Iterator[AnyStr]:
    """The lines that ``readline`` gives until it gives an empty one.

    Raises:
        TooLargeError: A line is above the limit; nothing after its first part has been read.
    """
    limit = line_limit()
    while line := readline(limit + 1):
        check_size(line, limit, "the line")
        yield line


def check_size(text: AnyStr, limit: int, subject: str) -> None:
    """Refuse a text that is too large, or holds so many values of JSON that these would be.

    Raises:
        TooLargeError: It is above the limit, or its values would take more than eight times that.
    """
    if len(text) > limit:
        raise TooLargeError(subject)
    most = _LIMIT_OF_VALUES * limit // _BYTES_OF_A_VALUE
    if len(text) > most:
        openings = ("{", "[", ",") if isinstance(text, str) else (b"{", b"[", b",")
        if sum(map(text.count, openings)) > most:
            raise TooLargeError(subject, f"holds more than {most:,} values")


DAMAGE: dict[type[Exception], str] = {
    EOFError: "the gzip file is cut off; download or write it again",
    zlib.error: "the gzip file is damaged; download or write it again",
    gzip.BadGzipFile: "not a gzip file; remove .gz from its name or compress it",
    UnicodeDecodeError: "not UTF-8 text; save the file as UTF-8, or name its encoding",
    UnicodeError: "not text in the encoding that is named; leave that out, or name another",
}


def warn(place: str, problem: str) -> None:
    """Log what is read in another way than a user may expect."""
    logging.getLogger("turnlens").warning("%s: %s", place, problem)


def missing(error: Exception) -> str:
    """Return the key that a record of another layout lacks, for messages, or an empty text."""
    return f" (missing: {error})" if isinstance(error, KeyError) else ""


def damage_of(error: Exception) -> str:
    """Return the message for users of one of these errors; that of any other is its own."""
    return next((problem for kind, problem in DAMAGE.items() if isinstance(error, kind)), str(error))


def parse_value(raw: Any) -> Any:
    """A record of `Source.records`, decoded if it is the bytes of a line.

    Raises:
        BadRow: It is malformed.
    """
    if isinstance(raw, BadRow):
        raise raw
    if not isinstance(raw, bytes):
        return raw
    text = parse_text(raw)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at")  # as in "Unterminated string starting at"
        problem = (
            f"malformed JSON ({reason} at column {error.colno}); expected one JSON object on each line "
            "(where one takes several lines, name the file .json)"
        )
        raise BadRow(problem) from None
    except RecursionError:
        raise BadRow("malformed JSON (nested too deeply); expected one JSON object on each line") from None
    except ValueError:
        raise BadRow("a number of thousands of digits; write it as text") from None


def value_or_problem(raw: Any) -> Any:
    """The value that `parse_value` gives, or the `BadRow` that it raises."""
    try:
        return parse_value(raw)
    except BadRow as problem:
        return problem


def parse_record(raw: Any) -> dict[str, Any]:
    """A record of `Source.records` as a dict.

    Raises:
        BadRow: It is malformed, or not a JSON object.
    """
    value = parse_value(raw)
    if not isinstance(value, dict):
        raise BadRow(f"expected a JSON object, found {json.dumps(value)[:60]}")
    return value


def parse_text(raw: bytes) -> str:
    """A line of `Source.lines` as text, without the line break; bytes that are not UTF-8 are escaped."""
    return raw.decode("utf-8", "surrogateescape").rstrip("\r\n")


CHUNK_BYTES = 1 << 16


def in_pieces(read: Callable[[], bytes]) -> BinaryIO:
    """A file whose bytes a function gives piece by piece, an empty one at its end."""
    return cast(BinaryIO, io.BufferedReader(_Pieces(read), CHUNK_BYTES))


class _Pieces(io.RawIOBase):
    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read, self._ready = read, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._ready = self._ready or self._read()
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


# What things take, in units
ELEMENT = 200  # of XML
CELL = 12
ROW = 100  # of a workbook
COLUMN = 4000  # a name, whose meaning is sought
RECORD = 2400  # of a table, which waits in a temporary database
LABEL = 25_000  # a name, which becomes a column
FILE = 40_000  # of an archive
PART = 8000  # of an e-mail
LEVEL = 9  # of parts in parts, for each line in it
_OF_A_BYTE = 64  # units
_LIMITS = 8  # of a line, whatever the size
_VALUE = 8  # of text, each begun by one of these:
_SEPARATORS = b",;\t\n[{"


class Budget:
    """The units that are left.

    Args:
        size: The bytes of everything that is read, as it lies on the disk; None for what is in memory already.
        units: The units, whatever the size; without both, there is no limit.

    Examples:
        >>> Budget(1000).spend(50_000, "the rows")
    """

    def __init__(self, size: int | None, units: int | None = None) -> None:
        self._left = units if size is None else _LIMITS * line_limit() + _OF_A_BYTE * size
        self._exceeded_by = ""

    def spend(self, units: int, subject: str) -> None:
        """Take units away.

        Raises:
            TooLargeError: None are left; names the subject.
        """
        if self._left is None:
            return
        self._left -= units
        if self._left < 0:
            self._exceeded_by = self._exceeded_by or subject  # whoever hides an error meets it again
            raise TooLargeError(self._exceeded_by, "takes far more than a file of this size should")

    def unpacked(self, file: IO[bytes]) -> BinaryIO:
        """The file, whose bytes are drawn as they are read."""

        def read() -> bytes:
            piece = file.read(CHUNK_BYTES)
            values = len(piece) - len(piece.translate(None, _SEPARATORS))
            self.spend(len(piece) + _VALUE * values, "what is packed in it")
            return piece

        return in_pieces(read)
