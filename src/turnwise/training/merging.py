"""Merging models that were trained from the same encoder, and saving the result."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.files import check_folder
from turnwise.data.reading.files import check_apart
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import as_encoder, encoder_source, load_encoder
from turnwise.encoders.transformer import use_mean_pooling
from turnwise.training.interpolation import merge_weights
from turnwise.training.saving import save_encoder


def merge_encoders(
    models: Sequence[str | os.PathLike[str]],
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    scale: float | None = None,
    force: bool = False,
) -> ConversationEncoder:
    """Make one encoder from several that were trained from the same one, each for a different purpose.

    What each has learned is the difference of its weights from those it started from, and these differences mostly add
    up. Reply heads and centres of dialogue vectors are left out: they fit the vectors of one encoder only, and
    fitting new ones to the merged encoder is quick.

    Args:
        models: Folders of trained encoders.
        encoder: The encoder they were trained from (it is changed), or its name or path; ``None`` is the default one.
        output: A folder to write the model to, as a stock SentenceTransformer.
        scale: Each difference is multiplied by this factor, see `turnwise.training.interpolation.merge_weights`. The
            default is one over the number of models, which averages them and forgets little; 1 adds them all.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: There is no model, a model was trained from another encoder, or the scale is out of range.
    """
    if output is not None:
        check_folder(output, force)
        for model in models:
            check_apart(output, model)
    encoder = as_encoder(encoder)
    source = encoder_source(encoder)
    encoder.reply_head, encoder.centre = None, {}
    use_mean_pooling(encoder)
    trained = [load_encoder(model, device=str(encoder.device)) for model in models]
    merge_weights(encoder, trained, scale)
    if output is not None:
        record = {
            "turnwise": turnwise.__version__,
            "level": "utterance",
            "recipe": {"method": "merge", "scale": scale, "models": len(models)},
            "encoder": source,
            "conversations": "those its models learned from",
        }
        save_encoder(encoder, output, record)
    return encoder
