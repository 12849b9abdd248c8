"""The levels of tasks: what the tasks of each level embed before they score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sentence_transformers import SentenceTransformer

from turnwise._utils.levels import LevelName
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.evaluation.dialogues.labelled import EmbeddedDialogues, EncodeConversations, embed_dialogues
from turnwise.evaluation.scoring import Encode
from turnwise.evaluation.turn_order.sequences import EmbeddedSequences

Encoder = SentenceTransformer | Encode | EncodeConversations


@dataclass(frozen=True)
class Level:
    """What tasks that embed the same things have in common.

    Args:
        name: Its name.
        embed: ``embed(encoder, data, pooling)`` gives the arguments of ``measure`` before the seed. ``data`` is from
            ``load_task``; ``pooling`` says how whole dialogues are embedded, see `turnwise.ConversationEncoder`.
        shares_data: Whether all its tasks are made from the same data, so that one embedding serves them all.
        takes_functions: Whether a function that embeds may be used in place of an encoder.
    """

    name: LevelName
    embed: Callable[[Any, Any, str], tuple[Any, ...]]
    shares_data: bool
    takes_functions: bool


def _with_texts(encoder: Any, data: Any, pooling: str) -> tuple[Any, Any]:
    """Tasks on utterances embed their texts themselves."""
    if isinstance(encoder, SentenceTransformer):
        encoder = partial(ConversationEncoder.of(encoder).encode_messages, show_progress_bar=True)
    return encoder, data


def _with_dialogues(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedDialogues]:
    if isinstance(encoder, SentenceTransformer):
        of_encoder = ConversationEncoder.of(encoder).encode_conversations
        encoder = partial(of_encoder, pooling=pooling, show_progress_bar=True)
    return (embed_dialogues(encoder, data),)


def _with_sequences(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedSequences]:
    return (EmbeddedSequences(encoder, data),)


UTTERANCE = Level("utterance", _with_texts, shares_data=False, takes_functions=True)
DIALOGUE = Level("dialogue", _with_dialogues, shares_data=True, takes_functions=True)
TURN_ORDER = Level("turn-order", _with_sequences, shares_data=True, takes_functions=False)
