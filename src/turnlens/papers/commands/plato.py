"""The command that makes an encoder from a PLATO checkpoint, `turnlens papers convert-plato`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import Force, OutputFolder
from turnlens.cli.terminal import quiet_transformers


def convert_plato(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint, such as PLATO.pt.", show_default=False)],
    output: OutputFolder,
    tokenizer: Annotated[
        str, typer.Option(help="The BERT tokenizer with its vocabulary: a folder or a Hub name.")
    ] = "bert-base-uncased",
    force: Force = False,
) -> None:
    """Make an encoder from a PLATO checkpoint, from which the published dial2vec starts, or from a dial2vec checkpoint.

    Example: `turnlens papers convert-plato PLATO.pt --output plato`, then
    `turnlens train chats.jsonl --method dial2vec --preset paper --encoder plato --output model`
    """
    quiet_transformers()
    from turnlens.papers.dial2vec.plato import convert_plato as convert

    convert(checkpoint, output, tokenizer, force=force)
    note(f"Wrote {output}")
