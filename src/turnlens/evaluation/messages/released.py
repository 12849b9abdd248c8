"""Lines of tab-separated files, such as ``select.txt``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from turnlens.errors import ConversationError


def tab_separated_lines(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield ``path:line`` and the fields of each line, checked for encoding and number of columns.

    Lines end at a newline only (texts may hold other Unicode line separators); blank lines at the end are ignored.

    Raises:
        ConversationError: The file is empty, not UTF-8, or a line has too few or too many columns.
    """
    lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\n")
    if lines == [b""]:
        raise ConversationError(str(path), "the file is empty")
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        try:
            fields = line.decode("utf-8").rstrip("\r").split("\t")
        except UnicodeDecodeError as error:
            raise ConversationError(where, f"not UTF-8 ({error.reason} at byte {error.start} of the line)") from error
        if len(fields) != len(columns):
            expected = f"{len(columns)} tab-separated columns ({', '.join(columns)})"
            raise ConversationError(where, f"expected {expected}, got {len(fields)}")
        yield where, fields
