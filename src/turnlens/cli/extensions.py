"""The commands that extensions add, imported when one of them is used."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from turnlens._utils.registries import Table

# Command -> a `typer.Typer` with the commands below it.
COMMANDS: Table[typer.Typer] = Table({}, "COMMANDS")


def commands_of(name: str) -> type[TyperGroup]:
    """A group of commands that are those of an extension's application."""

    class Imported(TyperGroup):
        @property
        def commands(self) -> Any:
            return self._group.commands

        @commands.setter
        def commands(self, value: Any) -> None:
            """Of a group that typer makes empty."""

        @cached_property
        def _group(self) -> Any:
            return get_command(COMMANDS[name])

    return Imported
