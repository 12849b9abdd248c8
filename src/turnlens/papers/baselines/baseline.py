"""Baselines: how each is made, from what, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from turnlens._utils.registries import LevelName

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
