"""Writing files and folders so that a killed run never leaves half of one under its final name."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_output(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``path``, refusing to overwrite something that is there unless ``force``.

    Raises:
        FileExistsError: The path exists (a folder: and is not empty) and ``force`` is false.
    """
    path = Path(path)
    taken = any(path.iterdir()) if path.is_dir() else path.exists()
    if taken and not force:
        raise FileExistsError(f"{path} exists already: choose another --output or overwrite it with --force")
    return path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` to write a file or a folder to; renamed to ``path`` when the block succeeds.

    Use it for files and for folders. On any error, Ctrl-C included, the temporary is removed and what stood
    under ``path`` before is untouched.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A private folder of our own beside the target: same file system, so the rename is atomic.
    workspace = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    replaced = workspace / "replaced"
    try:
        temporary = workspace / path.name
        yield temporary
        if path.is_dir() and temporary.exists():
            path.replace(replaced)
        temporary.replace(path)
    finally:
        if replaced.exists() and not path.exists():
            replaced.replace(path)
        shutil.rmtree(workspace, ignore_errors=True)
