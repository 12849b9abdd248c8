"""The command that centres conversation vectors: `turnlens model centre`."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import Data, Force, Model, OutputFolder, Seed
from turnlens.cli.reading_options import Reading, reads_conversations
from turnlens.cli.terminal import quiet_transformers


@reads_conversations
def centre(
    data: Data,
    output: OutputFolder,
    reading: Reading,
    model: Model = None,
    stretch: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Multiply each principal component by its variance to this power; 0 only centres."
        ),
    ] = 0.1,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Centre conversation vectors: save the mean of these conversations' vectors, to be subtracted from each.

    Conversations from one source have much in common. Without this common part, cosines show what is particular to
    each. What is left is stretched a little along the directions in which the conversations differ most. No labels are
    needed. The result applies wherever turnlens embeds whole conversations with --pooling mean or messages.

    Example: `turnlens model centre chats.jsonl --model model --output centred`
    """
    quiet_transformers()
    from turnlens.training.centre import centre as fit_centre

    fit_centre(
        reading.read(data, output),
        encoder=model,
        output=output,
        stretch=stretch,
        seed=seed,
        force=force,
    )
    command = f"turnlens embed {reading.command_line(data)} --model {shlex.quote(str(output))} --level conversation"
    note(f"Wrote {output}. Next: {command} --output conversations.parquet")
