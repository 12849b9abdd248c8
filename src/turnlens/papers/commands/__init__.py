"""The commands of `turnlens papers`."""

from __future__ import annotations

from turnlens.cli.terminal import Application
from turnlens.papers.commands.bench import bench
from turnlens.papers.commands.plan import plan
from turnlens.papers.commands.plato import convert_plato
from turnlens.papers.commands.plot import plot

app = Application(no_args_is_help=True, rich_markup_mode="markdown")
for command in (plan, convert_plato):
    app.command()(command)
app.add_typer(bench, name="bench")
app.add_typer(plot, name="plot")
