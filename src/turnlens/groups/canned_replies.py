"""Canned texts, such as an agent's macros or the buttons of a bot: each is a group, however few texts differ.

A role may hardly write anything else. Its few texts that differ are too far apart for groups, although each of them is
in hundreds of conversations. Numbers in them do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from turnlens._utils.vectors import IntArray

_LEAST = 5  # messages with a canned text …
_MOST = 0.5  # … which are at least so many of all messages of a role
_NUMBER = re.compile(r"\d+")


def canned_texts(texts: Sequence[str], part: IntArray, least_share: float) -> IntArray:
    """Return the canned text that each message is, -1 for none (n,).

    Args:
        texts: The messages (n).
        part: The part of each, such as its role (n,).
        least_share: The least share of its part's messages that a canned text is.
    """
    canned = np.full(len(texts), -1, np.int64)
    for value in np.unique(part):
        rows = np.flatnonzero(part == value)
        plain = np.asarray([_NUMBER.sub("0", texts[row]).strip() for row in rows.tolist()], object)
        _, place, counts = np.unique(plain, return_inverse=True, return_counts=True)
        is_canned = (counts >= max(_LEAST, least_share * len(rows)))[place] & (plain != "")
        if is_canned.sum() >= _MOST * len(rows):
            canned[rows] = np.where(is_canned, place + canned.max(initial=-1) + 1, -1)
    return canned
