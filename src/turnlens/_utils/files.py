"""Writing files and folders so that a killed run never leaves half of one under its final name."""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes

from filelock import FileLock, Timeout

# A folder with one of these files is a model, so it may be overwritten.
_MODEL = "modules.json"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_TORCH = "inline_container.cc"  # all that its errors say, followed by what was being written
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def is_standard(path: str | os.PathLike[str]) -> bool:
    """Return true for ``-``, the standard input or output."""
    return str(path) == "-"


def is_disk_full(error: BaseException) -> bool:
    """Return true if an error, of any library, comes from a disk without free space."""
    return errno_of(error) in _FULL or _IN_TORCH in str(error) or any(os.strerror(n) in str(error) for n in _FULL)


def errno_of(error: BaseException | None) -> int | None:
    """The number of the system's error behind an error of any library, such as `errno.ENOSPC`; ``None`` without one.

    Libraries in Rust, as LanceDB and safetensors are, give it in the text, whatever the type of their error.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno
        if found := _OS_ERROR.search(str(error)):
            return int(found[1])
        error = error.__cause__
    return None


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return true for a URL, such as ``s3://bucket/key``."""
    return "://" in str(path)


def check_file(path: str | os.PathLike[str], force: bool = False, endings: Collection[str] = ()) -> Path:
    """Return ``path``. A file there may be overwritten only with ``force``, and a folder never.

    Args:
        path: The path that a user gave; ``-`` is accepted.
        force: Let a file be overwritten.
        endings: The endings that its name may have, in lower case; by default any.

    Raises:
        FileExistsError: The file exists and ``force`` is false.
        IsADirectoryError: The path is a folder.
        PermissionError: Nothing can be written there.
        ValueError: Its name has another ending.
    """
    path = Path(path)
    if is_standard(path):
        return path
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{path}: expected a name ending in {', '.join(endings)}")
    put_in_order(_link_target(path))
    if path.is_dir() or not path.name:
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already: choose another name or overwrite it with --force")
    _check_parent(path)
    return path


def check_folder(
    path: str | os.PathLike[str], force: bool = False, kind: str = "model", signs: Collection[str] = (_MODEL,)
) -> Path:
    """Return ``path``. A model there may be overwritten only with ``force``, and anything else never.

    Args:
        path: The path that a user gave.
        force: Let a model be overwritten.
        kind: The name of the thing that is written, for messages.
        signs: The files that such a folder has.

    Raises:
        FileExistsError: The folder is a model and ``force`` is false, or it holds something else.
        NotADirectoryError: The path is a file.
        PermissionError: Nothing can be written there.
        ValueError: The path cannot name a new folder, such as ``..``.
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise ValueError(f"{path} is not the name of a folder to write: give one, such as {path / kind}")
    put_in_order(_link_target(path))
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file: expected the name of a folder")
    if path.is_dir() and any(path.iterdir()):
        if not all((path / sign).is_file() for sign in signs):
            raise FileExistsError(f"{path} holds something other than a {kind}: choose another name")
        if not force:
            raise FileExistsError(f"{path} exists already: choose another name or overwrite it with --force")
    _check_parent(path)
    return path


def _check_parent(path: Path) -> None:
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {parent} is a file")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write in {parent}")


def existing_file(path: str | os.PathLike[str], expected: str) -> Path:
    """Return ``path`` if it is a file.

    Args:
        path: The path that a user gave.
        expected: The content that is needed, for the message.

    Raises:
        FileNotFoundError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is {'a folder' if path.is_dir() else 'no file'}: expected {expected}")
    return path


@contextmanager
def only_writer(output: str | os.PathLike[str]) -> Iterator[None]:
    """Inside the block, no other process can write this output; the standard output needs no such lock.

    Raises:
        BlockingIOError: Another process is writing it; the message gives its process number and host.
        OSError: The disk is full, whichever error the library that was writing raised.
    """
    output = Path(output)
    if is_standard(output):
        yield
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    file = output.with_name(f".{output.name}.lock")
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        owner = file.read_text(encoding="utf-8") if file.is_file() else ""
        problem = f"{output} is being written by {owner or 'another process'}: wait for it, or choose another name"
        raise BlockingIOError(problem) from None
    try:
        with _disk_full_named(output):
            file.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
            yield
    finally:
        file.unlink(missing_ok=True)  # while we hold it, so that we never remove another process's lock
        lock.release()


@contextmanager
def _disk_full_named(output: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if is_disk_full(error):
            raise OSError(f"{output} cannot be written: the disk is full, or a quota is used up") from error
        raise


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` to write a file or a folder to; renamed to ``path`` when the block succeeds.

    A file never replaces a folder. A symbolic link is kept, and the file that it points to is written. ``-`` is the
    standard output, which gets the file's bytes. On any error, Ctrl-C included, what was written is removed and the
    earlier content of ``path`` stays untouched. What a killed process left half-written is removed by the next one.

    Raises:
        OSError: The disk is full, whichever error the library that was writing raised.
    """
    if is_standard(path):
        with _to_standard_output() as temporary:
            yield temporary
        return
    path = _link_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    put_in_order(path)
    with _disk_full_named(path), _workspace(path) as workspace:
        replaced = workspace / "replaced"
        temporary = workspace / "new" / path.name
        temporary.parent.mkdir()
        try:
            yield temporary
            _give_usual_rights(temporary)
            # From here on `new` is complete: whoever finds this folder after a kill may put it in its place.
            if path.is_dir() and temporary.exists():
                if not temporary.is_dir():
                    raise IsADirectoryError(f"{path} is a folder: a file cannot replace it")
                path.replace(replaced)
            temporary.replace(path)
        finally:
            if replaced.exists() and not path.exists():
                replaced.replace(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by a text as `atomic_path` does."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def discard(folder: Path) -> None:
    """Remove a folder. For other processes it disappears at once: a kill leaves no part of it under its name."""
    if folder.exists():
        with _workspace(folder) as workspace:
            folder.replace(workspace / "discarded")


@contextmanager
def _workspace(path: Path) -> Iterator[Path]:
    """A working folder beside ``path``, on the same file system; its lock shows that our process is alive."""
    while True:
        workspace = Path(tempfile.mkdtemp(prefix=_workspace_prefix(path), dir=path.parent))
        lock = FileLock(workspace / "lock")
        try:
            lock.acquire()
            break
        except FileNotFoundError:  # before we locked the folder, another process thought it abandoned
            continue
    try:
        yield workspace
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
        lock.release()


@contextmanager
def _to_standard_output() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield (temporary := Path(folder) / "output")
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def _workspace_prefix(path: Path) -> str:
    return f".{path.name}.writing-"


def _link_target(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    return path.resolve() if path.is_symlink() else path


def put_in_order(path: Path) -> None:
    """Remove what killed processes left beside ``path``, and finish the renaming if one was killed during it."""
    for workspace in path.parent.glob(f"{glob.escape(_workspace_prefix(path))}*"):
        try:
            with FileLock(workspace / "lock", timeout=0):
                if (workspace / "replaced").exists() and not path.exists():
                    (workspace / "new" / path.name).replace(path)
                shutil.rmtree(workspace, ignore_errors=True)
        except (Timeout, OSError):  # still in use, or not ours to remove
            continue


def _give_usual_rights(written: Path) -> None:
    """Give files the rights that new files of this process have; some libraries make theirs private."""
    files = [file for file in (written, *written.rglob("*")) if file.is_file()]
    probe = written.parent / "rights"
    probe.touch()
    mode = probe.stat().st_mode
    for file in files:
        file.chmod(mode)


_KEY_BYTES = 32


def load_or_create_key(path: Path) -> bytes:
    """Return the random key in a private file, which is made if it is missing.

    Callers hold a lock while it may be missing, so that no two processes make different keys.

    Raises:
        ValueError: The file holds something else.
    """
    if not path.exists():
        descriptor, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # which is private
        with os.fdopen(descriptor, "wb") as file:
            file.write(token_bytes(_KEY_BYTES))
        Path(new).replace(path)
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise ValueError(f"{path}: found {len(key)} bytes; expected a key of {_KEY_BYTES}: copy it back from a backup")
    return key
