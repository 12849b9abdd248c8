"""The agreement of groups with labels that a user has given, as `turnlens cluster` and `turnlens label` tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, f1_score

from turnlens.evaluation.clustering_metrics import contingency

_BINS = 5


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


def labelled_rows(table: pa.Table, labels: Sequence[Any], of_messages: bool) -> list[int]:
    """Return the rows of a table of groups whose group is compared with a label.

    A label of a conversation counts once: for the first message in a group by the role that opens most conversations,
    or if there is none for that role's first message.

    Args:
        table: With a row for each message, or for each conversation, as `turnlens.cluster` gives it.
        labels: The label of each row, ``None`` for none.
        of_messages: The label is one of messages.
    """
    known = [row for row, label in enumerate(labels) if label not in (None, "", [])]
    if of_messages or "role" not in table.column_names:
        return known
    ids, roles, groups = (table[name].to_pylist() for name in ("id", "role", "group"))
    openers = Counter(roles[row] for row in range(len(ids)) if row == 0 or ids[row] != ids[row - 1])
    opener = openers.most_common(1)[0][0] if openers else None
    chosen: dict[str, int] = {}
    for row in known:
        if roles[row] == opener:
            first = chosen.setdefault(ids[row], row)
            if groups[first] is None and groups[row] is not None:
                chosen[ids[row]] = row
    return list(chosen.values())
