"""C3L, contextualized curved contrastive learning: triple-encoders, two turns together against a later one.

Erker et al., Triple-Encoders: Representations That Fire Together, Wire Together, ACL 2024.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from turnwise.losses.in_batch import Negatives, check_negatives
from turnwise.losses.turn_order import (
    Windows,
    draw,
    embed,
    gram_matrix,
    mean_squared_error,
    pair_cosine,
    triple_cosine,
)

Positives = Literal["triple", "bi"]

_BEFORE1, _BEFORE2 = 0, 2  # of turn_order_collator.C3L_COLUMNS
_LOWEST, _HIGHEST = 0.2, 1.0


def context_targets(window: int) -> Tensor:
    """The CCL target of each context position seen from the last utterance, ``c_i = (i + 1) / w`` (w - 1,)."""
    return torch.arange(1, window) / window


def c3l_targets(window: int, curved: bool = True) -> Tensor:
    """Targets of the cosines of context pairs ``i < j`` with the window's last utterance (Eq. 1).

    Args:
        window: w, at least 3.
        curved: ``c_i + c_j`` scaled to [0.2, 1]; otherwise 1 (hard positives).

    Returns:
        One for each pair, in the order of ``torch.triu_indices``.

    >>> c3l_targets(5)
    tensor([0.2000, 0.4000, 0.6000, 0.6000, 0.8000, 1.0000])
    """
    first, second = torch.triu_indices(window - 1, window - 1, offset=1)
    sums = context_targets(window)[first] + context_targets(window)[second]
    if not curved or len(sums) == 1:  # a single pair is the nearest
        return torch.ones(len(sums))
    return _LOWEST + (_HIGHEST - _LOWEST) * (sums - sums.min()) / (sums.max() - sums.min())


def check_settings(window: int, negatives: Negatives, positives: Positives) -> None:
    """Raise ``ValueError`` if a setting of :class:`C3LLoss` is out of range."""
    if not (isinstance(window, int) and window >= 3):
        raise ValueError(f"window must be at least 3 utterances, a pair and what follows, got {window!r}")
    if positives not in get_args(Positives):
        raise ValueError(f"positives must be 'triple' or 'bi', got {positives!r}")
    check_negatives(negatives)


class C3LLoss(nn.Module):
    """Mean squared error between the cosines of triples and their targets.

    Takes the features of :class:`turnwise.collators.TurnOrderCollator`. Of each window ``u_0 … u_{w-1}``,
    with ``a = A(u_{w-1})``:

    - ``cos((B1(u_i) + B2(u_j)) / 2, a) → s_ij`` for the context positions i < j, see :func:`c3l_targets`;
    - for every i random negatives ``(B1(u_i), B2(r))``, ``(B1(r'), B2(u_i))`` and ``(B1(r'), B2(r))``, all ``→ 0``
      (Eq. 2). r and r' are utterances of other conversations of this process's batch, of a text that the window's
      conversation does not have, with the speaker token of the other context position they stand for.

    Args:
        model: The encoder, with the views of C3L.
        window: w.
        curved: Whether targets fall with the distance; otherwise they are 1 (ablation: hard positives).
        negatives: So many random ones for each position (the paper: 1), or ``"batch"``, all. They are averaged, so
            that positives and negatives keep their balance.
        directional: Whether ``cos((B1(u_i) + B2(u_j)) / 2, A(u_0)) → 0`` for 0 < i < j (ablation).
        positives: ``"triple"``, or ``"bi"``: ``cos(B1(u_i), a)`` and ``cos(B2(u_i), a) → (i + 1) / w`` (ablation).

    Raises:
        ValueError: A setting is out of range.
    """

    def __init__(
        self,
        model: nn.Module,
        window: int = 5,
        curved: bool = True,
        negatives: Negatives = 1,
        directional: bool = False,
        positives: Positives = "triple",
    ) -> None:
        super().__init__()
        check_settings(window, negatives, positives)
        self.model = model
        self.window = window
        self.curved = curved
        self.negatives = negatives
        self.directional = directional
        self.positives = positives

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch; ``sentence_features`` holds the one feature dict of the collator."""
        (features,) = sentence_features
        return self.compute_loss_from_embeddings(embed(self.model, features), Windows.of(self.window, features))

    def compute_loss_from_embeddings(self, embeddings: Tensor, windows: Windows) -> Tensor:
        """The loss from the embeddings of the rows (rows, dim)."""
        gram = gram_matrix(embeddings)
        context, last = windows.turns[:, :-1], windows.turns[:, -1:]  # (windows, w - 1) and (windows, 1)
        before1, before2 = windows.before(context, _BEFORE1, last), windows.before(context, _BEFORE2, last)
        after = windows.after(last)
        first, second = torch.triu_indices(self.window - 1, self.window - 1, offset=1, device=gram.device)
        terms: list[Any]
        if self.positives == "triple":
            cosines = triple_cosine(gram, before1[:, first], before2[:, second], after)  # (windows, pairs)
            terms = [(cosines, c3l_targets(self.window, self.curved).to(gram), 1.0)]
        else:
            targets = context_targets(self.window).to(gram) if self.curved else 1.0
            terms = [(pair_cosine(gram, before, after), targets, 1.0) for before in (before1, before2)]
        if self.directional:
            others, start = windows.turns[:, 1:], windows.turns[:, :1]
            one, other = windows.before(others, _BEFORE1, start), windows.before(others, _BEFORE2, start)
            cosines = triple_cosine(gram, one[:, first], other[:, second], windows.after(start))
            terms.append((cosines, 0.0, 1.0))
        random1, random2, weights = self._random(windows)  # (windows, w - 1, chosen) each
        before1, before2, after = before1.unsqueeze(2), before2.unsqueeze(2), after.unsqueeze(2)
        terms += [
            (triple_cosine(gram, before1, random2, after), 0.0, weights),
            (triple_cosine(gram, random1, before2, after), 0.0, weights),
            (triple_cosine(gram, random1, random2, after), 0.0, weights),
        ]
        return mean_squared_error(terms)

    def _random(self, windows: Windows) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of random utterances as B1 and as B2, and their weights, for each context position (…, w - 1, chosen).

        What is chosen from are pairs of another context position, whose speaker token is taken, and a turn.
        """
        context, last = windows.turns[:, :-1], windows.turns[:, -1:]
        other = (windows.speaker[context] != windows.speaker[last]).long()  # (windows, w - 1)
        # Both before-views of a turn are there, or none: the collator makes them together.
        rows1, rows2 = (windows.rows.T[column + other].flatten(1) for column in (_BEFORE1, _BEFORE2))
        positions = torch.arange(self.window - 1, device=other.device).repeat_interleave(len(windows.rows))
        elsewhere = positions != torch.arange(self.window - 1, device=other.device).unsqueeze(1)  # (w - 1, options)
        there = (rows2 >= 0) & windows.foreign.repeat(1, self.window - 1)  # (windows, options)
        allowed = elsewhere & there.unsqueeze(1)
        (chosen1, weights), (chosen2, _) = draw(allowed, self.negatives), draw(allowed, self.negatives)
        rows1, rows2 = (rows.unsqueeze(1).expand(allowed.shape) for rows in (rows1, rows2))
        return rows1.gather(2, chosen1), rows2.gather(2, chosen2), weights

    def get_config_dict(self) -> dict[str, Any]:
        return {
            "window": self.window,
            "curved": self.curved,
            "negatives": self.negatives,
            "directional": self.directional,
            "positives": self.positives,
        }

    @property
    def citation(self) -> str:
        return """
@inproceedings{erker-etal-2024-triple,
    title = "Triple-Encoders: Representations That Fire Together, Wire Together",
    author = "Erker, Justus-Jonas and Mai, Florian and Reimers, Nils and Spanakis, Gerasimos and Gurevych, Iryna",
    booktitle = "Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics (Volume 1:
        Long Papers)",
    year = "2024"
}
"""
