"""The command that makes one model of several: `turnwise model merge`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from turnwise._utils.progress import note
from turnwise.cli.options import Force, Model, OutputFolder
from turnwise.cli.terminal import quiet_transformers

_Models = Annotated[list[Path], typer.Argument(help="Folders of models that were trained from the same encoder.")]
_Scale = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=2,
        help="What is multiplied with what each has learned before all is added up; by default their average.",
    ),
]


def merge(
    models: _Models, output: OutputFolder, model: Model = None, scale: _Scale = None, force: Force = False
) -> None:
    """Make one model of several that were trained from the same encoder, each for something else: it can do it all.

    The average of their weights forgets little of what the encoder knew; --scale 1 adds up all that they have learned.
    --model is the encoder they were trained from, if it is not the default one.

    Example: `turnwise model merge cse-model context-model --output model`
    """
    quiet_transformers()
    from turnwise.training import merge_encoders

    merge_encoders(models, model, output, scale, force)
    note(f"Wrote {output}. Next: turnwise train CHATS --method turn-order-head --encoder {shlex.quote(str(output))}")
