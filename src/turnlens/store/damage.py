"""One error, which says what to do, for all that LanceDB raises about files that were cut, changed or removed."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlens._utils.files import is_disk_full
from turnlens.errors import error_line, is_out_of_memory
from turnlens.store.state import StoreError, StoreLockedError, not_permitted, state_stamp

_SIGNS_OF_MISSING_RIGHTS = tuple(os.strerror(number) for number in (errno.EACCES, errno.EPERM, errno.EROFS))
_PLACE_IN_SOURCES = re.compile(r", /\S+\.rs:\d+(:\d+)?")
Stamp = tuple[int, int] | None


@contextmanager
def naming_damage(store: Path, stamp: Stamp = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Inside the block, turn all errors into a `StoreError`. The block must call nothing but LanceDB and Arrow.

    If another process has rewritten the store meanwhile, the error is a `StoreLockedError`: reading again will work.

    Args:
        store: The folder of the store.
        stamp: The stamp of the commit that is read; ``None`` for a writer, since only the writer removes files.
        passing: Errors that explain themselves and are raised unchanged.
    """
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # from LanceDB's Rust code; not a subclass of Exception
        if (
            isinstance(error, (StoreError, ImportError, *passing))
            or is_out_of_memory(error)
            or not (is_panic or isinstance(error, Exception))
        ):
            raise
        if stamp is not None and stamp != state_stamp(store):
            raise StoreLockedError(f"{store} was rewritten while it was being read: read it again") from error
        said = _PLACE_IN_SOURCES.sub("", error_line(error))
        if is_disk_full(error):
            raise StoreError(
                f"the disk of {store} is full ({said}); the store is sound: free some space and do the same again"
            ) from error
        if any(sign in said for sign in _SIGNS_OF_MISSING_RIGHTS):
            raise not_permitted(store, said) from error
        raise StoreError(
            f"{store} cannot be used: {said}. If its files were cut, changed or removed, copy a backup back, or delete "
            "the folder and index again"
        ) from error


def damaged(problem: str) -> StoreError:
    """The error for rows with content that no store writes."""
    return StoreError(f"{problem}: the store is damaged; copy a backup back, or delete its folder and index again")
