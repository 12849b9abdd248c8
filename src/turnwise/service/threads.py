"""Work that would block the event loop, in a few threads with a bounded queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from turnwise.service.errors import Refusal

_Result = TypeVar("_Result")


class BoundedThreads:
    """A pool of threads that refuses work when much is waiting already.

    Args:
        name: What the threads do; their name.
        threads: How many there are.
        waiting: Most calls that wait or run at a time.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"turnwise-{name}")
        self._waiting = waiting
        self._open = 0

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """What ``call`` returns. If this is cancelled before a thread is free, it is never called.

        Raises:
            Refusal: Too much is waiting (429).
        """
        if self._open >= self._waiting:
            raise Refusal(429, "too many requests are waiting", retry_after=1)
        self._open += 1
        future = self._pool.submit(call)
        # Counted until the thread is done with it, and not only as long as somebody waits for it.
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._closed))
        return await asyncio.wrap_future(future)

    def _closed(self) -> None:
        self._open -= 1

    def stop(self) -> None:
        """End the threads when what waits is done."""
        self._pool.shutdown()
