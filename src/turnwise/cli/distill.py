"""The command that makes a smaller encoder from a larger one: `turnwise model distill`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from turnwise._utils.progress import note
from turnwise.cli.options import Force, ModelArgument, OutputFolder
from turnwise.cli.terminal import quiet_transformers


def distill(
    model: ModelArgument,
    output: OutputFolder,
    to: Annotated[
        Literal["static"], typer.Option("--to", help="The kind of encoder to make from the model.")
    ] = "static",
    dimensions: Annotated[int, typer.Option("--dimensions", min=1, help="Length of the static vectors.")] = 256,
    force: Force = False,
) -> None:
    """Distill a static encoder from a model, with one fixed vector for each token: a first pass over very large logs.

    `turnwise evaluate` of both says how much is lost.

    Example: `turnwise model distill model --to static --output static`
    """
    quiet_transformers()
    from turnwise._utils.files import check_folder
    from turnwise.encoders.loading import load_encoder
    from turnwise.encoders.static import distill as make_static

    check_folder(output, force)
    make_static(load_encoder(model), dimensions=dimensions, output=output, force=force)
    note(f"Wrote {output}")
