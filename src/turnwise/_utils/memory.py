"""Memory that is free, given back to the system. GNU's C library keeps it, in as many pieces as there are threads."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# Parameters of mallopt, from malloc.h.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_OTHER_LIBRARY = (OSError, AttributeError, TypeError)


def keep_little_free_memory() -> None:
    """From now on, keep free memory in two pieces, and no larger blocks. For a process that is all ours."""
    with suppress(*_OTHER_LIBRARY):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, 2)
        library.mallopt(_MMAP_THRESHOLD, 128 * 1024)


def give_back_memory() -> None:
    """Give back what is free now."""
    with suppress(*_OTHER_LIBRARY):
        ctypes.CDLL(None).malloc_trim(0)
