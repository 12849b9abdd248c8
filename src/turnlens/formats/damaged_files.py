"""What reading a damaged file raises, and what the user is told."""

from __future__ import annotations

import gzip
import zlib

DAMAGE: dict[type[Exception], str] = {
    EOFError: "the gzip file is cut off; download or write it again",
    zlib.error: "the gzip file is damaged; download or write it again",
    gzip.BadGzipFile: "not a gzip file; remove .gz from its name or compress it",
    UnicodeDecodeError: "not UTF-8 text; save the file as UTF-8, or name its encoding",
}


def damage_of(error: Exception) -> str:
    """What the user is told of one of these errors."""
    return next(problem for kind, problem in DAMAGE.items() if isinstance(error, kind))
