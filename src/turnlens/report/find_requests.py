"""The requests of each conversation: its asker's first message that is neither a courtesy nor a detail.

Courtesies and details are told from requests by first grouping all messages of the asker. Where they leave nothing of a
conversation, its opening is the request, unless it is a courtesy by its words. A later message is a request, too, if
most of the messages that it is most like are the first of theirs. Requests are then grouped by themselves, so the
groups are not drawn to the details that one writes most often.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray, LazyVectors, Vectors
from turnlens.groups.canned_replies import canned_texts
from turnlens.groups.courtesies import courtesy_name, is_courtesy
from turnlens.groups.group_model import GroupModel
from turnlens.groups.group_settings import MOST, GroupSettings
from turnlens.groups.pipeline import group_vectors
from turnlens.report.corpus import Corpus
from turnlens.report.speakers import Speakers

_LEAST = 30  # requests that differ; fewer are not grouped apart
_SHORTER = 0.7  # a move is shorter than its speakers' next messages, or than those of its role (medians)


def requests_of(
    corpus: Corpus, vectors: Vectors, speakers: Speakers, settings: GroupSettings, former: GroupModel | None = None
) -> tuple[BoolArray, GroupModel | None]:
    """Find the messages that are requests (n,); none if nobody is known to ask, or too few differ.

    The groups of all messages of the asker come with them, to be kept; ``former`` are those before the data grew.
    """
    is_request = np.zeros(len(corpus.texts), bool)
    if speakers.asker is None:
        return is_request, None
    rows = np.flatnonzero(speakers.asks & corpus.speaks)
    said = [corpus.texts[row] for row in rows.tolist()]
    asked = LazyVectors(len(rows), lambda some: vectors[rows[some]])
    grouping = group_vectors(asked, said, replace(settings, granularity="medium"), former)
    sample, near = grouping.sample, grouping.neighbours
    if len(sample) < _LEAST:
        return is_request, None
    groups = np.full(len(is_request), -1, np.int64)
    stock = canned_texts([corpus.plain[row] for row in rows.tolist()], np.zeros(len(rows), np.int64), numbers=True)
    groups[rows] = np.where(stock >= 0, stock + grouping.groups.max(initial=0) + 1, grouping.groups)
    says_more = np.fromiter((not is_courtesy(text) for text in said), bool, len(rows))
    left = rows[~np.isin(groups[rows], list(moves_among(groups, corpus, speakers))) & says_more]
    openings = np.intersect1d(_first_of_each(rows, corpus), rows[says_more])
    openings = openings[~np.isin(corpus.conversation[openings], corpus.conversation[left])]
    first = np.union1d(_first_of_each(left, corpus), openings)
    if len({corpus.texts[row] for row in first.tolist()}) >= _LEAST:
        is_request[first] = True
        later = np.setdiff1d(left[groups[left] >= 0], first)
        opens = is_request[rows[sample]][near.rows[np.searchsorted(rows, later)]]  # (later, neighbours)
        is_request[later[opens.mean(1) >= MOST]] = True
    return is_request, grouping.model


def moves_among(groups: IntArray, corpus: Corpus, speakers: Speakers) -> set[int]:
    """Find the groups of mere moves, among those whose messages are all in one part.

    Moves are courtesies, such as greetings, thanks and assent. Those of the asker are also the details that others ask
    for, such as names, days and numbers: unlike requests, they seldom come first after the courtesies; and repeated
    openings before a longer message ("I have a question"). Once requests are known, all other messages of the asker
    are moves. Moves of others are short, too.
    """
    lengths = np.asarray([len(text) for text in corpus.texts])
    first, last, following = _in_role(corpus, lengths)
    roles = np.asarray([part.role for part in speakers.parts])
    moves: set[int] = set()
    asked: list[int] = []
    for id in np.unique(groups[groups >= 0]).tolist():
        rows = np.flatnonzero(groups == id)
        parts = np.unique(speakers.part[rows])
        if len(parts) != 1:
            continue
        part = speakers.parts[parts[0]]
        if speakers.requests is not None and part.role == speakers.asker:
            moves |= set() if part.opening else {id}
            continue
        texts = [corpus.texts[row] for row in rows.tolist()]
        own, is_repeated = np.median(lengths[rows]), len(set(texts)) < MOST * len(texts)
        leads_on = is_repeated and own < _SHORTER * np.median(following[rows])
        if part.role == speakers.asker:
            is_move = leads_on and first[rows].mean() > MOST
        else:
            usual = np.median(lengths[roles[speakers.part] == part.role])
            is_move = (leads_on or own < _SHORTER * usual) and (first & last)[rows].mean() <= MOST
        if is_move or courtesy_name(texts):
            moves.add(id)
        elif part.role == speakers.asker:
            asked.append(id)
    messages = np.flatnonzero(np.isin(groups, asked))
    starts = np.zeros(len(groups), bool)
    starts[_first_of_each(messages, corpus)] = True
    usual = starts[messages].mean() if len(messages) else 0.0
    return moves | {id for id in asked if starts[groups == id].mean() < MOST * usual}


def _first_of_each(messages: IntArray, corpus: Corpus) -> IntArray:
    """The first of some messages in each of their conversations."""
    return messages[np.unique(corpus.conversation[messages], return_index=True)[1]]


def _in_role(corpus: Corpus, lengths: IntArray) -> tuple[BoolArray, BoolArray, IntArray]:
    """Find the first and last messages of their role in a conversation, and the length of the role's next (n,)."""
    order = np.lexsort((np.arange(len(lengths)), corpus.role, corpus.conversation))
    same = (np.diff(corpus.conversation[order]) == 0) & (np.diff(corpus.role[order]) == 0)
    first, last = np.ones(len(lengths), bool), np.ones(len(lengths), bool)
    following = np.zeros(len(lengths), np.int64)
    first[order[1:][same]] = last[order[:-1][same]] = False
    following[order[:-1][same]] = lengths[order[1:][same]]
    return first, last, following
