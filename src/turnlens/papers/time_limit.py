"""A time limit for code that we did not write, such as the templates that come with a model."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """Do some work in a thread of its own, and stop the thread when it takes too long.

    Args:
        seconds: The limit.
        work: Python code that computes and never waits, since the thread can only be stopped at its next instruction.

    Returns:
        What ``work`` returns.

    Raises:
        TimeoutError: It took longer. Whatever ``work`` raises is raised too.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        return future.result(seconds)
    finally:
        if thread.is_alive():
            # The only way to stop a thread that does not cooperate; signals would need the main thread.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
