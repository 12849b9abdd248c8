"""Baselines as data, what they learn from, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np

from turnlens._utils.registries import LevelName
from turnlens.data.messages import Conversations, Messages, distinct_texts, document


class UtteranceBaseline(Protocol):
    """Embeds utterances. ``fit`` takes conversations; where nothing is to be learned it does nothing."""

    def fit(self, conversations: Any) -> Self:
        """Learn from conversations, if there is anything to learn."""
        ...

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        ...


class DialogueBaseline(Protocol):
    """Embeds whole dialogues."""

    def fit(self, conversations: Any) -> Self:
        """Learn from conversations, if there is anything to learn."""
        ...

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Embed dialogues, float32 (dialogues, dim)."""
        ...


Learned = TypeVar("Learned")


def utterances(conversations: Conversations) -> list[str]:
    """The distinct utterances of conversations.

    Raises:
        ValueError: There are none.
        ConversationError: A row is malformed.
    """
    texts = distinct_texts(conversations)
    if not texts:
        raise ValueError("no conversations with text to fit a baseline to")
    return texts


def documents(conversations: Conversations) -> list[str]:
    """Each conversation as one text; see ``utterances`` for the errors."""
    texts = [document(row["messages"], f"row {number}") for number, row in enumerate(conversations)]
    if not any(texts):
        raise ValueError("no conversations with text to fit a baseline to")
    return texts


def fitted(learned: Learned | None, owner: object) -> Learned:
    """The result of ``fit``.

    Raises:
        ValueError: ``fit`` was not called.
    """
    if learned is None:
        raise ValueError(f"{type(owner).__name__} has learned nothing yet: call fit(conversations) first")
    return learned


Need = Literal["nothing", "encoder", "word_vectors", "model"]
# What a baseline can do: embed, name clusters (one task), or rank the candidates of a retrieval task.
Output = Literal["embeddings", "clusters", "rankings"]
# How ``fit`` learns; only learning with randomness depends on the seed.
Learning = Literal["nothing", "deterministically", "randomly"]


@dataclass(frozen=True)
class BaselineInputs:
    """The ingredients of baselines.

    Attributes:
        encoder: An encoder, for baselines that start from one; none of them changes it.
        word_vectors: A file of word vectors.
        model: A Hugging Face model, by name or folder.
        topics: Number of topics, for baselines that find topics.
        seed: Seed of everything random.
    """

    encoder: Any = None
    word_vectors: Any = None
    model: Any = None
    topics: int = 20
    seed: int = 0


Make = Callable[[BaselineInputs], Any]


@dataclass(frozen=True)
class Baseline:
    """One baseline, as data.

    Attributes:
        name: Its name, words joined by hyphens.
        description: What it is.
        paper: Authors and year.
        make: How it is made, for each level it serves.
        needs: What the user has to provide: an encoder (the default one will do), a file of word vectors, a model.
        learns: How it learns from the conversations it is fitted to.
        gives: What it gives; only ``"embeddings"`` serve all tasks of the level.
    """

    name: str
    description: str
    paper: str
    make: dict[LevelName, Make]
    needs: Need = "nothing"
    learns: Learning = "nothing"
    gives: Output = "embeddings"

    @property
    def levels(self) -> tuple[LevelName, ...]:
        """The level that it embeds."""
        return tuple(self.make)
