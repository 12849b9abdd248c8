"""The commands of `turnwise papers`."""

from __future__ import annotations

from turnwise.cli.verbosity import Application
from turnwise.papers.commands.bench import bench
from turnwise.papers.commands.plan import plan
from turnwise.papers.commands.plato import convert_plato
from turnwise.papers.commands.plot import plot

app = Application(no_args_is_help=True, rich_markup_mode="markdown")
for command in (plan, convert_plato):
    app.command()(command)
app.add_typer(bench, name="bench")
app.add_typer(plot, name="plot")
