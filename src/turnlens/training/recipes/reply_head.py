"""The recipe of the reply head, which learns from the vectors of an encoder that stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from typing_extensions import override

from turnlens._utils.arguments import check_interpolation, check_positive
from turnlens._utils.registries import LevelName
from turnlens.data.dataset_operations import draw_conversations, drop_empty_messages, fingerprint
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.embed import read_vectors
from turnlens.training.losses.composed import ComposedSettings
from turnlens.training.losses.in_batch import check_batch_size
from turnlens.training.recipes.base import Recipe
from turnlens.training.reply_head import FitReplyHead
from turnlens.training.run import Step, TrainingState


@dataclass(frozen=True)
class ReplyHeadRecipe(Recipe, ComposedSettings):
    """The encoder stays as it is; see `turnlens.training.losses.ComposedSettings` for the other settings.

    Attributes:
        learning_rate: Learning rate of the matrices.
        recency_learning_rate: Learning rate of the weights by distance.
        weight_decay: Weight decay of the matrices, which pulls them towards leaving the vectors unchanged.
        batch_size: Conversations in a step; all their turns are candidates.
        sample: Learn from this many conversations, drawn at random; by default from all.
        held_out: Share of the conversations that are held out to choose the best epoch and the interpolation; with 0
            the last epoch is taken.
        map_candidates: Whether the head maps candidates, too, which ranks a little better. Without it, candidates keep
            the vectors that they have as messages, so that stores need no second vector of each.
        teacher: The folder or name of a model that reads the whole context as one text, such as ``--method
            single-vector`` trains. Its distribution over the next messages is learned as well.
        interpolation: The position of the head on the straight line from the sum of cosines that it starts as (0) to
            what it has learned (1). In between, it ranks chats of another kind better than at either end. By default
            the tenth is taken that ranks the next messages of the held-out conversations best; 1 without any.

    Examples:
        >>> ReplyHeadRecipe(max_steps=10).context_turns
        10
    """

    level: ClassVar[LevelName] = "reply"
    one_process: ClassVar[bool] = True

    learning_rate: float = 1e-3
    recency_learning_rate: float = 2e-2
    weight_decay: float = 0.1
    batch_size: int = 64
    epochs: float = 8.0
    sample: int | None = None
    held_out: float = 0.1
    map_candidates: bool = True
    teacher: str | None = None
    interpolation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "recency_learning_rate", "sample")
        if self.interpolation is not None:
            check_interpolation(self.interpolation)
        check_batch_size(self.batch_size)
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be at least 0 and below 1, got {self.weight_decay!r}")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out must be at least 0 and below 1, got {self.held_out!r}")

    @override
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        if evaluator is not None:
            raise ValueError("a reply head chooses its epoch by conversations held out: leave the validation out")
        learning = encoder.shallow_copy()
        if isinstance(conversations, Path):
            if self.teacher is not None:
                raise ValueError(f"{conversations} holds vectors, a teacher reads texts: give the conversations")
            table = read_vectors(conversations, encoder)
            source = f"{len(table):,} embedded messages"
            return TrainingState(encoder, learning, Dataset.from_dict({}), source, embedded=table)
        read = conversations.select_columns(["id", "messages"])
        learned = drop_empty_messages(draw_conversations(read, self.sample, self.seed))
        return TrainingState(encoder, learning, learned, fingerprint(learned))

    @override
    def steps(self, state: TrainingState) -> Sequence[Step]:
        return [FitReplyHead(self)]
