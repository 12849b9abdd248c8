"""The command line: its commands, and the entry point."""

from __future__ import annotations

import logging
import os
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import turnlens
from turnlens._utils.progress import log_handler
from turnlens._utils.registries import Table
from turnlens.cli.cluster import cluster, groups, label
from turnlens.cli.embed import embed
from turnlens.cli.evaluate import evaluate
from turnlens.cli.explore import explore
from turnlens.cli.export import convert, export
from turnlens.cli.inspect import inspect
from turnlens.cli.reply import reply
from turnlens.cli.serve import new_key, serve
from turnlens.cli.store import index, search, store
from turnlens.cli.terminal import Application, Commands
from turnlens.cli.training import demo, train

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


app = Application(
    cls=Commands,
    help="Learn embeddings from conversations without labels, and put them to work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The groups of commands in `turnlens --help`.
PURPOSES = {
    "See what is in your conversations": (inspect, explore, cluster, label, search, reply),
    "Fit an encoder to them": (train, embed, evaluate),
    "Keep and serve them": (index, export, serve, new_key),
    "Files and examples": (convert, demo),
}
for purpose, commands in PURPOSES.items():
    for command in commands:
        app.command(rich_help_panel=purpose)(command)

_GROUPS = "More commands"
app.add_typer(groups, name="groups", rich_help_panel=_GROUPS)
app.add_typer(store, name="store", rich_help_panel=_GROUPS)
_OWN = {
    "groups",
    "store",
    *(command.__name__.replace("_", "-") for commands in PURPOSES.values() for command in commands),
}
for name in COMMANDS:
    if name in _OWN:
        logging.getLogger("turnlens").warning("left out the command %s of an extension: it is one of turnlens", name)
        continue
    further = Application(cls=commands_of(name), help=COMMANDS.about(name), no_args_is_help=True)
    app.add_typer(further, name=name, rich_help_panel=_GROUPS)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnlens {turnlens.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options that come before any command."""


def main() -> None:
    """Entry point of the console script."""
    logging.basicConfig(format="%(message)s", handlers=[log_handler()])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
