"""Fitting the centre of an encoder's dialogue vectors to conversations, without labels, to a saved model."""

from __future__ import annotations

import os
from contextlib import nullcontext

import numpy as np
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.files import check_folder, only_writer
from turnwise.data.cleaning import drop_empty_messages
from turnwise.data.conversations import read_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.files import check_apart
from turnwise.encoders.centre import Centre, add_centre, remove_centre
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.loading import encoder_source, load_encoder
from turnwise.training.model_card import CENTRE
from turnwise.training.saving import save_encoder

_POOLINGS = ("mean", "messages")
_SAMPLE = 1000  # more changes nothing, see docs/results.md


def centre_encoder(
    conversations: Dataset | str | os.PathLike[str],
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    stretch: float = 0.1,
    force: bool = False,
) -> SentenceTransformer:
    """Put the mean of whole conversations beside an encoder, to be taken away from the vector of each.

    What is left is stretched along the directions in which conversations differ most. `encode_conversations` with the
    poolings ``"mean"`` and ``"messages"`` does both from now on, and with it evaluation and stores. Weights, and
    vectors of messages, stay as they are.

    Args:
        conversations: Conversations such as those to be embedded, or the path of some; 1,000 drawn from them count.
        encoder: The encoder (it is changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer.
        stretch: What power of its variance each principal component is multiplied by; 0 only centres.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: No conversation says anything, the output is among what is read, or ``stretch`` is out of range.
    """
    if not 0 <= stretch <= 1:
        raise ValueError(f"stretch must be from 0 (none) to 1, got {stretch!r}")
    if output is not None:
        check_folder(output, force)
        if not isinstance(conversations, Dataset):
            check_apart(output, conversations)
    if not isinstance(conversations, Dataset):
        conversations = read_conversations(conversations)
    if not isinstance(encoder, SentenceTransformer):
        encoder = load_encoder(encoder)
    with only_writer(output) if output is not None else nullcontext():
        sample = _sample(conversations)
        remove_centre(encoder)  # or it would be the mean of vectors that are centred already
        add_centre(encoder, {pooling: _fit(encoder, sample, pooling, stretch) for pooling in _POOLINGS})
        if output is not None:
            record = {
                "turnwise": turnwise.__version__,
                "recipe": {"method": CENTRE, "stretch": stretch, "sample": len(sample)},
                "encoder": encoder_source(encoder),
                "conversations": fingerprint(conversations),
            }
            save_encoder(encoder, output, record)
    return encoder


def _sample(conversations: Dataset) -> Dataset:
    drawn = np.random.default_rng(0).permutation(len(conversations))[:_SAMPLE]
    sample = drop_empty_messages(conversations.select(np.sort(drawn)).select_columns(["messages"]))
    if not len(sample):
        raise ValueError("none of the conversations says anything: the centre is the mean of some that do")
    return sample


def _fit(encoder: SentenceTransformer, conversations: Dataset, pooling: str, stretch: float) -> Centre:
    messages = conversations["messages"][:]
    return Centre.fit(encode_conversations(encoder, messages, pooling, show_progress_bar=True), stretch)
