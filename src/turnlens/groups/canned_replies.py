"""Canned texts, such as an agent's macros or the buttons of a bot: each is a group, however few texts differ.

A role may hardly write anything else. Its few texts that differ are too far apart for groups, although each of them is
in hundreds of conversations. Numbers and placeholders in them do not count, nor does whom they greet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.data.sentences import GAP, GREETING, LETTERS
from turnlens.groups.group_settings import LEAST, MOST

_LEAST_SHARE = 0.001  # of the messages of a role, that have the same canned text
_WORD = re.compile(r"[^\W_]+")


def canned_texts(texts: Sequence[str], part: IntArray, numbers: bool = False) -> IntArray:
    """Return the canned text that each message is, -1 for none (n,).

    Args:
        texts: The messages, as `Corpus.plain` has them (n).
        part: The part of each, such as its role (n,).
        numbers: Texts with other numbers are others.
    """
    canned = np.full(len(texts), -1, np.int64)
    word = _WORD if numbers else LETTERS
    bare = (GREETING.sub("", text) for text in texts)
    said = [" ".join(word.findall(text.lower())) or text.replace(GAP, " ").strip() for text in bare]
    for value in np.unique(part):
        rows = np.flatnonzero(part == value)
        own = np.asarray([said[row] for row in rows.tolist()], object)
        _, place, counts = np.unique(own, return_inverse=True, return_counts=True)
        is_canned = (counts >= max(LEAST, _LEAST_SHARE * len(rows)))[place] & (own != "")
        if is_canned.sum() >= MOST * len(rows):
            canned[rows] = np.where(is_canned, place + canned.max(initial=-1) + 1, -1)
    return canned
