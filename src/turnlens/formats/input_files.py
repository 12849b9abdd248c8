"""The files that users' paths stand for: folders without sidecar files, globs, archives, and the standard input.

The standard input is kept in a temporary file, so that it can be looked at before it is read, and read more than once.
"""

from __future__ import annotations

import glob
import gzip
import logging
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, TextIO, TypeGuard

from turnlens._utils.files import is_standard
from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.formats.folders import is_archive, temporary_folder, unpack, with_channels
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import ENDINGS, Source
from turnlens.formats.text_encoding import utf16_of

_LONGEST_NAME = 255  # bytes; the error of the system would not say that a text was taken for a name
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# Beside the conversations.json of an assistant's export, or its parts: elsewhere, such files may hold anything.
_EXPORTED = ("conversations.json", "conversations-*.json")
_BESIDE_EXPORTED = {
    **dict.fromkeys(("user.json", "user_settings.json", "message_feedback.json"), "an account (ChatGPT)"),
    "export_manifest.json": "a list of files (ChatGPT)",
    **dict.fromkeys(("model_comparisons.json", "shared_conversations.json"), "parts of conversations (ChatGPT)"),
    **dict.fromkeys(("users.json", "projects.json", "memories.json"), "an account (Claude)"),
}
# Files of saved models and unfinished runs.
_MODEL_FILES = ("modules.json", "run.json")
_STORE_FILE = "store.json"
_LOOKED_AT = 1 << 16


def is_paths(data: object) -> TypeGuard[Paths]:
    """Return true for names of files, false for conversations."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(path, str | os.PathLike) for path in data)
    return isinstance(data, str | os.PathLike)


def find_files(paths: Paths, format: str = "auto") -> list[Path]:
    """The files that ``paths`` (files, folders, globs, ``-``) stand for, each once.

    In folders and globs, files that are known to accompany conversations and hold none are passed over, and the folder
    of a Slack channel stands for its daily files. A zip file stands for what can be read in it.

    Args:
        paths: Files, folders and globs, or ``-``.
        format: Their format; where it is known, globs stand for files whatever their names end in.

    Raises:
        ConversationError: A path stands for no file.
    """
    files: list[Path] = []
    for path in named_paths(paths):
        files_of_path = _files_of(path, format)
        if not files_of_path:
            raise no_conversations(str(path), path.is_dir(), could_be_text=is_list_of_texts(paths))
        for file in files_of_path:
            files += _inside(file, format) if is_archive(file) else [file]
    if not files:
        raise ConversationError("paths", "no path was given; expected files, folders or globs")
    return list(dict.fromkeys(files))


def is_list_of_texts(data: object) -> bool:
    """Return whether this is a list of texts, which are read as names of files."""
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(path, str) for path in data)


def is_missing(path: str) -> bool:
    """Return whether a text is neither the name of a file or folder nor a glob that matches one."""
    name = os.path.expanduser(path)  # noqa: PTH111  # raises nothing
    patterns = (name, glob.escape(name))
    return not is_standard(path) and not any(glob.glob(pattern, recursive=True) for pattern in patterns)  # noqa: PTH207


def no_conversations(path: str, is_folder: bool, could_be_text: bool = False) -> ConversationError:
    """The error for a path that stands for no file; in a list, the user may have meant it as a text."""
    if is_folder and _is_store(Path(path)):
        problem = f"is a store; to read what it holds, write it: turnlens export {path} --output chats.jsonl"
    elif is_folder:
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
    for path in named_paths(paths) if is_paths(paths) and not is_standard(output) else []:
        if is_standard(path):
            continue
        if path.is_dir() and target.is_relative_to(path.resolve()):
            raise ValueError(f"{output} lies in {path}, which is read: choose a place outside that folder")
        if any(target == file.resolve() for file in _files_of(path, format="")):
            raise ValueError(f"{output} is also read: choose another name")


def named_paths(paths: Paths) -> list[Path]:
    """The paths as they are named, whatever they stand for."""
    listed = [Path(path).expanduser() for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    for path in listed:
        if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
            raise no_conversations(f"{str(path)[:60]}…", is_folder=False, could_be_text=is_list_of_texts(paths))
    return listed


def _files_of(path: Path, format: str) -> list[Path]:
    if is_standard(path):
        return [standard_input()]
    if path.is_dir():
        inside = (file for file in path.rglob("*") if not any(p.startswith(".") for p in file.relative_to(path).parts))
        files = sorted(f for f in inside if f.is_file() and Source(f).ending in ENDINGS)
        return _sources(_without_written(files, path), format)
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
    return without_sidecars(with_channels(files) if format in ("auto", "slack") else files)


def sidecars_in(folder: Path) -> list[Path]:
    """The files in a folder that are known to accompany conversations."""
    return [file for file in sorted(folder.iterdir()) if file.is_file() and _sidecar_content(file) is not None]


def without_sidecars(files: list[Path]) -> list[Path]:
    """Leave out the well-known sidecar files of conversations, unless there is nothing else."""
    contents = ((file, _sidecar_content(file)) for file in files)
    advice = "name the file itself to read it"
    # files of other origins may have these names too: alone in a folder, they are what was meant
    return _kept((file, f"{content}; {advice}" if content is not None else "") for file, content in contents) or files


def _kept(files: Iterable[tuple[Path, str]]) -> list[Path]:
    """The files without those that have a reason to be passed over, which is logged."""
    kept = []
    for file, reason in files:
        if reason:
            logging.getLogger("turnlens").info("passed over %s: %s", file, reason)
        else:
            kept.append(file)
    return kept


def _is_store(folder: Path) -> bool:
    return (folder / _STORE_FILE).is_file() and any(folder.glob("*/conversations.lance"))


def _without_written(files: list[Path], folder: Path) -> list[Path]:
    """Leave out files inside models, unfinished runs and stores of turnlens, anywhere below a folder."""
    written = {f.parent for f in files if f.name in _MODEL_FILES or (f.name == _STORE_FILE and _is_store(f.parent))}
    inside = ((file, [parent for parent in file.parents if parent.is_relative_to(folder)]) for file in files)
    reason = "part of a model, an unfinished run or a store"
    return _kept((file, "" if written.isdisjoint(parents) else reason) for file, parents in inside)


def _sidecar_content(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    if name in _BESIDE_EXPORTED and any(next(file.parent.glob(pattern), None) for pattern in _EXPORTED):
        return _BESIDE_EXPORTED[name]
    return next((content for pattern, content in _known().items() if fnmatchcase(name, pattern)), None)


@cache
def _known() -> dict[str, str]:
    """The sidecar files of all formats."""
    known = {"readme.txt": "a description", "license.txt": "a licence"}
    for format in FORMATS.usable(Format):
        known |= {pattern: f"{content} ({format.name})" for pattern, content in format.sidecars.items()}
    return known


def standard_input() -> Path:
    """A temporary file with the bytes of the standard input, its ending as they look; it goes with the process.

    Raises:
        ConversationError: It is a terminal, or empty.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ConversationError("-", "the standard input is a terminal; pipe or redirect conversations into it")
    return _spooled(sys.stdin)


def is_spooled(path: Path) -> bool:
    """Return whether a file holds the standard input."""
    return path.parent == Path(temporary_folder("standard input").name)


@cache
def _spooled(stream: TextIO) -> Path:
    folder = Path(temporary_folder("standard input").name)
    path = folder / "incoming"
    with path.open("wb") as file:
        shutil.copyfileobj(stream.buffer, file)
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    if not head:
        raise ConversationError("-", "the standard input is empty; expected conversations")
    number = sum(1 for _ in folder.iterdir())
    return path.rename(folder / f"stdin{number if number > 1 else ''}{ending_of(head)}")


def ending_of(head: bytes) -> str:
    """The ending that a file with these first bytes should have."""
    if head.startswith(b"\x1f\x8b"):
        try:
            return f"{ending_of(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _LOOKED_AT))}.gz"
        except (zlib.error, gzip.BadGzipFile):
            return ".jsonl.gz"
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        return ".xlsx" if b"[Content_Types].xml" in head or b"xl/" in head else ".zip"
    text = head.decode(utf16_of(head) or "utf-8-sig", "replace").lstrip()
    lines = tuple(line for line in text.splitlines() if not line.isspace() and line)
    if re.match(r"\{|\[\s*[\[{\]]", text):  # one value over many lines, or one on each
        are_lines = lines[0].rstrip().endswith("}" if text[0] == "{" else "]") and (text[0] == "{" or len(lines) > 1)
        return ".jsonl" if are_lines else ".json"
    if not lines or any(known.matches(Head(lines=lines)) for known in FORMATS.usable(Format)):
        return ".txt"
    if "\t" in lines[0]:
        return ".tsv"
    return ".csv" if lines[0].lower().startswith(("sep=", '"sep=')) or "," in lines[0] or ";" in lines[0] else ".txt"
