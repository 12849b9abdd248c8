"""Finding the files to read from the paths that users give."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnlens._utils.files import is_standard
from turnlens.errors import ConversationError
from turnlens.formats.archives import is_archive, unpack
from turnlens.formats.folders import with_channels
from turnlens.formats.sidecar_files import without_companions, without_models
from turnlens.formats.source_file import ENDINGS, Source
from turnlens.formats.standard_input import standard_input

_LONGEST_NAME = 255  # bytes; the error of the system would not say that a text was taken for a name
_SHOWN = 60
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def is_paths(data: object) -> bool:
    """Whether these are names of files rather than conversations."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(path, str | os.PathLike) for path in data)
    return isinstance(data, str | os.PathLike)


def find_files(paths: Paths, format: str = "auto") -> list[Path]:
    """The files that ``paths`` (files, folders, globs, ``-``) stand for, each once.

    In folders and globs, files that are known to accompany conversations and hold none are passed over, and the folder
    of a Slack channel stands for its daily files. A zip file stands for what can be read in it.

    Args:
        paths: What the user gave.
        format: Their format; where it is known, globs stand for files whatever their names end in.

    Raises:
        ConversationError: A path stands for no file.
    """
    files: list[Path] = []
    for path in _listed(paths):
        files_of_path = _files_of(path, format)
        if not files_of_path:
            raise no_conversations(str(path), path.is_dir(), could_be_text=is_list_of_texts(paths))
        for file in files_of_path:
            files += _inside(file, format) if is_archive(file) else [file]
    if not files:
        raise ConversationError("paths", "no path was given; expected files, folders or globs")
    return list(dict.fromkeys(files))


def is_list_of_texts(data: object) -> bool:
    """Whether this is a list of texts, which are read as names of files."""
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(path, str) for path in data)


def is_missing(path: str) -> bool:
    """Whether a text is neither the name of a file or folder nor a glob that matches one."""
    name = os.path.expanduser(path)  # noqa: PTH111  # raises nothing
    patterns = (name, glob.escape(name))
    return not is_standard(path) and not any(glob.glob(pattern, recursive=True) for pattern in patterns)  # noqa: PTH207


def no_conversations(path: str, is_folder: bool, could_be_text: bool = False) -> ConversationError:
    """The error for a path that stands for no file; in a list, the user may have meant it as a text."""
    if is_folder:
        problem = f"the folder holds no conversations; expected {', '.join(ENDINGS)} files in it"
    elif glob.has_magic(path):
        problem = "no file matches; in a shell, quotes around it keep the shell from changing it"
    else:
        problem = "there is no such file or folder"
    if could_be_text and not is_folder:
        problem += (
            "; a list of texts is read as names of files: for texts use encoder.encode_messages([…]), and give "
            "conversations as lists of messages, [[{'role': …, 'content': …}, …], …]"
        )
    return ConversationError(path, problem)


def check_apart(output: str | os.PathLike[str], paths: Any) -> None:
    """Refuse an output that is among the files to read, because the next run would read it as conversations.

    Args:
        output: The file or folder to write.
        paths: What is read; anything that is not a path is ignored.

    Raises:
        ValueError: It is one of the files, or lies in one of the folders, that ``paths`` stand for.
    """
    target = Path(output).expanduser().resolve()
    for path in _listed(paths) if is_paths(paths) and not is_standard(output) else []:
        if is_standard(path):
            continue
        if path.is_dir() and target.is_relative_to(path.resolve()):
            raise ValueError(f"{output} lies in {path}, which is read: choose a place outside that folder")
        if any(target == file.resolve() for file in _files_of(path, format="")):
            raise ValueError(f"{output} is also read: choose another name")


def _listed(paths: Paths) -> list[Path]:
    listed = [Path(path).expanduser() for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    for path in listed:
        if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
            raise no_conversations(f"{str(path)[:_SHOWN]}…", is_folder=False, could_be_text=is_list_of_texts(paths))
    return listed


def _files_of(path: Path, format: str) -> list[Path]:
    if is_standard(path):
        return [standard_input()]
    if path.is_dir():
        inside = (file for file in path.rglob("*") if not any(p.startswith(".") for p in file.relative_to(path).parts))
        files = sorted(f for f in inside if f.is_file() and Source(f).ending in ENDINGS)
        return _sources(without_models(files, path), format)
    if path.is_file():
        return [path]
    if path.exists():  # a pipe that nobody writes to would be waited for without end
        problem = "is not a regular file; pipe what it gives into turnlens, and give - in its place"
        raise ConversationError(str(path), problem)
    # not Path.glob, which takes no absolute patterns
    matched = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
    endings = (*ENDINGS, ".zip")
    readable = [file for file in matched if file.is_file() and (format != "auto" or Source(file).ending in endings)]
    return _sources(readable, format)


def _inside(archive: Path, format: str) -> list[Path]:
    files = _files_of(unpack(archive, ENDINGS), format)
    if not files:
        raise ConversationError(str(archive), f"holds no conversations; expected {', '.join(ENDINGS)} files")
    return files


def _sources(files: list[Path], format: str) -> list[Path]:
    return without_companions(with_channels(files) if format in ("auto", "slack") else files)
