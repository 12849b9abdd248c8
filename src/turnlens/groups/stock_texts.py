"""Stock texts, such as an agent's macros: each of them is a group, however few differ, and however unlike others.

A role that answers may say hardly anything else. Its few texts that differ are too far apart for groups, although each
of them is said in hundreds of conversations. Numbers in them do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.groups.neighbours import Neighbours
from turnlens.groups.speakers import Speakers

_LEAST = 5  # messages with a stock text …
_MOST = 0.5  # … which are at least so many of all that a role says
_NUMBER = re.compile(r"\d+")


def stock_of(texts: Sequence[str], speakers: Speakers, least_share: float) -> IntArray:
    """The stock text of each message, -1 for none (n,); none of the role that asks has any.

    Args:
        texts: The messages (n).
        speakers: The part of each.
        least_share: The share of its part's messages that a stock text is, at least.
    """
    stock = np.full(len(texts), -1, np.int64)
    for value, part in enumerate(speakers.parts):
        rows = np.flatnonzero(speakers.part == value)
        if part.role in (None, speakers.asker) or not len(rows):
            continue
        own = stock_among([_NUMBER.sub("0", texts[row]) for row in rows.tolist()], least_share)
        stock[rows] = np.where(own >= 0, own + stock.max() + 1, -1)
    return stock


def stock_among(texts: Sequence[str], least_share: float) -> IntArray:
    """The stock text of each message of one role, -1 for none (n,).

    Args:
        texts: The messages (n).
        least_share: The share of them that a stock text is, at least.
    """
    plain = np.asarray([text.strip() for text in texts], object)
    _, place, counts = np.unique(plain, return_inverse=True, return_counts=True)
    is_stock = ((counts >= max(_LEAST, least_share * len(texts)))[place]) & (plain != "")
    return np.where(is_stock & (is_stock.sum() >= _MOST * max(len(texts), 1)), place, -1)


def apart_from_stock(groups: IntArray, stock: IntArray, sample: IntArray, near: Neighbours) -> IntArray:
    """The groups, where what is like no stock text is apart from the stock texts in its group (n,).

    Where most of what somebody says are the buttons of a bot, these are few texts, which share a group with a request
    that is rare, and are most of its messages.

    Args:
        groups: The group of each message, -1 for none (n,).
        stock: The stock text of each, -1 for none (n,).
        sample: The messages that groups were fitted to (s,).
        near: The neighbours of each message among them.
    """
    is_stock = stock >= 0
    like_none = ~is_stock & ~is_stock[sample][near.rows].any(1)
    apart = like_none & (groups >= 0) & np.isin(groups, groups[is_stock])
    return np.where(apart, groups + groups.max(initial=-1) + 1, groups)
