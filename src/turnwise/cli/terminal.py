"""What the terminal shows of errors and of other libraries' messages."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from turnwise._utils.progress import error_console


class Commands(TyperGroup):
    """The commands; a user's mistake is reported in one line, and Ctrl-C ends cleanly."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            error_console.print("Stopped. A command that has --resume keeps what is done: run it again with --resume.")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever reads our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (ValueError, OSError, ImportError) as error:
            error_console.print(f"error: {error}", style="red", soft_wrap=True)
            raise typer.Exit(1) from None


def quiet_transformers() -> None:
    """No bars for reading and writing weights among our own. Not at start-up: the import takes a second."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
