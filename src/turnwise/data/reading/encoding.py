"""Text in UTF-16, such as the "Unicode text" that spreadsheets save, as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK_BYTES = 1 << 16


def as_utf8(file: BinaryIO) -> BinaryIO:
    """The file itself, or its text as UTF-8 if it begins with the byte order mark of UTF-16."""
    begin = cast(io.BufferedReader, file).peek(2)[:2]
    return cast(BinaryIO, io.BufferedReader(_FromUtf16(file))) if begin in UTF16_MARKS else file


class _FromUtf16(io.RawIOBase):
    """Bytes of UTF-16 with a byte order mark, as bytes of UTF-8 without one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            chunk = self._file.read(_CHUNK_BYTES)
            self._ready = self._decoder.decode(chunk, final=not chunk).encode()
            if not chunk:
                break
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
