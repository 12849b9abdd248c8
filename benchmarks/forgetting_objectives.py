"""What `study_forgetting.py` tries: DialogueCSE with an anchor, other targets and other weights of negatives.

Pure functions of logits and of the untouched encoder's vectors first, then the loss and the recipe that use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn.functional import kl_div, normalize

from turnwise.encoders.forward import TokenSlice, encode_sliced, sliced_means, take
from turnwise.losses.in_batch import Turns
from turnwise.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings, _masked_mean, context_turns_of
from turnwise.papers.dialogue_cse.recipe import DialogueCSE

NEVER = -1e9


def structure_divergence(vectors: Tensor, before: Tensor, candidates: Tensor, temperature: float) -> Tensor:
    """KL(softmax(S₀/τ) ‖ softmax(S/τ)), the mean over rows, with S and S₀ the cosines among texts after and before.

    Args:
        vectors: Of length 1, for S (turns, dim).
        before: Of length 1, for S₀ (turns, dim).
        candidates: Which texts count for which (turns, turns).
        temperature: τ.
    """
    now, then = (
        (some @ some.T / temperature).masked_fill(~candidates, NEVER).log_softmax(1) for some in (vectors, before)
    )
    return kl_div(now, then, log_target=True, reduction="batchmean")


def weigh_by_hardness(logits: Tensor, candidates: Tensor, own: Tensor) -> Tensor:
    """Logits (rows, turns) whose negatives weigh exp(logit) over its mean, as in DSE (Zhou et al., NAACL 2022)."""
    negatives = candidates & ~own
    log_mean = logits.masked_fill(~negatives, NEVER).logsumexp(1) - negatives.sum(1).clamp(min=1).log()
    return torch.where(negatives, 2 * logits - log_mean[:, None], logits)


def soft_targets(targets: Tensor, similarities: Tensor, candidates: Tensor, share: float, temperature: float) -> Tensor:
    """Targets of which a share is softmax(similarities/temperature) over the candidates; all (rows, turns)."""
    soft = (similarities / temperature).masked_fill(~candidates, NEVER).softmax(1)
    return (1 - share) * targets + share * soft


def agreeing_turns(contexts: Tensor, conversation: Tensor, has_context: Tensor, at_least: float) -> Tensor:
    """The turn of another conversation that is the mutual nearest neighbour of each by its context, -1 for none.

    Args:
        contexts: The vector of each turn's context, of length 1 (turns, dim).
        conversation: The conversation of each turn (turns,).
        has_context: Whether it has any (turns,).
        at_least: The least cosine of two contexts that agree.
    """
    other = (conversation[:, None] != conversation) & has_context[:, None] & has_context
    cosine, nearest = (contexts @ contexts.T).masked_fill(~other, -2).max(1)
    mutual = nearest[nearest] == torch.arange(len(nearest), device=nearest.device)
    return nearest.where(mutual & (cosine >= at_least), -1)


@dataclass(frozen=True)
class Objective:
    """What differs from DialogueCSE.

    Attributes:
        anchor: λ of the structure anchor: the divergence of the similarities of a batch from the untouched encoder's.
        contextual: λ of the same from the similarities of untouched vectors each added to that of its context, so that
            a text learns what it is said about.
        divergence_temperature: τ of both.
        contrast: Weight of the contrast itself.
        soft: Share of the target that follows the untouched encoder's similarities.
        soft_by: Of which texts: of the responses, or of their contexts.
        soft_temperature: Of that softmax.
        hardness: Weigh negatives by hardness.
        agreeing: Share of the target for the response of the conversation whose context agrees.
        agreeing_cosine: From which cosine contexts agree.
    """

    anchor: float = 0.0
    contextual: float = 0.0
    divergence_temperature: float = 0.05
    contrast: float = 1.0
    soft: float = 0.0
    soft_by: Literal["responses", "contexts"] = "responses"
    soft_temperature: float = 0.1
    hardness: bool = False
    agreeing: float = 0.0
    agreeing_cosine: float = 0.8


class Remembered:
    """The vectors of an encoder as it is, kept from one training to the next."""

    def __init__(self, encoder: SentenceTransformer) -> None:
        self.encoder, self.kept = encoder.eval(), dict[bytes, Tensor]()

    @torch.no_grad()
    def vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The vectors of token rows, of length 1 (rows, dim)."""
        keys = [ids[mask.bool()].numpy().tobytes() for ids, mask in zip(input_ids, attention_mask)]
        new = torch.tensor([row for row, key in enumerate(keys) if key not in self.kept], dtype=torch.long)
        if len(new):
            rows = encode_sliced(self.encoder, input_ids[new], attention_mask[new])
            self.kept.update(zip([keys[row] for row in new], normalize(sliced_means(rows), dim=1)))
        return torch.stack([self.kept[key] for key in keys])


class StudyLoss(DialogueCSELoss):
    """DialogueCSE with an `Objective`, in one process."""

    def __init__(
        self, model: nn.Module, settings: DialogueCSESettings, objective: Objective, untouched: Remembered
    ) -> None:
        super().__init__(model, settings)
        self.objective, self.untouched = objective, untouched

    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        self.before = torch.empty(0)
        if self.objective != Objective():
            self.before = self.untouched.vectors(features["input_ids"], features["attention_mask"])
        return super().compute_loss(features)

    def compute_loss_from_embeddings(
        self, slices: list[TokenSlice], turn_text: Tensor, conversation: Tensor, text_key: Tensor, *_: object
    ) -> Tensor:
        contexts = context_turns_of(conversation, self.settings.context_turns, self.settings.context_count)
        with torch.autocast("cpu", enabled=False):
            means = take(sliced_means(slices), turn_text)
            scores = torch.cat([self._similarities(one, means, contexts, torch.empty(0)) for one in slices], dim=1)
            column = torch.cat([piece.rows for piece in slices]).argsort()
            logits = take(scores, column[turn_text], dim=1) / self.settings.temperature
            loss = self.objective.contrast * self._contrast(
                logits, contexts, turn_text, Turns.gather(conversation, text_key)
            )
            if self.objective.anchor or self.objective.contextual:
                loss = loss + self._kept(normalize(means, dim=1), take(self.before, turn_text), contexts, text_key)
            return loss

    def _kept(self, now: Tensor, before: Tensor, contexts: Tensor, text_key: Tensor) -> Tensor:
        """The divergences from the untouched encoder's similarities, weighted; vectors of length 1 (turns, dim)."""
        wanted, others = self.objective, text_key[:, None] != text_key
        in_context = normalize(before + normalize(_masked_mean(before, contexts), dim=1), dim=1)
        weighted = [
            weight * structure_divergence(now, target, others, wanted.divergence_temperature)
            for weight, target in ((wanted.anchor, before), (wanted.contextual, in_context))
            if weight
        ]
        return torch.stack(weighted).sum()

    def _contrast(self, logits: Tensor, contexts: Tensor, turn_text: Tensor, turns: Turns) -> Tensor:
        """Cross-entropy of every context's logits for all responses (turns, turns) to the objective's targets."""
        wanted, has_context = self.objective, (contexts >= 0).any(1)
        rows = has_context.nonzero().squeeze(1)
        own = torch.zeros(len(rows), len(contexts), dtype=torch.bool).scatter(1, rows[:, None], True)
        candidates = turns.negatives(rows, "batch") | own
        logits, targets = logits[rows], own.float()
        if wanted.soft or wanted.agreeing:
            before = take(self.before, turn_text)
            of_contexts = normalize(_masked_mean(before, contexts), dim=1)
        if wanted.agreeing:
            agreeing = agreeing_turns(of_contexts, turns.conversation, has_context, wanted.agreeing_cosine)[rows]
            also = torch.zeros_like(targets).scatter(1, agreeing.clamp(min=0)[:, None], 1.0)
            found = (agreeing >= 0) & (also.bool() & candidates).any(1)
            targets = torch.where(found[:, None], torch.lerp(targets, also, wanted.agreeing), targets)
        if wanted.soft:
            alike = before if wanted.soft_by == "responses" else of_contexts
            targets = soft_targets(targets, (alike @ alike.T)[rows], candidates, wanted.soft, wanted.soft_temperature)
        if wanted.hardness:
            logits = weigh_by_hardness(logits, candidates, own)
        return -(targets * logits.masked_fill(~candidates, NEVER).log_softmax(1)).sum(1).mean()


@dataclass(frozen=True)
class StudyRecipe(DialogueCSE):
    """DialogueCSE with an `Objective`."""

    objective: Objective = Objective()
    untouched: Remembered | None = None

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        if self.untouched is None:
            raise ValueError("the study needs the untouched encoder")
        return StudyLoss(encoder, DialogueCSESettings.of(self), self.objective, self.untouched)
