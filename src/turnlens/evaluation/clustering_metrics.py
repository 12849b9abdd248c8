"""The agreement of groups with labels, as `turnlens cluster` and `turnlens label` tell it, and in figures of papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, adjusted_rand_score, f1_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from turnlens._utils.vectors import IntArray

_BINS = 5


def discovery_figures(groups: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Measure the agreement of discovered groups with labels; items may be in no group.

    ``accuracy`` matches groups and labels one to one. ``precision`` is the share of items that carry the commonest
    label of their group, ``recall`` the share that are in the commonest group of their label, ``f1`` their harmonic
    mean. These four are those of Perkins and Yang (EMNLP 2019), and with the same formulas those of DSTC 11 track 2,
    which adds ``nmi`` and ``ari``, normalized mutual information and the adjusted Rand index. Their systems put
    everything into a group. Here an item in no group counts as wrong in the first four figures; in the last two, all
    of these items count as one group.

    Args:
        groups: (items,) group of each item, -1 for none.
        labels: (items,) true label of each item, numbers or strings.

    Returns:
        The six figures and ``left_out``, the share of items in no group, all in [0, 1] (``ari`` may be below 0).

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> figures = discovery_figures([0, 0, 0, 1, -1], ["taxi", "taxi", "hotel", "hotel", "hotel"])
    >>> [figures[name] for name in ("accuracy", "precision", "recall", "f1", "left_out")]
    [0.6, 0.6, 0.6, 0.6, 0.2]
    """
    table = contingency(groups, labels)
    items, ids = table.sum(), np.unique(groups)
    table = table[ids != -1]
    precision, recall = (float(table.max(axis=axis, initial=0).sum() / items) for axis in (1, 0))
    return {
        "accuracy": float(table[linear_sum_assignment(table, maximize=True)].sum() / items),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "nmi": float(normalized_mutual_info_score(labels, groups)),
        "ari": float(adjusted_rand_score(labels, groups)),
        "left_out": float((items - table.sum()) / items),
    }


def contingency(clusters: ArrayLike, labels: ArrayLike) -> IntArray:
    """Number of items of each cluster and label: (clusters, labels)."""
    left, right = np.asarray(clusters), np.asarray(labels)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise ValueError(f"two lists of one length, 1 or more, are needed; got shapes {left.shape} and {right.shape}")
    return np.asarray(contingency_matrix(left, right))


def label_agreement(groups: Sequence[str | None], labels: Sequence[str], confidence: Any = None) -> dict[str, Any]:
    """Measure how well groups tell labels.

    A group with the name of a label stands for it; any other for the label that most of its other items have, so that
    no item has a say in its own.

    Args:
        groups: The name of the group of each item, ``None`` for none, which tells nothing (items,).
        labels: The label of each item (items,).
        confidence: The probability that an item belongs to its group, if known (items,).

    Returns:
        ``accuracy``, ``f1`` (the mean over labels), ``items`` and ``labels``; with a confidence also ``calibration``:
        for fifths of its range, the mean confidence of items in a group, and the share of these that is right.

    Raises:
        ValueError: There is no item.

    Examples:
        >>> figures = label_agreement(["refund", "card", "card", None], ["refund", "lost", "lost", "lost"])
        >>> round(figures["accuracy"], 2), round(figures["f1"], 2)
        (0.75, 0.9)
    """
    own = np.asarray(labels, str)
    told = np.asarray([group or "" for group in groups], str)
    predicted = np.where(told == "", "", _told_labels(told, own))
    figures: dict[str, Any] = {
        "accuracy": float(accuracy_score(own, predicted)),
        "f1": float(f1_score(own, predicted, labels=np.unique(own), average="macro", zero_division=0)),
        "items": len(own),
        "labels": len(np.unique(own)),
    }
    inside = told != ""
    if confidence is not None and inside.any():
        right, sure = calibration_curve((own == predicted)[inside], np.asarray(confidence)[inside], n_bins=_BINS)
        figures["calibration"] = [[float(mean), float(share)] for mean, share in zip(sure, right)]
    return figures


def _told_labels(groups: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The label that the group of each item stands for, empty where no other item is in it (items,)."""
    names, group = np.unique(groups, return_inverse=True)
    values, own = np.unique(labels, return_inverse=True)
    table = np.pad(contingency(groups, labels), [(0, 0), (0, 1)])  # (groups, labels + 1)
    second, first = np.argsort(table, axis=1, kind="stable")[:, -2:].T
    most, next_most = (table[np.arange(len(names)), column] for column in (first, second))
    is_first = own == first[group]  # then the item itself does not count
    stands = np.where(is_first & (most[group] - 1 < next_most[group]), second[group], first[group])
    stands[is_first & (most[group] == 1) & (next_most[group] == 0)] = len(values)
    return np.where(np.isin(groups, values), groups, np.append(values, "")[stands])


def labelled(labels: Sequence[Any]) -> list[int]:
    """Return the rows that have a label."""
    return [row for row, label in enumerate(labels) if label not in (None, "", [])]


def labelled_conversations(
    table: pa.Table, labels: Sequence[Any], requests: Collection[tuple[str, int]] = ()
) -> list[int]:
    """Return the rows of a table of messages whose group is compared with a label of their conversation.

    It counts once: for the request. Without one, it counts for the first message in a group by the role that opens most
    conversations, or if there is none for that role's first message.

    Args:
        table: With a row for each message, as `turnlens.cluster` gives it.
        labels: The label of each row, ``None`` for none.
        requests: The id and turn of each message that is a request, where they are known.
    """
    ids, turns, roles, groups = (table[name].to_pylist() for name in ("id", "turn", "role", "group"))
    openers = Counter(roles[row] for row in range(len(ids)) if row == 0 or ids[row] != ids[row - 1])
    opener = openers.most_common(1)[0][0] if openers else None
    chosen: dict[str, int] = {}
    rank = [((id, turn) in requests, group is not None) for id, turn, group in zip(ids, turns, groups)]
    for row in labelled(labels):
        if rank[row][0] or roles[row] == opener:
            first = chosen.setdefault(ids[row], row)
            if rank[row] > rank[first]:
                chosen[ids[row]] = row
    return list(chosen.values())
