"""Learning from one pass over the messages of a batch both which utterance comes next and what utterances mean.

The reply head and the encoder learn together by the softmax over the composed query (`turnwise.losses.composed`).
They learn from the true next utterances and from the distribution of a teacher that reads the whole context as one
text. The same token embeddings are used by the contrastive loss of DialogueCSE. So one encoder's vectors of single
messages serve utterances, whole dialogues and next utterances.
"""

from __future__ import annotations

from dataclasses import dataclass

from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from turnwise._utils import citations
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnwise.encoders.reply_head import ReplyHead
from turnwise.losses.base import ConversationLoss
from turnwise.losses.composed import ComposedSettings, composed_loss
from turnwise.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings


@dataclass(frozen=True)
class UnifiedSettings(ComposedSettings):
    """Settings of `UnifiedLoss`; those for next utterances are in `ComposedSettings`.

    Attributes:
        utterance_weight: Weight of the loss of DialogueCSE, with its default settings; 0 leaves it out.
    """

    utterance_weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.utterance_weight < 0:
            raise ValueError(f"utterance_weight must be 0 or more, got {self.utterance_weight!r}")


class UnifiedLoss(ConversationLoss[UnifiedSettings]):
    """Next utterances by composed queries, with or without a teacher, and utterances by DialogueCSE.

    Takes the features of `turnwise.papers.tried.taught_collator.TaughtCollator`, and learns from a teacher if they hold
    its vectors. Every distinct text of the batch is encoded once.

    Args:
        model: The encoder, pooled by the mean. Its reply head learns further; if it has none, a new one is put
            beside it.
        settings: The settings.
    """

    citation = f"{citations.TRIPLE_ENCODERS}\n\n{citations.DIALOGUE_CSE}"

    def __init__(self, model: SentenceTransformer, settings: UnifiedSettings | None = None) -> None:
        super().__init__(model, settings or UnifiedSettings())
        encoder = ConversationEncoder.of(model)
        if encoder.reply_head is None:
            encoder.reply_head = ReplyHead(model.get_embedding_dimension() or 0, self.settings.context_turns)
        self.head = encoder.reply_head.requires_grad_(True)
        # In a tuple, so that it is not part of this module.
        self._utterances = (DialogueCSELoss(model, DialogueCSESettings(negatives=self.settings.negatives)),)

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        slices = list(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        turns = features["turn_text"], features["conversation"], features["text_key"]
        with full_precision(features["conversation"].device):
            vectors = normalize(take(sliced_means(slices), features["turn_text"]), dim=1)
            loss = composed_loss(
                self.head,
                vectors,
                features["speaker"],
                features["conversation"],
                features["text_key"],
                self.settings,
                (features["teacher_context"], features["teacher_response"]) if "teacher_context" in features else None,
            )
        if self.settings.utterance_weight:
            (utterances,) = self._utterances
            loss = loss + self.settings.utterance_weight * utterances.compute_loss_from_embeddings(slices, *turns)
        return loss
