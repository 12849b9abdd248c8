"""Interpolation of weights before and after training, and the merging of several trained encoders."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from turnlens._utils.arguments import refuse_single
from turnlens._utils.files import check_folder
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.loading import as_sentence_transformer, encoder_source
from turnlens.encoders.transformer import use_mean_pooling
from turnlens.formats.input_files import check_apart
from turnlens.training.model_card import save_encoder


def interpolate_weights(trained: nn.Module, before: dict[str, Tensor], interpolation: float) -> None:
    """Move the weights of an encoder or a head back, in place, along the straight line to those it had before.

    Args:
        trained: The trained encoder or head.
        before: The weights it had before, by name; other weights are not changed.
        interpolation: The position on the line, from the weights before (0) to the trained ones (1).
    """
    weights = trained.state_dict()
    with torch.no_grad():
        for name, start in before.items():
            if start.is_floating_point():
                weights[name].copy_(torch.lerp(start, weights[name], interpolation))


def merge_weights(
    encoder: SentenceTransformer, trained: Sequence[SentenceTransformer], scale: float | None = None
) -> SentenceTransformer:
    """Merge into an encoder, in place, what several encoders have learned that were each trained from its weights.

    Tokens that a training added are left out, and so are turn tables and reply heads.

    Args:
        encoder: The encoder they were trained from.
        trained: The trained encoders.
        scale: The difference of each trained encoder from the encoder is multiplied by this factor, and all are added
            to the encoder. 1 gives their sum (Ilharco et al., Editing Models with Task Arithmetic, ICLR 2023). The
            default is one over their number, which gives the average of their weights (Wortsman et al., Model Soups,
            ICML 2022).

    Raises:
        ValueError: ``trained`` is empty, one of them does not have the encoder's weights, or ``scale`` is out of range.
    """
    if not trained:
        raise ValueError("merging needs at least one trained encoder")
    scale = 1 / len(trained) if scale is None else scale
    if not 0 < scale <= 2:
        raise ValueError(f"scale must be above 0 and at most 2, got {scale!r}: 1 adds what each has learned")
    states = [model.state_dict() for model in trained]
    with torch.no_grad():
        for name, weight in encoder.state_dict().items():
            if not weight.is_floating_point():
                continue
            others = [state[name] for state in states if name in state and state[name].shape[1:] == weight.shape[1:]]
            if len(others) < len(states) or any(len(other) < len(weight) for other in others if weight.ndim):
                raise ValueError(f"the encoders were not trained from the same one: their weights {name!r} differ")
            learned = [(other[: len(weight)] if weight.ndim else other).to(weight.device) - weight for other in others]
            weight.add_(torch.stack(learned).sum(0), alpha=scale)
    return encoder


def merge(
    encoders: Sequence[Encoder | SentenceTransformer | str | os.PathLike[str]],
    *,
    base: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    scale: float | None = None,
    force: bool = False,
) -> ConversationEncoder:
    """Make one encoder from several that were trained from the same one, each for a different purpose.

    The task vector of each is the difference between its weights and those it started from. Task vectors mostly add
    up. Reply heads and centres are left out: they fit the vectors of one encoder only, and new ones are quickly fitted.

    Args:
        encoders: The trained encoders, or their folders.
        base: The encoder they were trained from (it is changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer.
        scale: Each difference is multiplied by this factor, see `turnlens.training.merging.merge_weights`. The
            default is one over the number of encoders, which averages them and forgets little; 1 adds them all.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: There is no encoder, one was trained from another base, or the scale is out of range.
        TypeError: ``encoders`` is a single path.

    Examples:
        >>> import turnlens
        >>> one, other = turnlens.load_encoder(), turnlens.load_encoder()  # or the folders of two trained encoders
        >>> merged = turnlens.merge([one, other])
        >>> merged.encode_messages(["Where is my parcel?"]).shape
        (1, 384)
    """
    refuse_single(encoders, "encoders")
    if output is not None:
        check_folder(output, force)
        for encoder in encoders:
            if isinstance(encoder, str | os.PathLike):
                check_apart(output, encoder)
    merged = as_sentence_transformer(base)
    source = encoder_source(merged)
    merged.reply_head, merged.centre = None, {}
    use_mean_pooling(merged)
    trained = [
        encoder if isinstance(encoder, SentenceTransformer) else as_sentence_transformer(encoder).to(merged.device)
        for encoder in encoders
    ]
    merge_weights(merged, trained, scale)
    if output is not None:
        record = {
            "level": "message",
            "recipe": {"method": "merge", "scale": scale, "models": len(trained)},
            "encoder": source,
            "conversations": "those its models learned from",
        }
        save_encoder(merged, output, record)
    return merged
