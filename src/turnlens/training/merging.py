"""Merging models that were trained from the same encoder, and saving the result."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sentence_transformers import SentenceTransformer

import turnlens
from turnlens._utils.arguments import refuse_single
from turnlens._utils.files import check_folder
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.identity import encoder_source
from turnlens.encoders.loading import as_encoder, load_encoder
from turnlens.encoders.transformer import use_mean_pooling
from turnlens.formats.input_files import check_apart
from turnlens.training.interpolation import merge_weights
from turnlens.training.saving import save_encoder


def merge(
    encoders: Sequence[SentenceTransformer | str | os.PathLike[str]],
    *,
    base: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    scale: float | None = None,
    force: bool = False,
) -> ConversationEncoder:
    """Make one encoder from several that were trained from the same one, each for a different purpose.

    What each has learned is the difference between its weights and those it started from, and these differences
    mostly add up. Reply heads and centres of conversation vectors are left out: they fit the vectors of one encoder
    only, and fitting new ones to the merged encoder is quick.

    Args:
        encoders: The trained encoders, or their folders.
        base: The encoder they were trained from (it is changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer.
        scale: Each difference is multiplied by this factor, see `turnlens.training.interpolation.merge_weights`. The
            default is one over the number of encoders, which averages them and forgets little; 1 adds them all.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: There is no encoder, one was trained from another base, or the scale is out of range.
        TypeError: ``encoders`` is a single path.
    """
    refuse_single(encoders, "encoders")
    if output is not None:
        check_folder(output, force)
        for encoder in encoders:
            if not isinstance(encoder, SentenceTransformer):
                check_apart(output, encoder)
    merged = as_encoder(base)
    source = encoder_source(merged)
    merged.reply_head, merged.centre = None, {}
    use_mean_pooling(merged)
    trained = [
        encoder if isinstance(encoder, SentenceTransformer) else load_encoder(encoder, device=str(merged.device))
        for encoder in encoders
    ]
    merge_weights(merged, trained, scale)
    if output is not None:
        record = {
            "turnlens": turnlens.__version__,
            "level": "message",
            "recipe": {"method": "merge", "scale": scale, "models": len(trained)},
            "encoder": source,
            "conversations": "those its models learned from",
        }
        save_encoder(merged, output, record)
    return merged
