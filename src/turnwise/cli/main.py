"""The command line: its commands, and the entry point."""

from __future__ import annotations

import logging
import os

from turnwise._utils.progress import log_handler
from turnwise.cli.bench import bench
from turnwise.cli.centre import centre
from turnwise.cli.cluster import cluster
from turnwise.cli.data import convert
from turnwise.cli.distill import distill
from turnwise.cli.embed import embed
from turnwise.cli.evaluate import evaluate
from turnwise.cli.explore import explore
from turnwise.cli.inspect import inspect
from turnwise.cli.merge import merge
from turnwise.cli.options import Version
from turnwise.cli.plato import convert_plato
from turnwise.cli.plot import plot
from turnwise.cli.reply import plan, reply
from turnwise.cli.serve import new_key, serve
from turnwise.cli.store import index, search, store
from turnwise.cli.terminal import Commands
from turnwise.cli.training import adapt, demo, train
from turnwise.cli.verbosity import Application

app = Application(
    cls=Commands,
    help="Learn embeddings from conversations without labels, and put them to work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    demo,
    inspect,
    convert,
    convert_plato,
    adapt,
    train,
    merge,
    centre,
    distill,
    embed,
    evaluate,
    reply,
    plan,
    index,
    search,
    cluster,
    explore,
    serve,
    new_key,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(bench, name="bench")
app.add_typer(plot, name="plot")
app.add_typer(store, name="store")


@app.callback()
def options(version: Version = False) -> None:
    """Options before any command."""


def main() -> None:
    """Entry point of the console script."""
    logging.basicConfig(format="%(message)s", handlers=[log_handler()])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
