"""Fitting the centre of an encoder's conversation vectors to conversations without labels, and saving the model."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from sentence_transformers import SentenceTransformer
from typing_extensions import override

from turnlens._utils.files import check_folder, only_writer
from turnlens._utils.vectors import FloatArray
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.data.dataset_operations import draw_conversations, drop_empty_messages, fingerprint
from turnlens.data.messages import Messages, texts_of
from turnlens.encoders.centre import Centre
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.loading import as_sentence_transformer, encoder_source
from turnlens.encoders.messages import message_tokens, pool_messages
from turnlens.formats.input_files import check_apart
from turnlens.training.model_card import save_encoder
from turnlens.training.run import Run, Step, TrainingState, count_messages

CENTRE_SAMPLE = 1000  # more conversations change nothing: docs/research-log
STRETCH = 0.1
_WITH_WHOLE_CONVERSATIONS = 1.6  # processor time for each message, in times of embedding it


def centre(
    data: ConversationSource,
    *,
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    stretch: float = STRETCH,
    seed: int = 0,
    force: bool = False,
) -> ConversationEncoder:
    """Put the mean of whole conversations beside an encoder, to be subtracted from the vector of each.

    What is left is stretched along the directions in which conversations differ most. From then on, its method
    ``encode_conversations`` does both with the poolings ``"mean"`` and ``"messages"``, and so do evaluation and stores.
    The encoder's weights and the vectors of messages stay as they are.

    Args:
        data: Conversations like those to be embedded, as `turnlens.read_conversations` reads or gives them.
            1,000 of them are drawn and used.
        encoder: The encoder (it is changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer.
        stretch: Each principal component is multiplied by this power of its variance; 0 only centres.
        seed: Seed of the sample.
        force: Overwrite the output.

    Returns:
        The encoder.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: No conversation says anything, the output is among what is read, or ``stretch`` is out of range.

    Examples:
        >>> import turnlens
        >>> encoder = turnlens.centre(turnlens.sample_conversations(6))
        >>> sorted(encoder.centre)
        ['mean', 'messages']
    """
    if not 0 <= stretch <= 1:
        raise ValueError(f"stretch must be from 0 (none) to 1, got {stretch!r}")
    if output is not None:
        check_folder(output, force)
        check_apart(output, data)
    conversations = read_conversations(data)
    encoder = as_sentence_transformer(encoder)
    with only_writer(output) if output is not None else nullcontext():
        drawn = draw_conversations(conversations, CENTRE_SAMPLE, seed).select_columns(["messages"])
        if not len(sample := drop_empty_messages(drawn)):
            raise ValueError("none of the conversations has any text, so there is no mean to take as the centre")
        fit_centre(encoder, sample["messages"][:], stretch=stretch)
        if output is not None:
            record = {
                "recipe": {"method": "centre", "stretch": stretch, "sample": len(sample)},
                "encoder": encoder_source(encoder),
                "conversations": fingerprint(conversations),
            }
            save_encoder(encoder, output, record)
    return encoder


def fit_centre(
    encoder: ConversationEncoder,
    conversations: list[Messages],
    vectors: FloatArray | None = None,
    *,
    stretch: float = STRETCH,
) -> None:
    """Put a centre for each way of pooling beside an encoder.

    Args:
        encoder: The encoder.
        conversations: What to fit it to; none is empty.
        vectors: The encoder's vectors of the messages, each read alone (messages, dim); by default they are made.
        stretch: See `centre`.
    """
    texts = texts_of(conversations)
    starts = np.cumsum([0, *map(len, conversations)])[:-1]
    if vectors is None:
        vectors = encoder.encode_messages(texts, show_progress_bar=True)
    tokens = message_tokens(encoder, texts)
    encoder.centre = {}  # or the new centre would be fitted to vectors that are already centred
    joined = encoder.encode_conversations(conversations, show_progress_bar=True)
    of_joined = Centre.fit(joined, stretch)
    of_messages = Centre.fit(pool_messages(vectors, tokens, starts), stretch)
    encoder.centre = {"mean": of_joined, "messages": of_messages}


@dataclass(frozen=True)
class FitCentre(Step):
    """Fit a centre to the training conversations."""

    name: str = "centre"

    @override
    def work(self, state: TrainingState) -> float:
        used = min(1.0, CENTRE_SAMPLE / max(1, len(state.conversations)))
        return _WITH_WHOLE_CONVERSATIONS * used * count_messages(state.conversations)

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        conversations, vectors = state.conversations["messages"][:], state.vectors.get("learned")
        if vectors is not None:
            conversations = conversations[:CENTRE_SAMPLE]
            vectors = vectors[: sum(map(len, conversations))]
        fit_centre(state.encoder, conversations, vectors)
