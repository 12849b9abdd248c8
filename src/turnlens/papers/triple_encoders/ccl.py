"""CCL, curved contrastive learning: the cosine of two turns falls with their distance, and only forwards in time.

Erker et al., Imagination is All You Need! Curved Contrastive Learning for Abstract Sequence Modeling Utilized on Long
Short-Term Dialogue Planning, Findings of ACL 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from turnlens.papers import citations
from turnlens.papers.triple_encoders.turn_order import (
    TurnOrderSettings,
    WindowLoss,
    Windows,
    draw,
    gram_matrix,
    mean_squared_error,
    negative_turns,
    pair_cosine,
)

_BEFORE, _AFTER = 0, 2  # places in CCL_COLUMNS of collator.py


def ccl_targets(window: int) -> Tensor:
    """Targets of the cosines of a window's first utterance with those at distance 1, 2, …: ``(w - i) / w``.

    >>> ccl_targets(5)
    tensor([0.8000, 0.6000, 0.4000, 0.2000])
    """
    return 1 - torch.arange(1, window) / window


@dataclass(frozen=True)
class CCLSettings(TurnOrderSettings):
    """Settings of `CCLLoss`, besides those it shares with C3L.

    Attributes:
        directional: Whether there are directional negatives.

    Examples:
        >>> from turnlens.papers import CCLSettings
        >>> CCLSettings(window=5).directional
        True
    """

    directional: bool = True


class CCLLoss(WindowLoss[CCLSettings]):
    """Mean squared error between the cosines of before- and after-views and their targets.

    Takes the features of `turnlens.papers.TurnOrderCollator`. For each window ``u_0 … u_{w-1}``:

    - ``cos(B(u_0), A(u_i)) → (w - i) / w``;
    - directional negatives, ``cos(B(u_i), A(u_0)) → 0``;
    - random negatives, the first kind of pair with either side replaced, ``→ 0``, each of half weight. Replacements are
      utterances of other conversations in this process's batch whose text does not occur in the window's conversation;
      a before-text keeps the speaker token of the one it replaces. If they are drawn from the corpus, the pairs are
      those of the authors' code: ``B(u_i), A(r)`` or ``B(r), A(u_i)`` for i > 0, with a random speaker token.

    Args:
        model: The encoder, with the views of CCL.
        settings: The settings; by default the paper's.
    """

    citation = citations.CCL
    views = "ccl"

    def __init__(self, model: nn.Module, settings: CCLSettings | None = None) -> None:
        super().__init__(model, settings or CCLSettings())

    @override
    def compute_loss_from_embeddings(self, embeddings: Tensor, windows: Windows) -> Tensor:
        """The loss from the embeddings of the rows (rows, dim)."""
        gram = gram_matrix(embeddings)
        first, others = windows.turns[:, :1], windows.turns[:, 1:]  # (windows, 1) and (windows, w - 1)
        before = windows.before(first, _BEFORE, others)
        after = windows.after(others)
        terms: list[Any] = [(pair_cosine(gram, before, after), ccl_targets(self.settings.window).to(gram), 1.0)]
        if self.settings.directional:
            backwards = pair_cosine(gram, windows.before(others, _BEFORE, first), windows.after(first))
            terms.append((backwards, 0.0, 1.0))
        if windows.negatives is not None:
            cosines = pair_cosine(gram, *windows.negatives.unbind(-1))  # (windows, w - 1, negatives)
            terms.append((cosines, 0.0, 1 / cosines.shape[-1]))
        else:
            terms += self._from_batch(gram, windows, before, after)
        return mean_squared_error(terms)

    def _from_batch(self, gram: Tensor, windows: Windows, before: Tensor, after: Tensor) -> list[Any]:
        """Terms of random negatives of the batch, given the rows of both sides of the positives (windows, w - 1)."""
        # The after-text replaced by any turn that has an after-view.
        turns = negative_turns(windows)
        rows, foreign = windows.rows[turns], windows.foreign[:, turns].unsqueeze(1)  # foreign: (windows, 1, turns)
        allowed = (foreign & (rows[:, _AFTER] >= 0)).expand(-1, self.settings.window - 1, -1)
        chosen, weights = draw(allowed, self.settings.negatives)
        terms = [(pair_cosine(gram, before.unsqueeze(2), rows[chosen, _AFTER]), 0.0, weights / 2)]
        # The before-text replaced by any turn that has a before-view with the same speaker token.
        first, others = windows.turns[:, :1], windows.turns[:, 1:]
        column = _BEFORE + (windows.speaker[first] != windows.speaker[others]).long()  # (windows, w - 1)
        of_column = rows.T[column]  # (windows, w - 1, turns)
        chosen, weights = draw(foreign & (of_column >= 0), self.settings.negatives)
        return [*terms, (pair_cosine(gram, of_column.gather(2, chosen), after.unsqueeze(2)), 0.0, weights / 2)]
