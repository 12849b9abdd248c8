"""The recipe of the reply head, which learns from the vectors of an encoder that stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from typing_extensions import override

from turnlens._utils.registries import LevelName
from turnlens.data.cleaning import drop_empty_messages
from turnlens.data.drawing import draw_conversations
from turnlens.data.fingerprint import fingerprint
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.embed import read_vectors
from turnlens.training.recipes.base import Recipe
from turnlens.training.recipes.reply_head_settings import ReplyHeadSettings
from turnlens.training.reply_head import FitReplyHead
from turnlens.training.run import Step
from turnlens.training.state import TrainingState


@dataclass(frozen=True)
class ReplyHeadRecipe(ReplyHeadSettings, Recipe):
    """See `turnlens.training.recipes.reply_head_settings.ReplyHeadSettings` for its settings."""

    level: ClassVar[LevelName] = "reply"
    one_process: ClassVar[bool] = True

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
