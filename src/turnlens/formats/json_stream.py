"""JSON read from a text stream one value at a time, so that a file of many values is never held in memory whole."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any, TextIO, cast

from turnlens.formats.bad_input import check_size, line_limit

_CHUNK_CHARACTERS = 1 << 20
_BETWEEN_VALUES = re.compile(r"[\s,]*")
# A value cut off by the chunk is reported as malformed at most this far before its end: a word, a number, an escape.
_LONGEST_WORD = 16


class JsonText:
    """A position in JSON text.

    All methods raise ``json.JSONDecodeError`` where the text is malformed or cut off; commas between the items of the
    outermost arrays and objects are not required. They raise `TooLargeError` where one value is above the limit.

    Args:
        text: The stream.
        chunk: How many characters are read at once, at least.
    """

    def __init__(self, text: TextIO, chunk: int = _CHUNK_CHARACTERS) -> None:
        self._limit = line_limit()
        self._text = text
        self._chunk = chunk
        self._buffer = ""
        self._start = 0
        self._decode = json.JSONDecoder().raw_decode

    @classmethod
    def first_chunk(cls, text: TextIO) -> JsonText:
        """Only the beginning of the text."""
        return cls(io.StringIO(text.read(_CHUNK_CHARACTERS)))

    def values(self) -> Iterator[Any]:
        """The items of an array, or one or more values in a row."""
        if self._peek() == "[":
            yield from self._items()
            return
        while self._peek():
            yield self.value()

    def members(self, depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
        """``(keys, value)`` for every value that lies ``depth`` objects deep in the one value of the text.

        An array on the way down gives its items, all with the array's own keys.
        """
        if self._peek():
            yield from self._members(depth, ())
        if self._peek():
            raise json.JSONDecodeError("Extra data", self._buffer, self._start)

    def _members(self, depth: int, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        opening = self._peek()
        if depth and opening == "{":
            for key in self.object_keys():
                yield from self._members(depth - 1, (*keys, key))
        elif depth and opening == "[":
            for item in self._items():
                yield keys, item
        else:
            yield keys, self.value()

    def object_keys(self) -> Iterator[str]:
        """The keys of the object that comes next. Take the value of each before asking for the next key."""
        self._take("{")
        while self._peek() != "}":
            key = self.value()
            if not isinstance(key, str):
                raise json.JSONDecodeError("Expecting a text as key", self._buffer, self._start)
            self._take(":")
            yield key
        self._take("}")

    def object_items(self) -> Iterator[tuple[str, Any]]:
        """``(key, item)`` for every item of the arrays in the object that comes next, and for its other values."""
        for key in self.object_keys():
            for item in self._items() if self._peek() == "[" else [self.value()]:
                yield key, item

    def first_keys(self) -> Iterator[str]:
        """The keys of the object that comes next, or of the first one in the array that does, as soon as they are read.

        The value is taken as a whole.
        """
        opening = self._peek()
        if opening == "{":
            for key in self.object_keys():
                yield key
                self.value()
        elif opening == "[":
            self._take("[")
            if self._peek() == "{":
                yield from self.first_keys()
            while self._peek() != "]":
                self.value()
            self._take("]")
        else:
            self.value()

    def value(self) -> Any:
        """The value that comes next."""
        self._peek()
        while True:
            try:
                value, end = self._decode(self._buffer, self._start)
            except json.JSONDecodeError as error:
                if not self._may_be_cut_off(error) or not self._read_more():
                    raise
                continue
            except ValueError:  # Python reads no numbers of thousands of digits
                raise json.JSONDecodeError("Number of too many digits", self._buffer, self._start) from None
            # a number that ends with the chunk, perhaps before an "e-", may go on in the next
            if end < len(self._buffer) - 2 or isinstance(value, str | list | dict) or not self._read_more():
                self._start = end
                return value

    def _may_be_cut_off(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _LONGEST_WORD

    def _items(self) -> Iterator[Any]:
        self._take("[")
        while self._peek() != "]":
            yield self.value()
        self._take("]")

    def _peek(self) -> str:
        """The next character that is neither whitespace nor a comma; empty at the end of the text."""
        while True:
            self._start = cast(re.Match[str], _BETWEEN_VALUES.match(self._buffer, self._start)).end()
            if self._start < len(self._buffer):
                return self._buffer[self._start]
            if not self._read_more():
                return ""

    def _take(self, character: str) -> None:
        if self._peek() != character:
            raise json.JSONDecodeError(f"Expecting {character!r}", self._buffer, self._start)
        self._start += 1

    def _read_more(self) -> bool:
        unread = self._buffer[self._start :]
        check_size(unread, self._limit, "a value of the JSON")
        more = self._text.read(max(self._chunk, len(self._buffer)))
        if more:
            self._buffer, self._start = unread + more, 0
        return bool(more)
