"""CCL, curved contrastive learning: the cosine of two turns falls with their distance, and only forwards in time.

Erker et al., Imagination is All You Need! Curved Contrastive Learning for Abstract Sequence Modeling Utilized on Long
Short-Term Dialogue Planning, Findings of ACL 2023.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from turnwise.losses.in_batch import Negatives, check_negatives
from turnwise.losses.turn_order import Windows, draw, embed, gram_matrix, mean_squared_error, pair_cosine

_BEFORE, _AFTER = 0, 2  # of turn_order_collator.CCL_COLUMNS


def ccl_targets(window: int) -> Tensor:
    """Targets of the cosines of a window's first utterance with those at distance 1, 2, …: ``(w - i) / w``.

    >>> ccl_targets(5)
    tensor([0.8000, 0.6000, 0.4000, 0.2000])
    """
    return 1 - torch.arange(1, window) / window


def check_settings(window: int, negatives: Negatives) -> None:
    """Raise ``ValueError`` if a setting of :class:`CCLLoss` is out of range."""
    if not (isinstance(window, int) and window >= 2):
        raise ValueError(f"window must be at least 2 utterances, got {window!r}")
    check_negatives(negatives)


class CCLLoss(nn.Module):
    """Mean squared error between the cosines of before- and after-views and their targets.

    Takes the features of :class:`turnwise.collators.TurnOrderCollator`. Of each window ``u_0 … u_{w-1}``:

    - ``cos(B(u_0), A(u_i)) → (w - i) / w``;
    - directional negatives, ``cos(B(u_i), A(u_0)) → 0``;
    - random negatives, either side of the first replaced, each counted half ``→ 0``. They are utterances of other
      conversations of this process's batch, of a text that the window's conversation does not have; a before-text
      keeps the speaker token of the one it replaces.

    Args:
        model: The encoder, with the views of CCL.
        window: w.
        negatives: So many random ones for each side of each pair (the paper: 1), or ``"batch"``, all. They are
            averaged, so that positives and negatives keep their balance.
        directional: Whether there are directional negatives.

    Raises:
        ValueError: A setting is out of range.
    """

    def __init__(self, model: nn.Module, window: int = 5, negatives: Negatives = 1, directional: bool = True) -> None:
        super().__init__()
        check_settings(window, negatives)
        self.model = model
        self.window = window
        self.negatives = negatives
        self.directional = directional

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch; ``sentence_features`` holds the one feature dict of the collator."""
        (features,) = sentence_features
        return self.compute_loss_from_embeddings(embed(self.model, features), Windows.of(self.window, features))

    def compute_loss_from_embeddings(self, embeddings: Tensor, windows: Windows) -> Tensor:
        """The loss from the embeddings of the rows (rows, dim)."""
        gram = gram_matrix(embeddings)
        first, others = windows.turns[:, :1], windows.turns[:, 1:]  # (windows, 1) and (windows, w - 1)
        before = windows.before(first, _BEFORE, others)
        after = windows.after(others)
        terms: list[Any] = [(pair_cosine(gram, before, after), ccl_targets(self.window).to(gram), 1.0)]
        if self.directional:
            backwards = pair_cosine(gram, windows.before(others, _BEFORE, first), windows.after(first))
            terms.append((backwards, 0.0, 1.0))
        # The after-text replaced: any turn there is an after-view of.
        foreign = windows.foreign.unsqueeze(1)  # (windows, 1, turns)
        allowed = (foreign & (windows.rows[:, _AFTER] >= 0)).expand(-1, self.window - 1, -1)
        chosen, weights = draw(allowed, self.negatives)
        terms.append((pair_cosine(gram, before.unsqueeze(2), windows.rows[chosen, _AFTER]), 0.0, weights / 2))
        # The before-text replaced: any turn there is a before-view of with the same speaker token.
        column = _BEFORE + (windows.speaker[first] != windows.speaker[others]).long()  # (windows, w - 1)
        of_column = windows.rows.T[column]  # (windows, w - 1, turns)
        chosen, weights = draw(foreign & (of_column >= 0), self.negatives)
        terms.append((pair_cosine(gram, of_column.gather(2, chosen), after.unsqueeze(2)), 0.0, weights / 2))
        return mean_squared_error(terms)

    def get_config_dict(self) -> dict[str, Any]:
        return {"window": self.window, "negatives": self.negatives, "directional": self.directional}

    @property
    def citation(self) -> str:
        return """
@inproceedings{erker-etal-2023-imagination,
    title = "Imagination is All You Need! Curved Contrastive Learning for Abstract Sequence Modeling Utilized on Long
        Short-Term Dialogue Planning",
    author = "Erker, Justus-Jonas and Schaffer, Stefan and Spanakis, Gerasimos",
    booktitle = "Findings of the Association for Computational Linguistics: ACL 2023",
    year = "2023"
}
"""
