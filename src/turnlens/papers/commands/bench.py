"""The commands that reproduce the papers' tables: `turnlens papers bench SUITE`, and the report of such a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from turnlens._utils.progress import note
from turnlens.cli.options import parse_settings
from turnlens.cli.terminal import Application, quiet_transformers
from turnlens.papers.experiments.papers import DATA_SETS, PAPERS, TABLES, check_data_sets


class Suites(TyperGroup):
    """A command for each suite, and ``report``; any other name is treated as the name of a suite."""

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise ValueError(f"unknown suite {args[0]!r}: expected one of {', '.join(PAPERS)}, or report")
        return super().resolve_command(ctx, args)


bench = Application(
    cls=Suites,
    help="Train and evaluate every method of a paper's tables, and write a report.\n\n"
    "Which row and which command is which line of a table stands in docs/papers.md.",
    no_args_is_help=True,
)


def run(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets; without it, the sample corpus alone is used.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Encoder that all rows start from: a folder or a Hub name; by default all-MiniLM-L6-v2."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Method; give several by repeating the option or with commas. By default all."),
    ] = None,
    data_sets: Annotated[
        list[str] | None,
        typer.Option(help="Data set; give several by repeating the option or with commas. By default all."),
    ] = None,
    studies: Annotated[
        bool,
        typer.Option(
            "--studies/--no-studies", help="Whether to run the studies that try several values of one setting."
        ),
    ] = True,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; by default 3, and 1 with --quick.")] = None,
    out: Annotated[Path, typer.Option("--out", "--output", "-o", help="Folder of the results.")] = Path("report"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few steps and small samples, and run no studies.")
    ] = False,
    word_vectors: Annotated[
        Path | None,
        typer.Option(
            envvar="TURNLENS_WORD_VECTORS",
            help="A text file of GloVe or word2vec vectors, for the row of word vectors.",
        ),
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option(
            "--generator",
            help="For short-term-planning: a causal language model that generates the candidates, a folder or a Hub "
            "name. What it generated is kept. By default they are drawn from other conversations.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option(help="A setting for every training run, such as bf16=true; may be repeated.")
    ] = None,
) -> None:
    """Run the suite that the command is named after."""
    suite, chosen = str(context.command.name), _names(data_sets)
    check_data_sets(chosen, DATA_SETS[suite])
    quiet_transformers()
    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: no such folder")
    if word_vectors is not None and not word_vectors.is_file():
        raise ValueError(f"--word-vectors {word_vectors}: no such file")
    from turnlens.papers.experiments.runner import run_suite

    results = run_suite(
        suite,
        data,
        encoder,
        out,
        _names(methods),
        seeds,
        quick,
        str(word_vectors) if word_vectors is not None else None,
        parse_settings(set or []),
        generator,
        chosen,
        studies,
    )
    note(f"The tables are in {out / 'report.md'}, all figures in {out / 'results.json'}")
    if any(cell["status"] == "failed" for cell in results["cells"]):
        raise typer.Exit(1)


def _names(given: list[str] | None) -> list[str] | None:
    return [name.strip() for names in given or [] for name in names.split(",") if name.strip()] or None


for suite, paper in PAPERS.items():
    about = f"{TABLES[suite]} of {paper}: train and evaluate every method; what is finished is not done again."
    where = f"Data sets: {', '.join(DATA_SETS[suite])}. Their files, and all methods: docs/benchmarks.md."
    example = f"Example: `turnlens papers bench {suite} --data corpora --quick --out report`"
    bench.command(suite, help=f"{about}\n\n{where}\n\n{example}")(run)


@bench.command()
def report(
    out: Annotated[Path, typer.Argument(help="Folder of the results.", show_default=False)],
    into: Annotated[
        Path | None, typer.Option(help="Put the tables into this Markdown page instead, between its two marker lines.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name in the marker lines; by default the suite's.")] = None,
) -> None:
    """Write the report of a run again, or put its tables into a page with `--into`.

    In the page, the tables replace the text between the lines `<!-- bench: NAME -->` and `<!-- end bench: NAME -->`.

    Example: `turnlens papers bench report report/triple --into page.md --name triple`
    """
    from turnlens.papers.experiments.report import write_into, write_report

    if into is None and name is not None:
        raise ValueError(f"--name {name} names the lines of a page: give the page with --into")
    if into is None:
        note(f"Wrote {write_report(out)}")
    else:
        write_into(out, into, name)
        note(f"Wrote the tables of {out} into {into}")
