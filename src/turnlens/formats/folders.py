"""Folders that are read as one source (channels of a Slack export), and zip files, unpacked into a temporary folder."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import FILE, Budget, TooLargeError

_DAILY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
# Beside the folders of the channels; https://slack.com/help/articles/220556107
_MEMBERS = ("users.json", "org_users.json")
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_OTHERS = ("integration_logs.json", "canvases.json", "content_flags.json", "lists.json", "file_conversations.json")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError)
_archives: dict[str, str] = {}  # by the folder they were unpacked into


def with_channels(files: Iterable[Path]) -> list[Path]:
    """The files, with the folder of a channel in place of its daily files, and without the export's other files."""
    is_export = cache(_is_slack_export)
    merged = []
    for file in files:
        if _DAILY_FILE.fullmatch(file.name) and is_export(file.parent.parent):
            merged.append(file.parent)
        elif not (file.name in (*_MEMBERS, *_CHANNELS, *_OTHERS) and is_export(file.parent)):
            merged.append(file)
    return list(dict.fromkeys(merged))


def _is_slack_export(folder: Path) -> bool:
    return any((folder / name).exists() for name in _MEMBERS) and any((folder / name).exists() for name in _CHANNELS)


def files_of(path: Path) -> list[Path]:
    """The file itself, or the daily files of a channel in order."""
    return sorted(file for file in path.iterdir() if _DAILY_FILE.fullmatch(file.name)) if path.is_dir() else [path]


def members_files(path: Path) -> list[Path]:
    """The files with the members' names, for a channel or one of its daily files."""
    export = path.parent if path.is_dir() else path.parent.parent
    return [export / name for name in _MEMBERS if (export / name).is_file()]


def size_of(path: Path) -> int:
    """The bytes of the file, or of a channel."""
    return sum(file.stat().st_size for file in files_of(path))


def states_of(path: Path) -> list[tuple[str, int, int]]:
    """The states of the file, or of all files that are read for a channel, which show whether any has changed."""
    files = [*files_of(path), *(members_files(path) if path.is_dir() else ())]
    return [(readable_path(str(file.resolve())), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def is_archive(path: Path) -> bool:
    """Return whether a path names an archive that is unpacked."""
    return path.suffix.lower() == ".zip"


def unpack(archive: Path, endings: tuple[str, ...]) -> Path:
    """A folder with the files of an archive that have one of these endings, perhaps with ``.gz``; once for each state.

    Raises:
        ConversationError: The archive is damaged, has a password, is larger than it may be, or leads out of a folder.
    """
    state = archive.stat()
    return _unpacked(archive.absolute(), endings, state.st_size, state.st_mtime_ns)


def readable_path(path: str) -> str:
    """A path as users know it: for the folder of an unpacked archive, the path of the archive."""
    for folder, archive in _archives.items():
        path = path.replace(folder, archive)
    return path


def given_size(paths: Iterable[Path]) -> int:
    """The bytes on the disk of files as users gave them: of an unpacked archive, its own."""
    folders = [(f"{folder}{os.sep}", archive) for folder, archive in _archives.items()]
    given = {next((archive for folder, archive in folders if str(path).startswith(folder)), path) for path in paths}
    return sum(size_of(Path(path)) for path in given)


@cache
def temporary_folder(use: str) -> tempfile.TemporaryDirectory[str]:
    """The folder for one use, of this user only, which is removed at exit."""
    return tempfile.TemporaryDirectory(prefix="turnlens-")


@lru_cache
def _unpacked(archive: Path, endings: tuple[str, ...], size: int, changed: int) -> Path:
    # in a folder of the archive's name, which is part of the conversations' ids where files have the same names
    budget = Budget(size)
    folder = Path(tempfile.mkdtemp(dir=Path(temporary_folder("archives").name).resolve())) / archive.name
    try:
        with zipfile.ZipFile(archive) as packed:
            for part, inside in _readable(packed, archive, endings):
                budget.spend(FILE, "the number of files in it")
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(part) as file, budget.unpacked(file) as drawn, target.open("xb") as copy:
                    shutil.copyfileobj(drawn, copy)
                os.utime(target, ns=(changed, changed))  # so that what was read of it is found again
    except _DAMAGE as error:
        shutil.rmtree(folder.parent)
        if isinstance(error, ConversationError):
            raise
        advice = "download it again, or unpack it and give the folder"
        problem = f"not a zip file that can be read ({error}); {advice}"
        problem = str(error) if isinstance(error, TooLargeError) else problem
        raise ConversationError(str(archive), problem) from None
    folder.mkdir(exist_ok=True)
    _archives[str(folder)] = str(archive)
    return folder


def _readable(
    packed: zipfile.ZipFile, archive: Path, endings: tuple[str, ...]
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files to unpack and their places in the folder; what is larger than announced is not read any further."""
    for part in packed.infolist():
        if not part.filename.lower().removesuffix(".gz").endswith(endings):
            continue
        inside = PurePosixPath(part.filename.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or inside.parts[0][1:2] == ":":  # a drive
            problem = f"holds a file named {part.filename[:80]!r}, which leads out of a folder; unpack it with care"
            raise ConversationError(str(archive), problem)
        if part.flag_bits & 1:
            raise ConversationError(str(archive), "has a password; unpack it and give the folder")
        if not stat.S_ISLNK(part.external_attr >> 16):
            yield part, inside
