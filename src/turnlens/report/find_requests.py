"""The requests of each conversation: the first thing that its asker says that is neither a courtesy nor a detail.

What is said only along the way is told from requests by first grouping all that the asker says. What is said later is a
request, too, if most of the messages that it is most like are the first of theirs. Requests are then grouped by
themselves, so the groups are not drawn to the details that one writes most often.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import BoolArray, Vectors
from turnlens.groups.group_memory import GroupMemory
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.knn_vote import lonely_below, vote
from turnlens.groups.neighbours import nearest
from turnlens.groups.remembered_groups import remembered_groups
from turnlens.groups.sample import keys_of, sample_rows
from turnlens.groups.speakers import Speakers
from turnlens.groups.stock_texts import apart_from_stock, stock_among
from turnlens.report.corpus import Corpus
from turnlens.report.group_speakers import moves_among

_LEAST = 30  # requests that differ; fewer are not grouped apart
_FIRST = 0.5  # of the nearest messages of a later request open their conversations, at least


def requests_of(
    corpus: Corpus, vectors: Vectors, speakers: Speakers, settings: GroupSettings, former: GroupMemory | None = None
) -> tuple[BoolArray, GroupMemory | None]:
    """Which messages are requests (n,); none if nobody is known to ask, or too few differ.

    The groups of all that the asker says come with them, to be remembered.

    Args:
        corpus: The conversations.
        vectors: The vectors of messages that groups are found in, of length 1 (n, dim).
        speakers: Who asks.
        settings: How groups are made; these are as fine as the data suggest.
        former: The groups of all that the asker said before the data grew.
    """
    is_request = np.zeros(len(corpus.texts), bool)
    if speakers.asker is None:
        return is_request, None
    rows = np.flatnonzero(speakers.asks & corpus.speaks)
    keys = keys_of((corpus.texts[row] for row in rows.tolist()), settings.seed)
    sample = sample_rows(keys, settings.sample, np.ones(len(rows), bool))
    if len(sample) < _LEAST:
        return is_request, None
    fitted = np.array(vectors[rows[sample]], np.float32)
    near = nearest(vectors, fitted, settings.neighbours_among(len(sample)), members=rows)
    among = near.of(sample)
    medium, one_part = replace(settings, granularity="medium"), np.zeros(len(sample), np.int64)
    memory = remembered_groups(keys[sample], fitted, among, one_part, medium, former)
    groups = np.full(len(is_request), -1, np.int64)
    groups[rows] = vote(near, memory.fine, lonely_below(among.cosines[:, 0]))
    said = [corpus.texts[row] for row in rows.tolist()]
    groups[rows] = apart_from_stock(groups[rows], stock_among(said, settings.least_share), sample, near)
    left = rows[~np.isin(groups[rows], list(moves_among(groups, corpus, speakers)))]
    first = left[np.unique(corpus.conversation[left], return_index=True)[1]]
    if len({corpus.texts[row] for row in first.tolist()}) >= _LEAST:
        is_request[first] = True
        later = np.setdiff1d(left[groups[left] >= 0], first)
        opens = is_request[rows[sample]][near.rows[np.searchsorted(rows, later)]]  # (later, neighbours)
        is_request[later[opens.mean(1) >= _FIRST]] = True
    return is_request, memory
