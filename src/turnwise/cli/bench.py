"""The command that reproduces the papers' tables: `turnwise bench SUITE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnwise._utils.progress import console
from turnwise.cli.options import Encoder, parse_settings
from turnwise.cli.terminal import quiet_transformers

Suite = Annotated[str, typer.Argument(help="dialoguecse, dial2vec or triple.", show_default=False)]


def bench(
    suite: Suite,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets; without it, the sample corpus alone is used.")
    ] = None,
    encoder: Encoder = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Method, may be repeated or separated by commas; by default all.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds; by default 3, and 1 with --quick.")] = None,
    out: Annotated[Path, typer.Option("--out", "--output", "-o", help="Folder of the results.")] = Path("report"),
    quick: Annotated[bool, typer.Option("--quick", help="Few steps, small samples, no studies.")] = False,
    word_vectors: Annotated[
        Path | None,
        typer.Option(envvar="TURNWISE_WORD_VECTORS", help="A text file of GloVe or word2vec vectors, for that row."),
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option(help="A setting of every training, such as bf16=true; may be repeated.")
    ] = None,
) -> None:
    """Train and evaluate every method of a paper's tables, and write a report; what is finished is not done again.

    Example: `turnwise bench dialoguecse --data corpora --quick --out report`
    """
    quiet_transformers()
    from turnwise.experiments.runner import run_suite
    from turnwise.experiments.tables import print_results

    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: no such folder")
    if word_vectors is not None and not word_vectors.is_file():
        raise ValueError(f"--word-vectors {word_vectors}: no such file")
    names = [name.strip() for given in methods or [] for name in given.split(",") if name.strip()]
    vectors = str(word_vectors) if word_vectors is not None else None
    results = run_suite(suite, data, encoder, out, names or None, seeds, quick, vectors, parse_settings(set or []))
    print_results(results)
    console.print(f"Wrote {out / 'report.md'} and {out / 'results.json'}")
    if any(cell["status"] == "failed" for cell in results["cells"]):
        raise typer.Exit(1)
