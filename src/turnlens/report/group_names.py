"""The names of groups: phrases, and a typical sentence, of their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.data.sentences import LONGEST_TEXT
from turnlens.groups.courtesies import courtesy_name, without_courtesies
from turnlens.groups.group_members import Members
from turnlens.groups.group_model import GroupModel, Kind
from turnlens.groups.naming import name_sentences
from turnlens.groups.phrases import distinct_names, name_phrases, phrases_in, told_apart
from turnlens.groups.pipeline import Grouping
from turnlens.report.corpus import Corpus
from turnlens.report.speakers import Speakers

Naming = Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], Sequence[str]]
_NAMED_BY = 200  # conversations of a group, at most, whose texts name it
_BEGINNING = 3  # messages of a conversation without a request, of which one names it


@dataclass(frozen=True)
class Description:
    """The content of a group's texts: its phrases, and its most typical sentence, empty if there is none."""

    phrases: tuple[str, ...]
    name: str


def describe_groups(
    corpus: Corpus, speakers: Speakers, kind: Kind, grouping: Grouping, levels: Sequence[IntArray]
) -> dict[int, Description]:
    """The content of each group, in the sample, by id. Conversations are named by their requests."""
    described: dict[int, Description] = {}
    counted = lru_cache(1)(phrases_in)  # coarse and fine groups of messages have the same texts
    for ids in levels:
        rows = grouping.sample if kind == "message" else _few_of_each(grouping.sample, ids)
        said = [
            corpus.plain[row] if kind == "message" else _whole(corpus, row, corpus.plain, speakers.asker)
            for row in rows
        ]
        texts = [without_courtesies(text) for text in said]
        messages = rows if kind == "message" else _requests(corpus, speakers, rows)
        values = np.unique(ids[rows][ids[rows] >= 0])
        labels = np.where(ids[rows] >= 0, np.searchsorted(values, ids[rows]), -1)
        vectors = np.array(corpus.vectors[messages], np.float32)
        nameless = np.asarray([not grouping.model.groups[id].name for id in values.tolist()], bool)
        named_by = texts if kind == "message" else [without_courtesies(corpus.plain[row]) for row in messages]
        parts = _parts_of(labels, speakers.part[rows] if kind == "message" else np.zeros(len(rows), np.int64))
        phrases = name_phrases(texts, labels, parts, vectors, corpus.encoder.embed, counted)
        names = name_sentences(named_by, vectors, labels, nameless, corpus.encoder.embed)  # the others keep theirs
        for group in np.flatnonzero(nameless).tolist():
            names[group] = courtesy_name([said[row] for row in np.flatnonzero(labels == group)]) or names[group]
        for id, own, name in zip(values.tolist(), phrases, names):
            described[id] = Description(tuple(own), name)
    return described


def _parts_of(labels: IntArray, part: IntArray) -> IntArray:
    """The part of each group, from that of each text (groups,)."""
    groups, first = np.unique(labels, return_index=True)
    return part[first[groups >= 0]]


def _requests(corpus: Corpus, speakers: Speakers, conversations: IntArray) -> IntArray:
    """The topic of each conversation: its request; where it has none, the nearest of its first messages."""
    is_request = speakers.part == speakers.requests
    requests = []
    for conversation in conversations.tolist():
        start, turns = int(corpus.first[conversation]), int(corpus.turns[conversation])
        rows = np.arange(start, start + turns)
        opening = rows[is_request[rows]]
        candidates = opening if len(opening) else rows[:_BEGINNING]
        cosines = corpus.vectors[candidates] @ corpus.conversation_vectors[conversation]
        requests.append(int(candidates[cosines.argmax()]))
    return np.asarray(requests, np.int64)


def _few_of_each(sample: IntArray, ids: IntArray) -> IntArray:
    order = np.argsort(ids[sample], kind="stable")
    sorted_ids = ids[sample][order]
    place = np.arange(len(order)) - np.searchsorted(sorted_ids, sorted_ids)
    return sample[np.sort(order[place < _NAMED_BY])]


def _whole(corpus: Corpus, row: int, texts: Sequence[str], role: str | None = None) -> str:
    """Return all messages of a conversation, or those of a role, as one text; ``texts`` are those of all messages."""
    turns = range(int(corpus.first[row]), int(corpus.first[row] + corpus.turns[row]))
    own = (texts[turn] for turn in turns if role in (None, corpus.roles[corpus.role[turn]]))
    return "\n".join(own)[:LONGEST_TEXT]


def name_groups(
    model: GroupModel,
    members: Mapping[int, Members],
    described: Mapping[int, Description],
    corpus: Corpus,
    kind: Kind,
    naming: Naming | None,
) -> GroupModel:
    """Names for the groups that have none yet; the others keep theirs."""
    groups = {
        id: replace(group, phrases=described[id].phrases) if id in described else group
        for id, group in model.groups.items()
    }
    finer = Counter(group.parent for id, group in groups.items() if id in members)
    for is_coarse in (True, False):
        level = [id for id, group in groups.items() if (group.parent is None) == is_coarse]
        nameless = [id for id in level if id in members and not groups[id].name]
        taken = [groups[id].name for id in level if groups[id].name]
        # Phrases name several finer groups together, which no sentence does.
        own = [
            described[id].name if id in described and not (finer[id] > 1 and groups[id].phrases) else ""
            for id in nameless
        ]
        phrases = [groups[id].phrases for id in nameless]
        if naming is not None and nameless:
            own = list(naming(phrases, [_examples(corpus, kind, members[id]) for id in nameless]))
        else:
            own = told_apart(own, phrases)
        names = distinct_names(list(map(_candidates, own, phrases)), taken)
        groups |= {id: replace(groups[id], name=name) for id, name in zip(nameless, names)}
    return replace(model, groups=groups)


def _candidates(name: str, phrases: Sequence[str]) -> list[str]:
    """Names for a group: the given one, with a phrase if another group has it too; its phrases if there is none."""
    if not name:
        return [" · ".join(phrases[:count]) for count in range(min(3, len(phrases)), len(phrases) + 1) if count]
    return [name, *(f"{name} ({phrase})" for phrase in phrases)]


def _examples(corpus: Corpus, kind: Kind, members: Members) -> list[str]:
    return [corpus.texts[row] if kind == "message" else _whole(corpus, row, corpus.texts) for row in members.central]
