"""Returning freed memory to the system. By default GNU's C library holds on to it, with several pools for threads."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# Parameters of mallopt, from malloc.h.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_OTHER_LIBRARY = (OSError, AttributeError, TypeError)


def keep_little_free_memory() -> None:
    """Make the C library hold on to less freed memory: at most two pools, and no large blocks.

    This changes the whole process, so call it only in a process that runs nothing but turnlens.
    """
    with suppress(*_OTHER_LIBRARY):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, 2)
        library.mallopt(_MMAP_THRESHOLD, 128 * 1024)


def give_back_memory() -> None:
    """Return the memory that is free now to the system."""
    with suppress(*_OTHER_LIBRARY):
        ctypes.CDLL(None).malloc_trim(0)
