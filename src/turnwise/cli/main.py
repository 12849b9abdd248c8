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
from turnwise.cli.label import label
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
# The groups of commands in `turnwise --help`.
PURPOSES = {
    "See what is in your conversations": (inspect, explore, cluster, label, search, reply),
    "Fit an encoder to them": (train, embed, evaluate),
    "Keep and serve them": (index, serve, new_key),
    "Files and examples": (convert, demo),
}
for purpose, commands in PURPOSES.items():
    for command in commands:
        app.command(rich_help_panel=purpose)(command)

_GROUPS = "More commands"
model = Application(cls=Commands, help="Change, combine and compare models.", no_args_is_help=True)
for command in (merge, centre, distill, adapt):
    model.command()(command)
papers = Application(cls=Commands, help="Reproduce and extend the three papers.", no_args_is_help=True)
for command in (plan, convert_plato):
    papers.command()(command)
papers.add_typer(bench, name="bench")
papers.add_typer(plot, name="plot")
app.add_typer(model, name="model", rich_help_panel=_GROUPS)
app.add_typer(store, name="store", rich_help_panel=_GROUPS)
app.add_typer(papers, name="papers", rich_help_panel=_GROUPS)


@app.callback()
def options(version: Version = False) -> None:
    """The options that come before any command."""


def main() -> None:
    """Entry point of the console script."""
    logging.basicConfig(format="%(message)s", handlers=[log_handler()])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
