"""How much the commands print: `--quiet` and `--verbose`, which every command has."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.models import CommandFunctionType
from typing_extensions import override

from turnlens._utils.progress import error_console, set_quiet
from turnlens.cli.groups import with_options


@dataclass(frozen=True)
class Verbosity:
    """How much is printed; each field is an option of every command."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show results and errors only.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print more: files, formats, and what was skipped.")
    ] = False

    def apply(self) -> None:
        """Apply these options to the messages of this process."""
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
