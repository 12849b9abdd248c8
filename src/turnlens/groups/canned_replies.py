"""Canned replies, such as an agent's macros: each of them is a group, however few differ, and however unlike others.

A role that answers may hardly write anything else. Its few texts that differ are too far apart for groups, although
each of them is in hundreds of conversations. Numbers in them do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.groups.neighbours import Neighbours

_LEAST = 5  # messages with a canned reply …
_MOST = 0.5  # … which are at least so many of all messages of a role
_NUMBER = re.compile(r"\d+")


def canned_replies(texts: Sequence[str], part: IntArray, answering: Iterable[int], least_share: float) -> IntArray:
    """Return the canned reply that each message is, -1 for none (n,).

    Args:
        texts: The messages (n).
        part: The part of each (n,).
        answering: The parts whose messages may be canned: each that of one role, which does not ask.
        least_share: The least share of its part's messages that a canned reply is.
    """
    canned = np.full(len(texts), -1, np.int64)
    for value in answering:
        rows = np.flatnonzero(part == value)
        own = canned_among([_NUMBER.sub("0", texts[row]) for row in rows.tolist()], least_share)
        canned[rows] = np.where(own >= 0, own + canned.max(initial=-1) + 1, -1)
    return canned


def canned_among(texts: Sequence[str], least_share: float) -> IntArray:
    """Return the canned reply that each message of one role is, -1 for none (n,).

    Args:
        texts: The messages (n).
        least_share: The least share of them that a canned reply is.
    """
    plain = np.asarray([text.strip() for text in texts], object)
    _, place, counts = np.unique(plain, return_inverse=True, return_counts=True)
    is_canned = ((counts >= max(_LEAST, least_share * len(texts)))[place]) & (plain != "")
    return np.where(is_canned & (is_canned.sum() >= _MOST * max(len(texts), 1)), place, -1)


def split_from_canned(groups: IntArray, canned: IntArray, sample: IntArray, near: Neighbours) -> IntArray:
    """Split messages that are like no canned text from the group of those that are (n,).

    The buttons of a bot may be most of what a role writes. These are few texts, which share a group with a request
    that is rare, and are most of its messages.

    Args:
        groups: The group of each message, -1 for none (n,).
        canned: The canned text of each, -1 for none (n,).
        sample: The messages that groups were fitted to (s,).
        near: The neighbours of each message among them.
    """
    is_canned = canned >= 0
    like_none = ~is_canned & ~is_canned[sample][near.rows].any(1)
    apart = like_none & (groups >= 0) & np.isin(groups, groups[is_canned])
    return np.where(apart, groups + groups.max(initial=-1) + 1, groups)
