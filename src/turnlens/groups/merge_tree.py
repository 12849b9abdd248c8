"""Questions about groups, "are these two the same?", whose answers bind, and choose the number of groups.

Pieces of groups are merged two at a time, first within each group, then groups with each other, as when groups are
found. Each merge is a question. The number of groups that is wanted has a probability: at first it is near the present
number, and an answer makes those numbers more probable at which this merge is done, or is not done yet. A no says less
than a yes: some texts are in the wrong group even among many small ones, while two large groups are hardly ever the
same by mistake (a psychometric function with a lapse rate on one side: Wichmann and Hill, Perception & Psychophysics
2001). That merge is asked about whose answer is expected to tell most about the number (its mutual information with it:
Lindley, Annals of Mathematical Statistics 1956).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.groups.communities import by_size, merged
from turnlens.groups.fitting import settled, sums_of

_PIECES = 8  # of a group, at most
_NEAR = 1.0  # doublings: the deviation of the wanted number of groups from the present one
_RIGHT = 0.85  # share of right merges among many more groups than are wanted
_STEEP = 0.25  # doublings from the wanted number to 73 % of that share
_FAR, _TRIED = 4, 200  # doublings beyond all numbers that can be, so that none is cut off; numbers that are tried

Answers = Mapping[int, bool]  # a merge -> both of its sides are the same


@dataclass(frozen=True)
class MergeTree:
    """Pieces of groups and their merges two at a time, from pieces of one group to all groups.

    Attributes:
        piece: The piece of each vector (n,).
        kept: The pieces of groups that only answers may change (pieces,).
        sides: The pieces on both sides of each merge (pieces − 1, 2, pieces).
        groups: The number of groups now.
    """

    piece: IntArray
    kept: BoolArray
    sides: BoolArray
    groups: int

    @cached_property
    def whole(self) -> BoolArray:
        """The pieces of each merge (merges, pieces)."""
        return np.asarray(self.sides.any(1))

    def question(self, answers: Answers, asked: Collection[int]) -> int | None:
        """Return the merge to ask about; ``None`` if each has been asked about, or follows from answers."""
        belief = self._belief(answers)
        told = _entropy(belief @ self._same) - belief @ _entropy(self._same)
        told[(self._implied(answers) != 0) | np.isin(np.arange(len(told)), list(asked))] = -1
        return int(told.argmax()) if (told >= 0).any() else None

    def merge_of(self, first: int, second: int) -> int | None:
        """Return the first merge that two vectors are in; ``None`` if they are in one piece."""
        both = self.whole[:, self.piece[first]] & self.whole[:, self.piece[second]]
        return int(both.argmax()) if self.piece[first] != self.piece[second] else None

    def regrouped(self, vectors: FloatArray, answers: Answers) -> IntArray:
        """Return a label for each vector (n,), after it has joined the nearest group, unless that is to be kept."""
        implied, number = self._implied(answers), np.arange(len(self.sides))
        touches_kept = self.whole[:, self.kept].any(1)
        as_now = np.where(number < len(self.kept) - self.groups, 1, -1) * touches_kept
        decided = np.where(implied != 0, implied, as_now)
        right = np.where(decided != 0, decided > 0, self._belief(answers) @ self._same > 0.5)
        pieces, free = np.arange(len(self.kept)), np.ones(len(self.kept), bool)
        for merge in np.flatnonzero(right)[::-1]:
            own = self.whole[merge]
            if free[own.argmax()]:
                pieces[own] = own.argmax()
                free &= ~own
        labels = pieces[self.piece]
        loose = ~np.isin(labels, labels[self.kept[self.piece]])
        if loose.any():
            labels[loose] = len(pieces) + settled(vectors[loose], by_size(labels[loose]))
        return labels

    def _implied(self, answers: Answers) -> IntArray:
        """Return what answers imply of each merge: 1 for right, −1 for wrong, 0 for nothing (merges,)."""
        implied = np.zeros(len(self.sides), np.int64)
        for merge, same in answers.items():
            own = self.whole[merge]
            implied[~self.whole[:, ~own].any(1) if same else self.whole[:, own].all(1)] = 1 if same else -1
        return implied

    @cached_property
    def _wanted(self) -> FloatArray:
        """Logarithms of numbers of groups (tried,)."""
        return np.linspace(-_FAR, np.log2(len(self.kept)) + _FAR, _TRIED)

    @cached_property
    def _same(self) -> FloatArray:
        """The probability that each merge is right at each wanted number (tried, merges)."""
        numbers = np.log2(np.arange(len(self.sides), 0, -1))  # of groups that are left after each merge
        return np.asarray(_RIGHT / (1 + np.exp((self._wanted[:, None] - numbers) / _STEEP)))

    def _belief(self, answers: Answers) -> FloatArray:
        """The probability of each wanted number (tried,)."""
        now = np.log2(self.groups - 0.5)  # the merges down to the present number are right, all others are not
        belief = np.exp(-(((self._wanted - now) / _NEAR) ** 2) / 2)
        for merge, same in answers.items():
            belief *= self._same[:, merge] if same else 1 - self._same[:, merge]
        return np.asarray(belief / belief.sum())


def merge_tree(vectors: FloatArray, groups: IntArray, communities: IntArray, kept: BoolArray) -> MergeTree:
    """Merge pieces of groups, which are communities within them.

    Args:
        vectors: The vectors, of length 1 (n, dim).
        groups: The group of each, from 0 on (n,).
        communities: The community of each, of which there are many more than groups (n,).
        kept: The groups that only answers may change (groups,).
    """
    piece, owner, within = np.zeros(len(groups), np.int64), np.zeros(0, np.int64), []
    for group in range(len(kept)):
        rows = np.flatnonzero(groups == group)
        own = np.unique(communities[rows], return_inverse=True)[1]
        levels = merged(sums_of(vectors[rows], own))[:_PIECES]
        pieces = np.unique(levels[-1])
        piece[rows] = len(owner) + np.searchsorted(pieces, levels[-1])[own]
        within.append(levels[:, pieces])
        owner = np.append(owner, np.full(len(pieces), group))
    sums, merges = sums_of(vectors, piece), []
    for group, levels in enumerate(within):
        least = 0.0
        for sides in _merges(levels):
            inside = np.zeros((2, len(owner)), bool)
            inside[:, owner == group] = sides
            lengths = np.linalg.norm([*(inside @ sums), inside.any(0) @ sums], axis=1)
            least = max(least, float(lengths[0] + lengths[1] - lengths[2]))  # after those that it builds on
            merges.append((least, inside))
    merges.sort(key=lambda merge: merge[0])
    among = [sides[:, owner] for sides in _merges(merged(sums_of(vectors, groups)))]
    sides = np.asarray([*(sides for _, sides in merges), *among], bool).reshape(-1, 2, len(owner))
    return MergeTree(piece, kept[owner], sides, len(kept))


def _merges(levels: IntArray) -> Iterator[BoolArray]:
    """Both sides of each merge (2, parts), in the order of merging, from the result of `merged` (levels, parts)."""
    for fewer, more in zip(levels[-2::-1], levels[:0:-1]):
        moved = fewer != more
        yield np.stack([(fewer == fewer[moved.argmax()]) & ~moved, moved])


def _entropy(probability: FloatArray) -> FloatArray:
    bounded = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.asarray(-bounded * np.log(bounded) - (1 - bounded) * np.log(1 - bounded))
