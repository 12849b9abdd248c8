"""The levels of tasks: what the tasks of each level embed before they score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sentence_transformers import SentenceTransformer

from turnlens._utils.registries import LevelName
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.evaluation.conversations.labelled import EmbeddedConversations, EncodeConversations, embed_labelled
from turnlens.evaluation.replies.sequences import EmbeddedSequences
from turnlens.evaluation.scoring import Encode

Encoder = SentenceTransformer | Encode | EncodeConversations


@dataclass(frozen=True)
class Level:
    """The common part of tasks that embed the same things.

    Args:
        name: Its name.
        embed: ``embed(encoder, data, pooling)`` gives the arguments of ``measure`` before the seed. ``data`` is from
            ``load_task``; ``pooling`` says how whole conversations are embedded, see `turnlens.ConversationEncoder`.
        shares_data: Whether all its tasks are made from the same data, so that one embedding serves them all.
        takes_functions: Whether a function that embeds may be used in place of an encoder.
    """

    name: LevelName
    embed: Callable[[Any, Any, str], tuple[Any, ...]]
    shares_data: bool
    takes_functions: bool


def _with_texts(encoder: Any, data: Any, pooling: str) -> tuple[Any, Any]:
    """Tasks on messages embed their texts themselves."""
    if isinstance(encoder, SentenceTransformer):
        encoder = partial(ConversationEncoder.of(encoder).encode_messages, show_progress_bar=True)
    return encoder, data


def _with_conversations(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedConversations]:
    if isinstance(encoder, SentenceTransformer):
        of_encoder = ConversationEncoder.of(encoder).encode_conversations
        encoder = partial(of_encoder, pooling=pooling, show_progress_bar=True)
    return (embed_labelled(encoder, data),)


def _with_sequences(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedSequences]:
    return (EmbeddedSequences(encoder, data),)


MESSAGE = Level("message", _with_texts, shares_data=False, takes_functions=True)
CONVERSATION = Level("conversation", _with_conversations, shares_data=True, takes_functions=True)
REPLY = Level("reply", _with_sequences, shares_data=True, takes_functions=False)
