"""How errors and the messages of other libraries appear on the terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typing_extensions import override

from turnwise._utils.progress import error_console

TERMINATED = 128 + signal.SIGTERM  # exit code of a process that was asked to end


class Commands(TyperGroup):
    """The commands; a user's mistake is reported in one line, and Ctrl-C and SIGTERM end cleanly."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            with exit_on_sigterm():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            self._stop(ctx, signal.SIGINT)
        except SystemExit as stop:
            if stop.code != TERMINATED:
                raise
            self._stop(ctx, signal.SIGTERM)
        except BrokenPipeError:  # the program that reads our output has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (ValueError, OSError, ImportError) as error:
            error_console.print(f"error: {_message(error)}", style="red", soft_wrap=True)
            raise typer.Exit(1) from None

    def _stop(self, ctx: Any, number: int) -> NoReturn:
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        resumes = command is not None and any(option.name == "resume" for option in command.params)
        error_console.print("Stopped. What is done is kept: run it again with --resume." if resumes else "Stopped.")
        raise typer.Exit(128 + number) from None


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Inside the block, SIGTERM unwinds the stack, so that half-written files are removed."""
    try:
        previous = signal.signal(signal.SIGTERM, _exit)
    except ValueError:  # not in the main thread, which alone receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)


def _message(error: Exception) -> str:
    """The message of an error, without the number that errors of the system have."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def quiet_transformers() -> None:
    """Turn off the bars of transformers for reading and writing weights. Call this before anything may import it."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
