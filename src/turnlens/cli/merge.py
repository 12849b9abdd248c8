"""The command that merges several models into one: `turnlens model merge`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import Force, Model, OutputFolder
from turnlens.cli.terminal import quiet_transformers

_Models = Annotated[list[Path], typer.Argument(help="Folders of models that were trained from the same encoder.")]
_Scale = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=2,
        help="Factor for what each model has learned, before all is added up; by default, the average is taken.",
    ),
]


def merge(
    models: _Models, output: OutputFolder, model: Model = None, scale: _Scale = None, force: Force = False
) -> None:
    """Merge models that were trained from the same encoder for different tasks into one model for all these tasks.

    By default, their weights are averaged, which keeps most of what the encoder knew. With --scale 1, everything that
    they have learned is added up. If they were not trained from the default encoder, give their encoder as --model.

    Example: `turnlens model merge cse-model context-model --output model`
    """
    quiet_transformers()
    from turnlens.training.merging import merge as merge_models

    merge_models(models, base=model, output=output, scale=scale, force=force)
    note(f"Wrote {output}. Next: turnlens train CHATS --method reply-head --encoder {shlex.quote(str(output))}")
