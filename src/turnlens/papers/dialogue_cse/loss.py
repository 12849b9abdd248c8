"""DialogueCSE: utterance embeddings from multi-turn dialogues by matching-guided embedding and contrast.

Liu et al., DialogueCSE: Dialogue-based Contrastive Learning of Sentence Embeddings, EMNLP 2021.

The paper matches every context utterance U (n_u, d) with a response R (n, d) token by token, M = U Rᵀ/√d (Eq. 3),
refines R̂ = M R (Eq. 4), aggregates over turns (Eq. 5–7) and compares the token-pooled result with the token-pooled R.
Pooling is linear, so with ū the mean-pooled context, averaged over its turns,

    pooled R̃ = mean over tokens and turns of (U Rᵀ R)/√d = Rᵀ (R ū)/√d,

and no matching matrix is ever needed. Only z = R ū, one number per response token, depends on the context.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens.encoders.forward import TokenSlice, encode_sliced, full_precision, sliced_means, take
from turnlens.papers import citations
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import InBatchSettings, Turns, among, cross_entropy, process_mean

Aggregation = Literal["mean", "attention"]
ContextCount = Literal["each-side", "in-all"]
TurnWeights = Literal["equal", "tokens"]
_TINY = 1e-12


def context_aware_embeddings(response_tokens: Tensor, response_mask: Tensor, context_means: Tensor) -> Tensor:
    """The token-pooled context-aware embedding of every response under every context (Eq. 3, 4 and 7, I2).

    Args:
        response_tokens: Token embeddings of the responses (R, n, d).
        response_mask: 1 for tokens, 0 for padding (R, n).
        context_means: Mean-pooled contexts: the mean over the context's turns of each turn's mean token (C, d).

    Returns:
        The embeddings (C, R, d).

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> import torch
        >>> from turnlens.papers import context_aware_embeddings
        >>> response, mask, context = torch.eye(4)[None], torch.ones(1, 4), torch.tensor([[1.0, 0.0, 0.0, 0.0]])
        >>> context_aware_embeddings(response, mask, context)
        tensor([[[0.5000, 0.0000, 0.0000, 0.0000]]])
    """
    shapes = tuple(response_tokens.shape), tuple(response_mask.shape), tuple(context_means.shape)
    if len(shapes[0]) != 3 or shapes[1] != shapes[0][:2] or shapes[2][1:] != shapes[0][2:]:
        raise ValueError(f"expected shapes (R, n, d), (R, n) and (C, d), got {shapes[0]}, {shapes[1]} and {shapes[2]}")
    tokens = response_tokens * response_mask.unsqueeze(-1).to(response_tokens.dtype)
    matched = torch.einsum("rnd,cd->crn", tokens, context_means)
    return torch.einsum("crn,rnd->crd", matched, tokens) / math.sqrt(tokens.shape[-1])


def context_turns_of(conversation: Tensor, context_turns: int, count: ContextCount = "each-side") -> Tensor:
    """The bidirectional context of each turn: the nearest turns, fewer at the edges.

    Args:
        conversation: The conversation of each turn, with the turns of one conversation in a row (T,).
        context_turns: How many turns.
        count: Whether this is the number on each side, or the number in all, which are taken alternately, first one
            before and then one after.

    Returns:
        Turn numbers, -1 where there is none (T, 2 · context_turns or context_turns).
    """
    turns = len(conversation)
    offsets = [offset for offset in range(-context_turns, context_turns + 1) if offset != 0]
    if count == "in-all":
        offsets = sorted(sorted(offsets, key=lambda offset: (abs(offset), offset))[:context_turns])
    numbers = torch.arange(turns, device=conversation.device)[:, None] + torch.tensor(
        offsets, device=conversation.device
    )
    inside = (numbers >= 0) & (numbers < turns)
    same = conversation[numbers.clamp(0, turns - 1)] == conversation[:, None]
    return numbers.where(inside & same & (conversation >= 0)[:, None], -1)


@dataclass(frozen=True)
class DialogueCSESettings(InBatchSettings):
    """Settings of `DialogueCSELoss`.

    Attributes:
        context_turns: Turns of context (the paper's best: 3).
        context_count: Whether these are ``"each-side"`` of a response, or ``"in-all"``.
        aggregation: ``"mean"`` of the refined matrices over turns (Eq. 7, I2), or ``"attention"`` (Eq. 5 and 6, I1):
            a two-layer ReLU network scores each token-pooled refined matrix, softmax over the turns.
        turn_weights: ``"equal"``: each turn of the context has the same weight. ``"tokens"``: each token of the context
            has the same weight, as when refined matrices padded to one length are added up (Eq. 5 and 7, read
            literally).
        temperature: τ of Eq. 8.

    Examples:
        >>> from turnlens.papers import DialogueCSESettings
        >>> DialogueCSESettings(context_turns=5, context_count="in-all").reach
        3
    """

    context_turns: int = 3
    context_count: ContextCount = "each-side"
    aggregation: Aggregation = "mean"
    turn_weights: TurnWeights = "equal"
    temperature: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns", "temperature")

    @property
    def reach(self) -> int:
        """Return how many turns away from a response its context may lie."""
        return self.context_turns if self.context_count == "each-side" else (self.context_turns + 1) // 2


class DialogueCSELoss(ConversationLoss[DialogueCSESettings]):
    """Contrast each response's context-aware with its context-free embedding, against other conversations' responses.

    Takes the features of `turnlens.training.collators.TextCollator`. Every distinct text of the batch is encoded once;
    all pairs of contexts and responses are scored by algebra, so more negatives cost nothing.

    Args:
        model: The encoder, pooled by the mean.
        settings: The settings.
    """

    citation = citations.DIALOGUE_CSE

    def __init__(self, model: nn.Module, settings: DialogueCSESettings | None = None) -> None:
        super().__init__(model, settings or DialogueCSESettings())
        self.turn_scorer: nn.Module | None = None
        if self.settings.aggregation == "attention":
            dim = int(model.get_embedding_dimension())  # type: ignore[operator]
            self.turn_scorer = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        slices = list(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        return self.compute_loss_from_embeddings(
            slices, features["turn_text"], features["conversation"], features["text_key"], features.get("negative_text")
        )

    def compute_loss_from_embeddings(
        self,
        slices: list[TokenSlice],
        turn_text: Tensor,
        conversation: Tensor,
        text_key: Tensor,
        negative_text: Tensor | None = None,
    ) -> Tensor:
        """The loss from token embeddings of the distinct texts; the other arguments as in the collator, (turns,)."""
        if negative_text is not None:
            return self._against_corpus(slices, turn_text, conversation, negative_text)
        settings, turns = self.settings, Turns.gather(conversation, text_key)
        contexts = context_turns_of(turns.conversation, settings.context_turns, settings.context_count)
        scores, column = self._scores(slices, turn_text, contexts, turns.gather_rows)
        scores = turns.exchange(take(scores, column[turn_text], dim=1))  # (own turns, all turns)
        own_contexts = contexts[turns.start : turns.start + turns.own]
        responses = (own_contexts >= 0).any(1).nonzero().squeeze(1)
        logits = among(scores[responses] / settings.temperature, turns.candidates(responses, settings.negatives))
        return process_mean(self.contrast(logits, responses + turns.start).sum(), len(responses))

    def contrast(self, logits: Tensor, positive: Tensor) -> Tensor:
        """The loss of each response among its candidates: NT-Xent (Eq. 8). A subclass may contrast otherwise.

        Args:
            logits: Similarities of contexts and candidates, divided by the temperature; -1e9 where a response is no
                candidate (responses, candidates).
            positive: The column of each response itself (responses,).

        Returns:
            The losses (responses,).
        """
        return cross_entropy(logits, positive)

    def _against_corpus(
        self, slices: list[TokenSlice], turn_text: Tensor, conversation: Tensor, negative_text: Tensor
    ) -> Tensor:
        """The loss against the responses that the collator drew for each one (turns, count)."""
        settings = self.settings
        contexts = context_turns_of(conversation, settings.context_turns, settings.context_count)
        responses = ((contexts >= 0).any(1) & (negative_text[:, 0] >= 0)).nonzero().squeeze(1)
        scores, column = self._scores(slices, turn_text, contexts[responses])
        candidates = torch.cat([turn_text[:, None], negative_text], dim=1)[responses]  # (responses, 1 + count)
        logits = scores.gather(1, column[candidates]) / settings.temperature
        return process_mean(self.contrast(logits, torch.zeros_like(responses)).sum(), len(responses))

    def _scores(
        self,
        slices: list[TokenSlice],
        turn_text: Tensor,
        contexts: Tensor,
        gather: Callable[[Tensor], Tensor] = lambda rows: rows,
    ) -> tuple[Tensor, Tensor]:
        """The similarities of contexts and texts (contexts, texts), and the column of each text (texts,)."""
        with full_precision(turn_text.device):
            means, lengths = (gather(take(of(slices), turn_text)) for of in (sliced_means, _text_lengths))
            scores = torch.cat([self._similarities(piece, means, contexts, lengths) for piece in slices], dim=1)
        return scores, torch.cat([piece.rows for piece in slices]).argsort()

    def _similarities(self, responses: TokenSlice, turn_means: Tensor, contexts: Tensor, lengths: Tensor) -> Tensor:
        """Cosine of the context-free and the context-aware embedding, for every context and response.

        Args:
            responses: R responses of n tokens.
            turn_means: Mean-pooled turns (turns, dim).
            contexts: The turns of each context (C, K), see `context_turns_of`.
            lengths: Tokens of each turn (turns,).

        Returns:
            The similarities (C, R).
        """
        weights = lengths if self.settings.turn_weights == "tokens" else None
        tokens = responses.tokens
        if self.turn_scorer is None:
            context_means = _masked_mean(turn_means, contexts, weights)  # (C, dim)
            z = torch.einsum("rnd,cd->rnc", tokens, context_means)
        else:
            z = _attended(self.turn_scorer, responses, turn_means, contexts, weights)
        # With z the context-aware embedding is Rᵀz/√d. Its inner product with the mean token r̄ is (R r̄)·z, its squared
        # norm z·(R Rᵀ)z: nothing of size (C, R, dim) is needed. The cosine does not see the factor 1/√d.
        free = responses.means()  # (R, dim)
        inner = torch.einsum("rn,rnc->rc", torch.einsum("rnd,rd->rn", tokens, free), z)
        gram = torch.einsum("rnd,rmd->rnm", tokens, tokens)
        squared_norm = (torch.bmm(gram, z) * z).sum(1)
        norm = free.norm(dim=1, keepdim=True) * squared_norm.clamp(min=_TINY).sqrt()
        return (inner / norm.clamp(min=_TINY)).T


def _text_lengths(slices: list[TokenSlice]) -> Tensor:
    """Tokens of each distinct text (texts,)."""
    return torch.cat([piece.mask.sum(1) for piece in slices])[torch.cat([piece.rows for piece in slices]).argsort()]


def _masked_mean(turn_means: Tensor, contexts: Tensor, turn_weights: Tensor | None = None) -> Tensor:
    """The mean of the turns of each context, perhaps weighted (C, dim); zero for a context without turns."""
    present = (contexts >= 0).to(turn_means.dtype)
    if turn_weights is not None:
        present = present * take(turn_weights, contexts)
    total = torch.einsum("ck,ckd->cd", present, take(turn_means, contexts))
    return total / present.sum(1, keepdim=True).clamp(min=1)


def _attended(
    turn_scorer: nn.Module,
    responses: TokenSlice,
    turn_means: Tensor,
    contexts: Tensor,
    turn_weights: Tensor | None = None,
) -> Tensor:
    """The z of I1: the turns' own z, weighted by the attention each turn gets for this response (R, n, C)."""
    refined = context_aware_embeddings(responses.tokens, responses.mask, turn_means)  # (turns, R, dim)
    turn_scores = take(turn_scorer(refined).squeeze(-1), contexts)  # (C, 2 · context_turns, R)
    absent = contexts < 0
    # A turn without any context gets equal weights of zeros, which are finite; its row is not used.
    turn_scores = turn_scores.masked_fill(absent.unsqueeze(-1), -1e30)
    weights = turn_scores.softmax(1).masked_fill(absent.unsqueeze(-1), 0)
    if turn_weights is not None:
        weights = weights * take(turn_weights, contexts).unsqueeze(-1)
    turn_z = torch.einsum("rnd,td->rnt", responses.tokens, turn_means)
    z = torch.zeros(*turn_z.shape[:2], len(contexts), device=turn_z.device)
    for slot in range(contexts.shape[1]):
        z = z + take(turn_z, contexts[:, slot], dim=2) * weights[:, slot].T.unsqueeze(1)
    return z
