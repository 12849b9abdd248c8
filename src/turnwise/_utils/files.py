"""Writing files and folders so that a killed run never leaves half of one under its final name."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What shows that a folder is a model and so may be overwritten.
_MODEL = "modules.json"


def is_standard(path: str | os.PathLike[str]) -> bool:
    """Whether a path is ``-``, which stands for the standard input or output."""
    return str(path) == "-"


def check_file(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``path``, refusing to overwrite a file unless ``force``, and a folder in any case.

    Raises:
        FileExistsError: The file exists and ``force`` is false.
        IsADirectoryError: The path is a folder.
        PermissionError: Nothing can be written there.
    """
    path = Path(path)
    if is_standard(path):
        return path
    if path.is_dir() or not path.name:
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already: choose another name or overwrite it with --force")
    _check_parent(path)
    return path


def check_folder(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``path``, refusing to overwrite a model unless ``force``, and anything else in any case.

    Raises:
        FileExistsError: The folder is a model and ``force`` is false, or it holds something else.
        NotADirectoryError: The path is a file.
        PermissionError: Nothing can be written there.
        ValueError: The path cannot name a new folder, such as ``..``.
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise ValueError(f"{path} is no name of a folder to write: give one, such as {path / 'model'}")
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file: expected the name of a folder")
    if path.is_dir() and any(path.iterdir()):
        if not (path / _MODEL).is_file():
            raise FileExistsError(f"{path} holds something else than a model: choose another name")
        if not force:
            raise FileExistsError(f"{path} exists already: choose another name or overwrite it with --force")
    _check_parent(path)
    return path


def _check_parent(path: Path) -> None:
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {parent} is a file")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written: no right to write in {parent}")


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` to write a file or a folder to; renamed to ``path`` when the block succeeds.

    A file never replaces a folder; ``-`` is the standard output, which gets the file's bytes. On any error, Ctrl-C
    included, what was written is removed and whatever ``path`` held before is untouched.
    """
    path = Path(path)
    if is_standard(path):
        with _to_standard_output() as temporary:
            yield temporary
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # A private folder of our own beside the target: same file system, so the rename is atomic.
    workspace = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    replaced = workspace / "replaced"
    try:
        temporary = workspace / path.name
        yield temporary
        if path.is_dir() and temporary.exists():
            if not temporary.is_dir():
                raise IsADirectoryError(f"{path} is a folder, which no file replaces")
            path.replace(replaced)
        temporary.replace(path)
    finally:
        if replaced.exists() and not path.exists():
            replaced.replace(path)
        shutil.rmtree(workspace, ignore_errors=True)


@contextmanager
def _to_standard_output() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield (temporary := Path(folder) / "output")
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
