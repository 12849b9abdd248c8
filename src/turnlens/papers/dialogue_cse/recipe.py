"""The recipe of DialogueCSE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from datasets import Dataset
from typing_extensions import override

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.citations import DIALOGUE_CSE
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings, TurnWeights
from turnlens.papers.dialogue_cse.response_negatives import (
    ReleasedNegatives,
    ResponseNegatives,
    ResponseNegativesCollator,
    released_responses,
)
from turnlens.papers.in_batch import InBatch
from turnlens.papers.pieces import PieceCollator, UtterancePool, cut_samples
from turnlens.training.collators import TextCollator
from turnlens.training.losses.in_batch import Negatives
from turnlens.training.recipes.base import Inputs


@dataclass(frozen=True)
class DialogueCSE(InBatch, DialogueCSESettings):
    """See `turnlens.papers.DialogueCSESettings` for the other settings.

    Examples:
        >>> from turnlens.papers import DialogueCSE
        >>> DialogueCSE(max_steps=100).temperature
        0.1
    """

    citation: ClassVar[str] = DIALOGUE_CSE

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": conversations,
            "data_collator": TextCollator(encoder, self.max_length),
            "loss": DialogueCSELoss(encoder, DialogueCSESettings.of(self)),
        }


@dataclass(frozen=True)
class PublishedDialogueCSE(DialogueCSE):
    """``batch_size`` counts samples, which are single responses with their context; negatives come from the corpus.

    If the corpus was released with negatives of its own for some responses, as the E-commerce corpus was, these
    responses alone are the samples, and their negatives are drawn from those.

    The paper's main results use 9 negatives (compare Tables 4 and 2). Of the released negatives whose speaker can be
    told, 97 % have the response's own role. Eq. 7 is read literally. ``max_length`` and ``min_turns`` are those of the
    E-commerce corpus: the Jing Dong corpus has 100 tokens, the Microsoft corpus keeps conversations of any length.

    Examples:
        >>> from turnlens.papers import PublishedDialogueCSE
        >>> PublishedDialogueCSE().negatives
        9
    """

    starts_from: ClassVar[str] = BASE_ENCODER

    learning_rate: float = 5e-5
    batch_size: int = 20
    max_length: int = 50
    negatives: Negatives = 9
    turn_weights: TurnWeights = "tokens"
    min_turns: int = 4
    adaptation: Adaptation | None = field(default_factory=lambda: Adaptation(max_length=50))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives == "batch":
            raise ValueError("negatives must be a number, such as 9: as published, they are drawn from the corpus")

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        samples, count = cut_samples(conversations, self.reach), int(self.negatives)
        negatives: ResponseNegatives | ReleasedNegatives
        if responses := released_responses(conversations):
            negatives = ReleasedNegatives(count, self.seed)
            turns = zip(
                samples["row"], (start + response for start, response in zip(samples["start"], samples["response"]))
            )
            samples = samples.select([number for number, turn in enumerate(turns) if turn in responses])
        else:
            negatives = ResponseNegatives(UtterancePool(conversations), count, same_role=True, seed=self.seed)
        collator = ResponseNegativesCollator(encoder, self.max_length, negatives=negatives)
        return {
            **super().inputs(encoder, conversations),
            "train_dataset": samples,
            "data_collator": PieceCollator(collator, conversations),
        }
