"""Groups of messages by who says them: whose they are, what answers them, where they stand."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.groups.speakers import Speakers
from turnlens.groups.survey import Survey
from turnlens.groups.typical_members import members_of
from turnlens.report.corpus import Corpus
from turnlens.report.report import Group

# A courtesy is shorter than the messages of its role (medians); or it opens far fewer conversations than all of them
# and closes many more. What is all that somebody says is none.
_SHORTER, _OPENS, _CLOSES, _ALONE = 0.7, 0.25, 2.0, 0.5
_VARIED, _NEXT = 0.25, 0.7  # or it says the same again and again, and what its speaker says next is longer
# Of what is no courtesy, requests come first: less than half as often as average, and it only fills in details.
_COMES_FIRST = 0.5


def with_speakers(groups: Sequence[Group], survey: Survey, corpus: Corpus, speakers: Speakers) -> list[Group]:
    """The groups with their role, their share of its messages, what answers them, and whether they are mere moves.

    Args:
        groups: The groups of messages.
        survey: The group of each message.
        corpus: The messages.
        speakers: Whose messages are grouped apart.
    """
    coarse = survey.memory.parents_of(survey.groups)
    answers = {**_answers(corpus, coarse), **_answers(corpus, survey.groups)}
    moves = moves_among(survey.groups, corpus, speakers)
    not_only_moves = {group.parent for group in groups if group.level == 1 and group.id not in moves}
    described = []
    for group in groups:
        parts = np.unique(speakers.part[(survey.groups if group.level else coarse) == group.id])
        if len(parts) != 1:  # a user has merged groups of several parts
            described.append(replace(group, answer=answers.get(group.id)))
            continue
        part = speakers.parts[parts[0]]
        described.append(
            replace(
                group,
                role=part.role,
                opening=part.opening,
                share=group.size / int((speakers.part == parts[0]).sum()),
                answer=answers.get(group.id),
                move=_is_move(group, moves, not_only_moves),
            )
        )
    return described


def _is_move(group: Group, moves: Container[int], not_only_moves: Container[int | None]) -> bool:
    if group.aside is not None:
        return group.aside
    return group.id in moves if group.level else group.id not in not_only_moves


def moves_among(groups: IntArray, corpus: Corpus, speakers: Speakers) -> set[int]:
    """The groups that are mere moves, of those in which all messages are in one part.

    Moves are courtesies, such as greetings, thanks and assent. Those of the asker are also the details that others ask
    for, such as names, days and numbers: unlike requests, they are seldom the first thing said after the courtesies.
    Once requests are known, all else that the asker says is a move.

    Args:
        groups: The group of each message, -1 for none (n,).
        corpus: The messages.
        speakers: Whose messages are grouped apart.
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
        everything = np.flatnonzero(roles[speakers.part] == part.role)
        length = np.median(lengths[rows]) / max(1, np.median(lengths[everything]))
        closes = last[rows].mean() > _CLOSES * last[everything].mean()
        is_all = (first[rows] & last[rows]).mean() > _ALONE
        rarely_opens = first[rows].mean() < _OPENS * first[everything].mean()
        same = len({corpus.texts[row] for row in rows.tolist()}) < _VARIED * len(rows)
        before_more = same and np.median(lengths[rows]) < _NEXT * np.median(following[rows])
        if not is_all and (length < _SHORTER or (rarely_opens and closes) or before_more):
            moves.add(id)
        elif speakers.asker is not None and part.role == speakers.asker:
            asked.append(id)
    said = np.flatnonzero(np.isin(groups, asked))
    starts = np.zeros(len(groups), bool)
    starts[said[np.unique(corpus.conversation[said], return_index=True)[1]]] = True
    usual = starts[said].mean() if len(said) else 0.0
    return moves | {id for id in asked if starts[groups == id].mean() < _COMES_FIRST * usual}


def _answers(corpus: Corpus, groups: IntArray) -> dict[int, int]:
    """The most typical of the messages by which others answer a group, by its id."""
    answered = np.full(len(groups), -1, np.int64)
    follows = (corpus.conversation[1:] == corpus.conversation[:-1]) & (corpus.role[1:] != corpus.role[:-1])
    rows = np.flatnonzero(follows)
    answered[rows + 1] = groups[rows]
    return {id: members.central[0] for id, members in members_of(corpus.vectors, answered, corpus.texts).items()}


def _in_role(corpus: Corpus, lengths: IntArray) -> tuple[BoolArray, BoolArray, IntArray]:
    """Which messages are the first, and which the last, of their role in their conversation (n,).

    And the length of what the same role says next in it, 0 if it says nothing more (n,).
    """
    order = np.lexsort((np.arange(len(lengths)), corpus.role, corpus.conversation))
    same = (np.diff(corpus.conversation[order]) == 0) & (np.diff(corpus.role[order]) == 0)
    first, last = np.ones(len(lengths), bool), np.ones(len(lengths), bool)
    following = np.zeros(len(lengths), np.int64)
    first[order[1:][same]] = last[order[:-1][same]] = False
    following[order[:-1][same]] = lengths[order[1:][same]]
    return first, last, following
