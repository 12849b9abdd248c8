"""The reply head: a few matrices beside a stock encoder that turn stored vectors into queries for what comes next.

Let e be the vectors of messages, each embedded once and of length 1, and let r_d say whether the turn d turns back has
another speaker than the candidate:

    query q = Σ_{d ≤ D} w[r_d, d] (I + W[r_d]) e_{t-d},    candidate a = (I + C) e,    score = cos(q, a)

At the start W and C are zero and w falls with the distance, so the score is a sum of cosines in which older turns count
less. The encoder's own vectors are not changed, so one store of them also serves search and whole conversations.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from turnlens.encoders.reply_scores import OTHER, SAME, HeadArrays


class ReplyHead(nn.Module):
    """Composes queries for the next message from the vectors of the last turns.

    Args:
        dim: Length of the encoder's vectors.
        turns: D, how many turns back it looks.
    """

    def __init__(self, dim: int, turns: int = 10) -> None:
        super().__init__()
        if dim < 1 or turns < 1:
            raise ValueError(f"dim and turns must be 1 or more, got {dim} and {turns}")
        self.recency = nn.Parameter(torch.arange(1.0, turns + 1).rsqrt().repeat(2, 1))  # w: (2, turns)
        self.context = nn.Parameter(torch.zeros(2, dim, dim))  # W
        self.candidate = nn.Parameter(torch.zeros(dim, dim))  # C

    @classmethod
    def of(cls, arrays: HeadArrays) -> ReplyHead:
        """The head with these weights."""
        head = cls(arrays.candidate.shape[0], arrays.turns)
        head.load_state_dict({name: torch.from_numpy(weight) for name, weight in arrays._asdict().items()})
        return head

    @property
    def turns(self) -> int:
        """The number of turns back that it looks."""
        return self.recency.shape[1]

    def queries(self, vectors: Tensor, same: Tensor, present: Tensor) -> Tensor:
        """The queries of contexts.

        Args:
            vectors: The last turns of each context, of length 1, the latest first (contexts, D or fewer, dim).
            same: Whether a turn's speaker is the candidate's (contexts, D or fewer).
            present: Whether there is such a turn (contexts, D or fewer).

        Returns:
            (contexts, dim) of length 1.
        """
        count = vectors.shape[1]
        weights = torch.where(same, self.recency[SAME, :count], self.recency[OTHER, :count]) * present
        query = torch.einsum("cd,cdk->ck", weights, vectors)
        for relation, of_relation in ((SAME, same), (OTHER, ~same)):
            query = query + torch.einsum("cd,cdk->ck", weights * of_relation, vectors) @ self.context[relation].T
        return normalize(query, dim=1)

    def candidates(self, vectors: Tensor) -> Tensor:
        """Candidates mapped to what queries are compared with: (m, dim) of length 1 to (m, dim) of length 1."""
        return normalize(vectors + vectors @ self.candidate.T, dim=1)

    def arrays(self) -> HeadArrays:
        """Its weights, for use without torch."""
        return HeadArrays(*(weight.detach().cpu().numpy() for weight in (self.recency, self.context, self.candidate)))
