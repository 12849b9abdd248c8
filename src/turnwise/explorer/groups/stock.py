"""Stock texts, such as an agent's macros: each of them is a group, however few differ, and however unlike others.

A role that answers may say hardly anything else. Its few texts that differ are too far apart for groups, although each
of them is said in hundreds of conversations. Numbers in them do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from turnwise._utils.vectors import IntArray
from turnwise.explorer.speakers import Speakers

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
        plain = np.asarray([_NUMBER.sub("0", texts[row]).strip() for row in rows.tolist()], object)
        _, place, counts = np.unique(plain, return_inverse=True, return_counts=True)
        is_stock = ((counts >= max(_LEAST, least_share * len(rows)))[place]) & (plain != "")
        if is_stock.mean() >= _MOST:
            stock[rows] = np.where(is_stock, place + stock.max() + 1, -1)
    return stock
