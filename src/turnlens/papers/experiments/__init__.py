"""The papers' experiments: a file for each paper, and a runner that never does anything twice."""

from __future__ import annotations

from collections.abc import Iterable

# The data sets of each suite, here for the command line, since the suites import slowly.
DATA_SETS = {
    "dialoguecse": ("sgd", "ecd", "jddc", "mdc", "sample"),
    "dial2vec": ("sgd", "self-dialogue", "bitod", "doc2dial", "metalwoz", "multiwoz", "sample"),
    "triple": ("dailydialog", "mdc", "personachat", "sgd", "cbt", "sample"),
}


def check_data_sets(names: Iterable[str] | None, known: Iterable[str]) -> None:
    """Raise ``ValueError`` if one of the names is not that of a known data set."""
    if unknown := sorted(set(names or ()) - set(known)):
        raise ValueError(f"unknown data set {', '.join(map(repr, unknown))}: expected some of {', '.join(known)}")
