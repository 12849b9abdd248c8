"""Exports in ``.zip`` files: readable files are unpacked into a folder that is removed when the process ends."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath

from turnlens.errors import ConversationError
from turnlens.formats.limits import TooLargeError, line_limit

_LINES_UNPACKED = 64  # times the limit of a line: what an archive may take unpacked
_MOST_FILES = 100_000
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError)
_archives: dict[str, str] = {}  # by the folder they were unpacked into


def is_archive(path: Path) -> bool:
    """Whether a path names an archive that is unpacked."""
    return path.suffix.lower() == ".zip"


def unpack(archive: Path, endings: tuple[str, ...]) -> Path:
    """A folder with the files of an archive that have one of these endings, perhaps with ``.gz``; once for each state.

    Raises:
        ConversationError: The archive is damaged, has a password, is larger than it may be, or leads out of a folder.
    """
    state = archive.stat()
    return _unpacked(archive.absolute(), endings, state.st_size, state.st_mtime_ns)


def shown(path: str) -> str:
    """A path as users know it: for the folder of an unpacked archive, the path of the archive."""
    for folder, archive in _archives.items():
        path = path.replace(folder, archive)
    return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="turnlens-")  # of this user only, and removed at exit


@lru_cache
def _unpacked(archive: Path, endings: tuple[str, ...], size: int, changed: int) -> Path:
    # in a folder of the archive's name, which is part of the conversations' ids where files have the same names
    folder = Path(tempfile.mkdtemp(dir=Path(_folder().name).resolve())) / archive.name
    try:
        with zipfile.ZipFile(archive) as packed:
            for part, inside in _readable(packed, archive, endings):
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(part) as file, target.open("xb") as copy:
                    shutil.copyfileobj(file, copy)
                os.utime(target, ns=(changed, changed))  # so that what was read of it is found again
    except ConversationError:
        shutil.rmtree(folder.parent)
        raise
    except _DAMAGE as error:
        shutil.rmtree(folder.parent)
        problem = f"not a zip file that can be read ({error}); download it again, or unpack it and give the folder"
        raise ConversationError(str(archive), problem) from None
    folder.mkdir(exist_ok=True)
    _archives[str(folder)] = str(archive)
    return folder


def _readable(
    packed: zipfile.ZipFile, archive: Path, endings: tuple[str, ...]
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files to unpack and their places in the folder; what is larger than announced is not read any further."""
    parts = [part for part in packed.infolist() if part.filename.lower().removesuffix(".gz").endswith(endings)]
    if len(parts) > _MOST_FILES:
        raise ConversationError(str(archive), f"holds {len(parts):,} files; expected at most {_MOST_FILES:,}")
    if sum(part.file_size for part in parts) > _LINES_UNPACKED * line_limit():
        raise ConversationError(str(archive), str(TooLargeError("what is packed in it", _LINES_UNPACKED)))
    for part in parts:
        inside = PurePosixPath(part.filename.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0]:
            problem = f"holds a file named {part.filename[:80]!r}, which leads out of a folder; unpack it with care"
            raise ConversationError(str(archive), problem)
        if part.flag_bits & 1:
            raise ConversationError(str(archive), "has a password; unpack it and give the folder")
        if not stat.S_ISLNK(part.external_attr >> 16):
            yield part, inside
