"""How much of a file is taken into memory at once: a line, a table cell, or a value of JSON.

The limit is 64 MB, or what the environment variable ``TURNLENS_MAX_LINE_MB`` says. It is also that of an unpacked
workbook; the text of its cells may be 16 times as large, and what is read of a zip file 64 times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import AnyStr

_VARIABLE = "TURNLENS_MAX_LINE_MB"
_DEFAULT_MB = 64


class TooLargeError(ValueError):
    """A line, cell or value above the limit. Whatever reads the file adds the place.

    Args:
        what: What is too large.
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
