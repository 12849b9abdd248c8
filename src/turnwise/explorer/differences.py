"""What tells conversations with a label from those without: in which groups they go more often, or less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import BoolArray, IntArray
from turnwise.explorer.intervals import difference


@dataclass(frozen=True)
class Difference:
    """How much more often conversations with a label come through a group than those without.

    Attributes:
        group: The group.
        share: Of the conversations with the label, those with a message in the group.
        other_share: The same of those without.
        difference: The first less the second.
        low: Lower end of its 95 % interval (Newcombe), of this group alone: among twenty groups one is expected to
            miss.
        high: Its upper end.
    """

    group: int
    share: float
    other_share: float
    difference: float
    low: float
    high: float


def differences(
    groups: IntArray, conversation: IntArray, labelled: BoolArray, usable: BoolArray | None = None
) -> Sequence[Difference]:
    """The groups, those that tell most first: by the end of the interval that is nearer to zero.

    Conversations are counted, not messages, which are not independent of each other.

    Args:
        groups: The group of each message, -1 for none (n,).
        conversation: Its conversation (n,).
        labelled: Whether each conversation has the label (m,).
        usable: Which conversations to look at, by default all (m,).
    """
    usable = np.ones(len(labelled), bool) if usable is None else usable
    present = (groups >= 0) & usable[conversation]
    pairs = np.unique(np.stack([groups[present], conversation[present]]), axis=1)
    total, other_total = int((labelled & usable).sum()), int((~labelled & usable).sum())
    found = []
    for group in np.unique(pairs[0]) if pairs.size else ():
        inside = labelled[pairs[1, pairs[0] == group]]
        count, other = int(inside.sum()), int((~inside).sum())
        shares = count / max(total, 1), other / max(other_total, 1)
        found.append(Difference(int(group), *shares, *difference(count, total, other, other_total)))
    return sorted(found, key=lambda one: (-_certain(one), one.group))


def _certain(one: Difference) -> float:
    """How far the interval stays from zero, negative where it holds zero."""
    return max(one.low, -one.high)
