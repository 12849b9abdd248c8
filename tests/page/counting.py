"""Counts of the page, by their formulas: flows, paths, and what tells conversations with a label from others."""

import math
from collections import Counter
from collections.abc import Sequence

START, END, NONE = -2, -3, -1  # as on the page
LONGEST_PATH = 8
Z = 1.959963984540054  # of 95 %

Interval = tuple[float, float]


def wilson(count: int, total: int) -> Interval:
    """Wilson, 1927."""
    share = count / total
    middle = (share + Z * Z / (2 * total)) / (1 + Z * Z / total)
    half = Z / (1 + Z * Z / total) * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def newcombe(count: int, total: int, other_count: int, other_total: int) -> Interval:
    """Newcombe, 1998, method 10."""
    first, second = count / total, other_count / other_total
    (low, high), (other_low, other_high) = wilson(count, total), wilson(other_count, other_total)
    return (
        first - second - math.hypot(first - low, other_high - second),
        first - second + math.hypot(high - first, second - other_low),
    )


def transitions(conversations: Sequence[Sequence[int]]) -> dict[tuple[int, int], tuple[float, ...]]:
    """Source and target -> count, share of all that followed the source, and the share's interval."""
    counts: Counter[tuple[int, int]] = Counter()
    for groups in conversations:
        counts.update(zip([START, *groups], [*groups, END]))
    totals: Counter[int] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count
    return {
        (source, target): (count, count / totals[source], *wilson(count, totals[source]))
        for (source, target), count in counts.items()
    }


def following(conversations: Sequence[Sequence[int]], group: int, step: int) -> dict[tuple[int, int], int]:
    """The groups that many steps after each message of a group, and one more -> how often."""
    counts: Counter[tuple[int, int]] = Counter()
    for groups in conversations:
        sequence = [*groups, END]
        for place in range(len(groups) - step):
            if groups[place] == group:
                counts[sequence[place + step], sequence[place + step + 1]] += 1
    return dict(counts)


def paths(conversations: Sequence[Sequence[int]]) -> dict[str, tuple[float, ...]]:
    """The groups in the order of their first messages -> conversations, their share, and its interval."""
    counts = Counter(tuple(dict.fromkeys(g for g in groups if g != NONE))[:LONGEST_PATH] for groups in conversations)
    total = len(conversations)
    return {
        " ".join(map(str, path)): (count, count / total, *wilson(count, total))
        for path, count in counts.items()
        if path
    }


def differences(conversations: Sequence[Sequence[int]], labelled: Sequence[bool]) -> dict[int, tuple[float, ...]]:
    """Group -> how much more often conversations with the label come through it than others, and the interval."""
    total = sum(labelled)
    other_total = len(labelled) - total
    told = {}
    for group in {group for groups in conversations for group in groups if group != NONE}:
        count = sum(group in groups for groups, has_label in zip(conversations, labelled) if has_label)
        other = sum(group in groups for groups, has_label in zip(conversations, labelled) if not has_label)
        told[group] = (count / total - other / other_total, *newcombe(count, total, other, other_total))
    return told
