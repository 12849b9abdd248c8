"""What LanceDB raises about files that were cut, changed or removed, as one error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.errors import error_line
from turnwise.store.state import StoreError, StoreLockedError, state_stamp

_PLACE_IN_SOURCES = re.compile(r", /\S+\.rs:\d+(:\d+)?")
Stamp = tuple[int, int] | None


@contextmanager
def naming_damage(store: Path, stamp: Stamp = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Inside the block, in which nothing but LanceDB and Arrow is called, all errors are a `StoreError`.

    Where another process has written the store anew meanwhile, it is a `StoreLockedError`: read again.

    Args:
        store: The folder of the store.
        stamp: That of the commit which is read; ``None`` for a writer, besides whom nobody removes files.
        passing: What says itself what is wrong.
    """
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of LanceDB's Rust, no Exception
        if isinstance(error, (StoreError, *passing)) or not (is_panic or isinstance(error, Exception)):
            raise
        if stamp is not None and stamp != state_stamp(store):
            raise StoreLockedError(f"{store} was written anew while it was read: read it again") from error
        said = _PLACE_IN_SOURCES.sub("", error_line(error))
        raise StoreError(
            f"{store} cannot be used: {said}. If its files were cut, changed or removed, copy a backup back, or delete "
            "the folder and index again"
        ) from error


def damaged(what: str) -> StoreError:
    """The error of rows that hold what no store writes."""
    return StoreError(f"{what}: the store is damaged; copy a backup back, or delete its folder and index again")
