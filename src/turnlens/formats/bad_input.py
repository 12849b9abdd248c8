"""Input that cannot be used: bad rows, damaged files, and what is too large to be taken into memory at once.

A line, a table cell, or a value of JSON may have 64 MB, or what the environment variable ``TURNLENS_MAX_LINE_MB`` says.
That is also the limit of an unpacked workbook; the text of its cells may be 16 times as large, and what is read of a
zip file 64 times.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, AnyStr

_VARIABLE = "TURNLENS_MAX_LINE_MB"
_DEFAULT_MB = 64
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
    """A line, cell or value above the limit. Whatever reads the file adds the place.

    Args:
        subject: The part of the file that is too large.
        times: How many times the limit it may be.
    """

    def __init__(self, subject: str, times: int = 1) -> None:
        megabytes = line_limit() * times >> 20
        super().__init__(
            f"{subject} is larger than {megabytes} MB; if it is meant to be, set {_VARIABLE} to a larger number than "
            f"{line_limit() >> 20}"
        )


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
        if len(line) > limit:
            raise TooLargeError("the line")
        yield line


DAMAGE: dict[type[Exception], str] = {
    EOFError: "the gzip file is cut off; download or write it again",
    zlib.error: "the gzip file is damaged; download or write it again",
    gzip.BadGzipFile: "not a gzip file; remove .gz from its name or compress it",
    UnicodeDecodeError: "not UTF-8 text; save the file as UTF-8, or name its encoding",
}


def damage_of(error: Exception) -> str:
    """Return the message for users of one of these errors."""
    return next(problem for kind, problem in DAMAGE.items() if isinstance(error, kind))


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
