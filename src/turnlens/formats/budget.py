"""The budget of a reading: bytes that are unpacked, rows, cells, labels and files all draw from one sum.

A unit is a byte of text, or some 20 nanoseconds of processor time. A reading has 64 for each byte on the disk and eight
times the limit of a line besides, so that whatever a file of 10 MB expands to, there is an answer or an error within 20
seconds. The text of a plain file costs nothing: it is as large as it says.
"""

from __future__ import annotations

from typing import IO, BinaryIO

from turnlens.formats.bad_input import TooLargeError, line_limit
from turnlens.formats.text_encoding import CHUNK_BYTES, in_pieces

_OF_A_BYTE = 64
_LIMITS = 8
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
