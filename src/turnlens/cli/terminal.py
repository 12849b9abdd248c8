"""The terminal: errors, messages of other libraries, and `--quiet` and `--verbose`, which every command has."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup
from typer.models import CommandFunctionType
from typing_extensions import override

from turnlens._utils.processes import on_signals
from turnlens._utils.progress import error_console, note, set_quiet
from turnlens._utils.registries import TRAINING, needs
from turnlens._utils.text_values import printable
from turnlens.cli.options import with_options
from turnlens.errors import BadRowError, error_line, is_out_of_memory

_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)  # of click, or of typer's own copy of it
_ClickException = cast(type[Exception], _UsageError.__base__)
TERMINATED = 128 + signal.SIGTERM  # exit code of a process that was asked to end


class Commands(TyperGroup):
    """The commands; an error is reported in one line, and Ctrl-C and SIGTERM end cleanly."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            with on_signals(_exit, signal.SIGTERM):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            self._stop(ctx, signal.SIGINT)
        except SystemExit as stop:
            if stop.code != TERMINATED:
                raise
            self._stop(ctx, signal.SIGTERM)
        except _UsageError as error:  # which typer prints, and with it names of files
            error.message = printable(
                error.message.removeprefix("Value error, ")
            )  # pydantic's, which typer leaves there
            raise
        except BrokenPipeError:  # the program that reads our output has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (typer.Exit, typer.Abort, _ClickException):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of Rust
                raise
            skips = isinstance(error, BadRowError) and self._has_option(ctx, "skip_bad_rows")
            advice = "; --skip-bad-rows leaves out rows like this" if skips else ""
            error_console.print(f"error: {_message(error)}{advice}", style="red", soft_wrap=True)
            raise typer.Exit(1) from None

    def _stop(self, ctx: Any, number: int) -> NoReturn:
        kept = " What was done so far is kept: run the command again with --resume."
        error_console.print(f"Stopped.{kept if self._has_option(ctx, 'resume') else ''}")
        raise typer.Exit(128 + number) from None

    def _has_option(self, ctx: Any, name: str) -> bool:
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return command is not None and any(option.name == name for option in command.params)


def _exit(number: int, frame: FrameType | None) -> None:
    """Unwind the stack, so that half-written files are removed."""
    raise SystemExit(TERMINATED)


def _message(error: BaseException) -> str:
    """The message of an error, without the number that errors of the system have."""
    if is_out_of_memory(error):
        return f"not enough memory: close other programs, or use less data at a time ({error_line(error)})"
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name in TRAINING:
        return needs(error.name, "train")
    if isinstance(error, ValueError | OSError | ImportError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error_line(error)}; {_logged(error)}"


def _logged(error: BaseException) -> str:
    """Write where an error was raised into a file of this user only, since its message may quote a text."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="turnlens-", suffix=".log", delete=False) as log:
            log.writelines(traceback.format_exception(error))
    except OSError as problem:
        return f"its log could not be written: {problem.strerror}"
    return f"its log is {log.name}: please report it, without what is private"


def use_one_thread() -> None:
    """Let numpy multiply in one thread, since others would only wait. Call this before anything may import it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def tell_other_language(conversations: Iterable[Mapping[str, Any]], command: str) -> None:
    """Print what helps if the default encoder does not know the language of most conversations."""
    from turnlens.data.languages import advice, languages_of

    told = advice(languages_of(conversations), command)
    if told is not None:
        note(told)


@dataclass(frozen=True)
class Verbosity:
    """Settings of what is printed; each field is an option of every command.

    Options:
        quiet: Show results and errors only.
        verbose: Print more: files, formats, and what was skipped.
    """

    quiet: Annotated[bool, typer.Option("--quiet", "-q")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False

    def apply(self) -> None:
        """Apply these options to the messages of this process, and turn off the bars of reading and writing weights."""
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # read when the libraries are imported
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        level = logging.ERROR if self.quiet else logging.INFO if self.verbose else logging.WARNING
        logging.getLogger("turnlens").setLevel(level)
        set_quiet(self.quiet)
        if self.quiet or not error_console.is_terminal:
            os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")  # read when the library is imported


class Application(typer.Typer):
    """Commands that all have the options of `Verbosity`."""

    @override
    def command(self, *args: Any, **kwargs: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        register = super().command(*args, **kwargs)

        def decorate(command: CommandFunctionType) -> CommandFunctionType:
            def tell(verbosity: Verbosity, given: dict[str, Any]) -> None:
                verbosity.apply()
                command(**given)

            register(with_options(Verbosity, command, tell))
            return command

        return decorate
