"""The command line: its commands, and the entry point."""

from __future__ import annotations

import logging
import os
from typing import Annotated

import typer

import turnwise
from turnwise._utils.progress import log_handler
from turnwise.cli.centre import centre
from turnwise.cli.cluster import cluster
from turnwise.cli.data import convert
from turnwise.cli.embed import embed
from turnwise.cli.evaluate import evaluate
from turnwise.cli.explore import explore
from turnwise.cli.export import export
from turnwise.cli.extensions import COMMANDS, commands_of
from turnwise.cli.inspect import inspect
from turnwise.cli.label import label
from turnwise.cli.merge import merge
from turnwise.cli.reply import reply
from turnwise.cli.serve import new_key, serve
from turnwise.cli.store import index, search, store
from turnwise.cli.terminal import Commands
from turnwise.cli.training import demo, train
from turnwise.cli.verbosity import Application

app = Application(
    cls=Commands,
    help="Learn embeddings from conversations without labels, and put them to work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The groups of commands in `turnwise --help`.
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
model = Application(cls=Commands, help="Change, combine and compare models.", no_args_is_help=True)
for command in (merge, centre):
    model.command()(command)
app.add_typer(model, name="model", rich_help_panel=_GROUPS)
app.add_typer(store, name="store", rich_help_panel=_GROUPS)
for name in COMMANDS:
    further = Application(cls=commands_of(name), help=COMMANDS.about(name), no_args_is_help=True)
    app.add_typer(further, name=name, rich_help_panel=_GROUPS)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnwise {turnwise.__version__}")
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
    # Threads that spin while they wait for each other take the cores that they wait for, if anything else runs.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app()
