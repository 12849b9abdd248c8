"""Fitting the centre of an encoder's dialogue vectors to conversations, without labels, to a saved model."""

from __future__ import annotations

import os
from contextlib import nullcontext

import numpy as np
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.files import check_folder, only_writer
from turnwise._utils.vectors import unit_vectors
from turnwise.data.cleaning import drop_empty_messages
from turnwise.data.conversations import read_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.files import check_apart
from turnwise.encoders.centre import add_centre, remove_centre
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.loading import encoder_source, load_encoder
from turnwise.training.model_card import CENTRE
from turnwise.training.saving import save_encoder

POOLINGS = ("mean", "messages")
_SAMPLE = 1000  # more changes nothing, see docs/results.md


def centre_encoder(
    conversations: Dataset | str | os.PathLike[str],
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> SentenceTransformer:
    """Put the mean of whole conversations beside an encoder, to be taken away from the vector of each.

    `encode_conversations` with the poolings ``"mean"`` and ``"messages"`` does so from now on, and with it evaluation
    and stores. Weights, and vectors of messages, stay as they are.

    Args:
        conversations: Conversations such as those to be embedded, or the path of some; 1,000 drawn from them count.
        encoder: The encoder (it is changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: No conversation says anything, or the output is among what is read.
    """
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
        add_centre(encoder, {pooling: _mean(encoder, sample, pooling) for pooling in POOLINGS})
        if output is not None:
            record = {
                "turnwise": turnwise.__version__,
                "recipe": {"method": CENTRE, "conversations": len(sample)},
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


def _mean(encoder: SentenceTransformer, conversations: Dataset, pooling: str) -> np.ndarray:
    messages = conversations["messages"][:]
    vectors = encode_conversations(encoder, messages, pooling, long="window", show_progress_bar=True)
    return np.asarray(unit_vectors(vectors).mean(0, dtype=np.float64).astype(np.float32))
