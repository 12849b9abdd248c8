"""A few threads, with a bounded queue and a time limit, for work that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

from turnlens.service.refusals import Refusal

_Result = TypeVar("_Result")
_LAST = 2  # after short calls (0) and long ones (1)


@dataclass(eq=False)
class _Job:
    call: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)
    is_given_up: bool = False  # nobody waits for it any more, and its thread was replaced by another one


class BoundedThreads:
    """A pool of threads that refuses work when too much is waiting already.

    A thread cannot be stopped from outside. A thread that does not finish in time is left alone and replaced by a new
    one; this can happen as often as there are threads. No thread keeps the process from ending.

    Args:
        name: The name of the threads, which says what they do.
        threads: How many there are.
        waiting: The most calls that may wait or run at a time.
        seconds: How long a call may wait and run.
    """

    def __init__(self, name: str, threads: int, waiting: int, seconds: float = 60) -> None:
        self._name = f"turnlens-{name}"
        self._waiting = waiting
        self._seconds = seconds
        self._open = 0
        self._jobs: PriorityQueue[tuple[int, int, _Job | None]] = PriorityQueue()  # its order, its number, and a job
        self._numbers = count()
        self._lock = threading.Lock()
        self._stuck, self._most_stuck = 0, threads
        self._threads: list[threading.Thread] = []
        for _ in range(threads):
            self._start_thread()

    async def run(self, call: Callable[[], _Result], is_long: bool = False) -> _Result:
        """Return what ``call`` returns. If this is cancelled before a thread is free, ``call`` is never called.

        Args:
            call: The function to call.
            is_long: It takes long, so that others go first.

        Raises:
            Refusal: Too much is waiting (429), no thread was free in time (503), or the call took too long (504).
        """
        if self._open >= self._waiting:
            raise Refusal(429, "too many requests are waiting", retry_after=1)
        self._open += 1
        job = _Job(call)
        # The call counts as open until its thread is done with it, even if nobody waits for it any more.
        loop = asyncio.get_running_loop()
        job.future.add_done_callback(lambda _: _tell(loop, self._closed))
        self._jobs.put((int(is_long), next(self._numbers), job))
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.wrap_future(job.future)
        except TimeoutError:
            if not limit.expired():
                raise  # raised by the call itself
        if job.future.cancelled():
            raise Refusal(503, f"no thread was free within {self._seconds:g} seconds", retry_after=self._seconds)
        self._give_up(job)
        raise Refusal(504, f"this could not be done within {self._seconds:g} seconds")

    def _closed(self) -> None:
        self._open -= 1

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()[2]) is not None:
            fulfil(job.future, job.call)
            with self._lock:
                if job.is_given_up:
                    self._stuck -= 1
                    self._threads.remove(threading.current_thread())
                    return

    def _give_up(self, job: _Job) -> None:
        with self._lock:
            if job.future.done() or self._stuck == self._most_stuck:
                return
            self._stuck += 1
            job.is_given_up = True
        self._start_thread()

    def stop(self, seconds: float = 60) -> None:
        """End the threads when the waiting work is done, or leave them alone after this time."""
        for _ in self._threads:
            self._jobs.put((_LAST, next(self._numbers), None))
        stop_within(seconds, [thread.join for thread in list(self._threads)])


def stop_within(seconds: float, stops: Iterable[Callable[[float], None]]) -> None:
    """Make calls that each wait for the end of something, for this time in all."""
    end = time.monotonic() + seconds
    for stop in stops:
        stop(max(0.0, end - time.monotonic()))


def fulfil(future: Future[Any], call: Callable[[], Any]) -> None:
    """Give a future the result of a call, or its error, unless it was cancelled."""
    if future.set_running_or_notify_cancel():
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call a function in the event loop, unless the loop has ended before a thread that was stuck."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
