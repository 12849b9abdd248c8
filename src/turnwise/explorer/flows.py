"""How conversations move from one group to the next: counts, which add up over parts of a corpus, and their shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from turnwise._utils.vectors import IntArray
from turnwise.explorer.intervals import wilson

START, END, NONE = -2, -3, -1  # before the first message, after the last, and a message in no group
_LONGEST_PATH = 8


@dataclass(frozen=True)
class Transition:
    """One group after another.

    Attributes:
        source: The group, `START` for the beginning of conversations, `NONE` for messages in no group.
        target: The group of the next message, `END` for the end of conversations.
        count: How often.
        share: Of all that followed ``source``.
        low: Lower end of the share's 95 % interval (Wilson).
        high: Its upper end.
    """

    source: int
    target: int
    count: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Path:
    """The groups that conversations went through, each where it came first.

    Attributes:
        groups: The groups in that order; beyond eight they are cut.
        count: How many conversations.
        share: Of all conversations.
        low: Lower end of the share's 95 % interval (Wilson).
        high: Its upper end.
    """

    groups: tuple[int, ...]
    count: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Flows:
    """Counts of transitions and paths; those of parts of a corpus add up.

    Attributes:
        transitions: How often each target followed each source.
        paths: How many conversations took each path.
    """

    transitions: Mapping[tuple[int, int], int] = field(default_factory=dict)
    paths: Mapping[tuple[int, ...], int] = field(default_factory=dict)

    def __add__(self, other: Flows) -> Flows:
        """The flows of both parts."""
        transitions = Counter(self.transitions) + Counter(other.transitions)
        return Flows(dict(transitions), dict(Counter(self.paths) + Counter(other.paths)))

    def shares(self, least: float = 0.0) -> list[Transition]:
        """All transitions with a share of at least ``least``, the most frequent first."""
        totals: Counter[int] = Counter()
        for (source, _), count in self.transitions.items():
            totals[source] += count
        found = []
        for (source, target), count in self.transitions.items():
            low, high = wilson(count, totals[source])
            share = count / totals[source]
            if share >= least:
                found.append(Transition(source, target, count, share, float(low), float(high)))
        return sorted(found, key=lambda one: (-one.count, one.source, one.target))

    def typical_paths(self, count: int = 10) -> list[Path]:
        """The paths that most conversations took."""
        total = sum(self.paths.values())
        best = sorted(self.paths.items(), key=lambda item: (-item[1], item[0]))[:count]
        intervals = [wilson(conversations, total) for _, conversations in best]
        return [
            Path(groups, conversations, conversations / total, float(low), float(high))
            for (groups, conversations), (low, high) in zip(best, intervals)
        ]


def count_flows(groups: IntArray, first: IntArray) -> Flows:
    """The flows of conversations.

    Args:
        groups: The group of each message, -1 for none; conversations one after the other (n,).
        first: The first message of each conversation (m,).
    """
    groups = np.asarray(groups, np.int64)
    starts = np.asarray(first, np.int64)
    if not len(starts):
        return Flows()
    ends = np.append(starts[1:], len(groups))
    source, target = np.insert(groups, starts, START), np.insert(groups, ends, END)
    pairs, counts = np.unique(np.stack([source, target]), axis=1, return_counts=True)
    transitions = {(int(a), int(b)): int(count) for a, b, count in zip(*pairs, counts)}
    paths = Counter(_path(groups[start:end]) for start, end in zip(starts, ends))
    return Flows(transitions, dict(paths))


def _path(groups: IntArray) -> tuple[int, ...]:
    visited = dict.fromkeys(int(group) for group in groups if group != NONE)
    return tuple(visited)[:_LONGEST_PATH]


def after(flows: Flows, source: int) -> Iterator[Transition]:
    """What followed a group, the most frequent first."""
    return (one for one in flows.shares() if one.source == source)
