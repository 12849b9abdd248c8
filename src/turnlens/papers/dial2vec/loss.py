"""dial2vec: whole-dialogue embeddings guided by the interaction between interlocutors.

Liu et al., Dial2vec: Self-Guided Contrastive Learning of Unsupervised Dialogue Embeddings, EMNLP 2022.

The paper matches all token pairs of two interlocutors, C = Ê' Êᵀ (Eq. 2, n × n, zero for turns further apart than the
window w), and multiplies by Ê again (Eq. 3). Pooled over tokens, this leaves, for an interlocutor with the tokens e_j:

    pooled Ẽ = Σ_j (e_j · v_T(j)) e_j / n_other,    v_t = Σ of the others' tokens in turns within w of turn t,

and one cumulative sum over turns gives v for all of them: O(n · d), without any n × n matrix. With more than two
interlocutors, the others of each are all the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, one_hot, pad
from typing_extensions import override

from turnlens._utils.arguments import Settings, check_positive
from turnlens.encoders.forward import encode_rows, full_precision, take
from turnlens.papers import citations
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import process_mean


def self_representation(tokens: Tensor, speaker: Tensor) -> Tensor:
    """The mean token of each speaker (Eq. 1, pooled).

    Args:
        tokens: Token embeddings (B, n, d).
        speaker: The speaker of each token, from 0; -1 for padding and tokens of no speaker (B, n).

    Returns:
        The means; zero for a speaker without tokens (B, speakers, d).
    """
    own = _speakers(speaker, tokens.dtype)  # (B, n, speakers)
    return torch.einsum("bns,bnd->bsd", own, tokens) / own.sum(1).clamp(min=1).unsqueeze(-1)


def cross_representation(tokens: Tensor, speaker: Tensor, turn: Tensor, window: float = 10) -> Tensor:
    """The pooled cross-representation of each speaker (Eq. 2 and 3 with the window mask), exact in O(n · d).

    Args:
        tokens: Token embeddings (B, n, d).
        speaker: The speaker of each token, from 0; -1 for padding and tokens of no speaker (B, n).
        turn: The turn of each token, from 0; ignored where the speaker is -1 (B, n).
        window: Turns further apart do not match; ``math.inf`` for no limit.

    Returns:
        The mean over the other speakers' tokens of the rows of Ẽ (B, speakers, d). It is zero for a speaker without
        tokens, and where no other speaker has tokens.

    Raises:
        ValueError: The shapes do not match, or the window is negative.
    """
    if tokens.ndim != 3 or speaker.shape != tokens.shape[:2] or turn.shape != tokens.shape[:2]:
        raise ValueError(
            f"expected shapes (B, n, d), (B, n) and (B, n), got {tuple(tokens.shape)}, {tuple(speaker.shape)} "
            f"and {tuple(turn.shape)}"
        )
    _check_window(window)
    own = _speakers(speaker, tokens.dtype)  # (B, n, speakers)
    turn = turn.masked_fill(speaker < 0, 0)
    turns = int(turn.max()) + 1
    reach = turns if math.isinf(window) else min(int(window), turns)
    first = (torch.arange(turns, device=tokens.device) - reach).clamp(min=0)
    after = (torch.arange(turns, device=tokens.device) + reach + 1).clamp(max=turns)
    pooled = []
    for number in range(own.shape[2]):
        mine = own[:, :, number : number + 1]  # (B, n, 1)
        others = tokens * (own.sum(2, keepdim=True) - mine)  # (B, n, d)
        of_turn = tokens.new_zeros(len(tokens), turns, tokens.shape[2])
        of_turn = of_turn.scatter_add(1, turn.unsqueeze(-1).expand_as(others), others)
        before = pad(of_turn.cumsum(1), (0, 0, 1, 0))  # (B, turns + 1, d): sum of the turns before each
        within = take(before, after, dim=1) - take(before, first, dim=1)  # (B, turns, d)
        seen = within.gather(1, turn.unsqueeze(-1).expand_as(tokens))  # (B, n, d): v of each token's turn
        score = (tokens * seen).sum(2, keepdim=True) * mine  # (B, n, 1)
        count = (own.sum((1, 2)) - mine.sum((1, 2))).clamp(min=1)  # (B,)
        pooled.append((score * tokens).sum(1) / count.unsqueeze(-1))
    return torch.stack(pooled, dim=1)


def _speakers(speaker: Tensor, dtype: torch.dtype) -> Tensor:
    """Membership of tokens in speakers (B, n, speakers)."""
    return one_hot(speaker + 1)[:, :, 1:].to(dtype)


def _check_window(window: float) -> None:
    if not window >= 0:
        raise ValueError(f"window must be 0 or more turns, got {window}")


@dataclass(frozen=True)
class Dial2vecSettings(Settings):
    """Settings of `Dial2vecLoss`.

    Attributes:
        window: Turns further apart do not match (w; the paper's best: 10); ``math.inf`` for no limit.
        temperature: τ of Eq. 5.

    Examples:
        >>> from turnlens.papers import Dial2vecSettings
        >>> Dial2vecSettings(window=5).temperature
        0.2
    """

    window: float = 10
    temperature: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_window(self.window)
        check_positive(self, "temperature")


class Dial2vecLoss(ConversationLoss[Dial2vecSettings]):
    """Tell a real dialogue from mixed ones by how well each interlocutor's words fit the other's (Eq. 5 and 6).

    Takes the features of `turnlens.papers.ConversationCollator`. Every speaker's real self-representation must be
    closer to its cross-representation than in the mixed dialogues; NT-Xent, summed over the speakers of a dialogue and
    averaged over dialogues.

    Args:
        model: The encoder.
        settings: The settings.
    """

    citation = citations.DIAL2VEC

    def __init__(self, model: nn.Module, settings: Dial2vecSettings | None = None) -> None:
        super().__init__(model, settings or Dial2vecSettings())

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        speaker, turn = features["speaker"], features["turn"]
        speakers = int(speaker.max()) + 1
        fits, order = [], []
        for piece in encode_rows(self.model, features):
            length = piece.tokens.shape[1]
            fits.append(self.fit(piece.tokens, speaker[piece.rows, :length], turn[piece.rows, :length], speakers))
            order.append(piece.rows)
        fit = torch.cat(fits)[torch.cat(order).argsort()]  # (rows, speakers)
        return self.compute_loss_from_fit(fit, features["conversation"], features["is_real"], features["speakers"])

    def fit(self, tokens: Tensor, speaker: Tensor, turn: Tensor, speakers: int) -> Tensor:
        """Cosine of self- and cross-representation of each speaker (B, speakers), 0 for absent speakers."""
        with full_precision(tokens.device):
            own = self_representation(tokens, speaker)
            cross = cross_representation(tokens, speaker, turn, self.settings.window)
            return pad(cosine_similarity(own, cross, dim=2), (0, speakers - own.shape[1]))

    def compute_loss_from_fit(self, fit: Tensor, dialogue: Tensor, is_real: Tensor, speakers: Tensor) -> Tensor:
        """The loss from the cosines.

        Args:
            fit: Cosines of each row's speakers (rows, speakers).
            dialogue: The dialogue each row belongs to, from 0 (rows,).
            is_real: Whether the row is the dialogue itself; one row of each dialogue is (rows,).
            speakers: How many speakers each dialogue has (dialogues,).

        Returns:
            A scalar: summed over speakers, averaged over dialogues.
        """
        logits = fit / self.settings.temperature
        same = dialogue == torch.arange(len(speakers), device=dialogue.device).unsqueeze(1)  # (dialogues, rows)
        candidates = logits.unsqueeze(0).masked_fill(~same.unsqueeze(2), float("-inf"))  # (dialogues, rows, speakers)
        real = logits[is_real][dialogue[is_real].argsort()]  # (dialogues, speakers)
        losses = candidates.logsumexp(1) - real
        there = torch.arange(logits.shape[1], device=speakers.device) < speakers.unsqueeze(1)
        return process_mean((losses * there).sum(), len(speakers))
