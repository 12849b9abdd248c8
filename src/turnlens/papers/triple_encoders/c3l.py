"""C3L, contextualized curved contrastive learning: triple-encoders, two turns together against a later one.

Erker et al., Triple-Encoders: Representations That Fire Together, Wire Together, ACL 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
    triple_cosine,
)

Positives = Literal["triple", "bi"]

_BEFORE1, _BEFORE2 = 0, 2  # places in C3L_COLUMNS of collator.py
_LOWEST, _HIGHEST = 0.2, 1.0
_KINDS = 3  # of random negatives


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
    if not curved or len(sums) == 1:  # a single pair is also the nearest
        return torch.ones(len(sums))
    return _LOWEST + (_HIGHEST - _LOWEST) * (sums - sums.min()) / (sums.max() - sums.min())


@dataclass(frozen=True)
class C3LSettings(TurnOrderSettings):
    """Settings of `C3LLoss`, besides those it shares with CCL.

    Attributes:
        curved: Whether targets fall with the distance; otherwise they are 1 (ablation: hard positives).
        directional: Whether ``cos((B1(u_i) + B2(u_j)) / 2, A(u_0)) → 0`` for 0 < i < j (ablation).
        positives: ``"triple"``, or ``"bi"``: ``cos(B1(u_i), a)`` and ``cos(B2(u_i), a) → (i + 1) / w`` (ablation).

    Examples:
        >>> from turnlens.papers import C3LSettings
        >>> C3LSettings(positives="bi").curved
        True
    """

    smallest_window: ClassVar[int] = 3  # a pair and what follows

    curved: bool = True
    directional: bool = False
    positives: Positives = "triple"


class C3LLoss(WindowLoss[C3LSettings]):
    """Mean squared error between the cosines of triples and their targets.

    Takes the features of `turnlens.papers.TurnOrderCollator`. For each window ``u_0 … u_{w-1}``,
    with ``a = A(u_{w-1})``:

    - ``cos((B1(u_i) + B2(u_j)) / 2, a) → s_ij`` for the context positions i < j, see `c3l_targets`;
    - for every i, random negatives ``(B1(u_i), B2(r))``, ``(B1(r'), B2(u_i))`` and ``(B1(r'), B2(r))``, all ``→ 0``
      (Eq. 2). r and r' are utterances of other conversations in this process's batch whose text does not occur in the
      window's conversation. They have the speaker token of the other context position that they stand for. If they are
      drawn from the corpus, as in the authors' code, each is drawn independently and has a random speaker token.

    Args:
        model: The encoder, with the views of C3L.
        settings: The settings; by default the paper's.
    """

    citation = citations.TRIPLE_ENCODERS
    views = "c3l"

    def __init__(self, model: nn.Module, settings: C3LSettings | None = None) -> None:
        super().__init__(model, settings or C3LSettings())

    @override
    def compute_loss_from_embeddings(self, embeddings: Tensor, windows: Windows) -> Tensor:
        """The loss from the embeddings of the rows (rows, dim)."""
        settings = self.settings
        gram = gram_matrix(embeddings)
        context, last = windows.turns[:, :-1], windows.turns[:, -1:]  # (windows, w - 1) and (windows, 1)
        before1, before2 = windows.before(context, _BEFORE1, last), windows.before(context, _BEFORE2, last)
        after = windows.after(last)
        first, second = torch.triu_indices(settings.window - 1, settings.window - 1, offset=1, device=gram.device)
        terms: list[Any]
        if settings.positives == "triple":
            cosines = triple_cosine(gram, before1[:, first], before2[:, second], after)  # (windows, pairs)
            terms = [(cosines, c3l_targets(settings.window, settings.curved).to(gram), 1.0)]
        else:
            targets = context_targets(settings.window).to(gram) if settings.curved else 1.0
            terms = [(pair_cosine(gram, before, after), targets, 1.0) for before in (before1, before2)]
        if settings.directional:
            others, start = windows.turns[:, 1:], windows.turns[:, :1]
            later1, later2 = windows.before(others, _BEFORE1, start), windows.before(others, _BEFORE2, start)
            cosines = triple_cosine(gram, later1[:, first], later2[:, second], windows.after(start))
            terms.append((cosines, 0.0, 1.0))
        after = after.unsqueeze(2)
        if windows.negatives is not None:
            random1, random2 = windows.negatives.unbind(-1)  # (windows, w - 1, negatives) each
            cosines = triple_cosine(gram, random1, random2, after)
            return mean_squared_error([*terms, (cosines, 0.0, _KINDS / cosines.shape[-1])])
        random1, random2, weights = self._random(windows)  # (windows, w - 1, chosen) each
        before1, before2 = before1.unsqueeze(2), before2.unsqueeze(2)
        terms += [
            (triple_cosine(gram, before1, random2, after), 0.0, weights),
            (triple_cosine(gram, random1, before2, after), 0.0, weights),
            (triple_cosine(gram, random1, random2, after), 0.0, weights),
        ]
        return mean_squared_error(terms)

    def _random(self, windows: Windows) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of random utterances as B1 and as B2, and their weights, for each context position (…, w - 1, chosen).

        The options are pairs of another context position, which gives the speaker token, and a turn.
        """
        places, negatives = self.settings.window - 1, self.settings.negatives
        context, last = windows.turns[:, :-1], windows.turns[:, -1:]
        other = (windows.speaker[context] != windows.speaker[last]).long()  # (windows, w - 1)
        turns = negative_turns(windows, per_turn=places)
        # A turn has both before-views or neither, because the collator makes them together.
        rows1, rows2 = (windows.rows[turns].T[column + other].flatten(1) for column in (_BEFORE1, _BEFORE2))
        positions = torch.arange(places, device=other.device).repeat_interleave(len(turns))
        elsewhere = positions != torch.arange(places, device=other.device).unsqueeze(1)  # (w - 1, options)
        there = (rows2 >= 0) & windows.foreign[:, turns].repeat(1, places)  # (windows, options)
        allowed = elsewhere & there.unsqueeze(1)
        (chosen1, weights), (chosen2, _) = draw(allowed, negatives), draw(allowed, negatives)
        rows1, rows2 = (rows.unsqueeze(1).expand(allowed.shape) for rows in (rows1, rows2))
        return rows1.gather(2, chosen1), rows2.gather(2, chosen2), weights
