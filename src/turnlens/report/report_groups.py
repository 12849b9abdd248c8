"""The groups of a report, with their names and their most and least typical members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.groups.answer_guess import answers_to
from turnlens.groups.boilerplate import without_placeholders
from turnlens.groups.group_memory import GroupMemory, Kind, Memory
from turnlens.groups.naming import name_sentences
from turnlens.groups.opposite_moods import moods
from turnlens.groups.phrases import distinct_names, keyword_name, name_phrases, phrases_in, told_apart
from turnlens.groups.speakers import Speakers
from turnlens.groups.survey import Survey
from turnlens.groups.tightness import TIGHT, tightness
from turnlens.groups.typical_members import Members, members_of
from turnlens.report.corpus import Corpus
from turnlens.report.granularity import with_scale
from turnlens.report.group_speakers import with_speakers
from turnlens.report.report import Group

Naming = Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], Sequence[str]]
_NAMED_BY = 200  # conversations of a group, at most, whose texts name it
_BEGINNING = 3  # messages of a conversation without a request, of which one names it
_LONGEST_TEXT = 4000  # characters of a conversation that its name is made from


def named_groups(
    corpus: Corpus, speakers: Speakers, surveys: Mapping[Kind, Survey], naming: Naming | None
) -> tuple[dict[Kind, Sequence[Group]], Memory]:
    """The groups of messages and of conversations, and what the store will remember about them.

    Args:
        corpus: The messages and conversations.
        speakers: Whose messages are grouped apart.
        surveys: The group and place of each message and conversation.
        naming: Names new groups from their phrases and the texts of their central members; by default, a typical
            message is the name of a fine group, or phrases if it is loose, and those are the name of a coarse one.
    """
    groups: dict[Kind, Sequence[Group]] = {}
    memory: Memory = {}
    for kind, survey in surveys.items():
        vectors = corpus.vectors if kind == "message" else corpus.conversation_vectors
        shown = corpus.texts if kind == "message" else corpus.ids
        both = [survey.memory.parents_of(survey.groups), survey.groups]  # coarse, fine
        members = {id: rows for ids in both for id, rows in members_of(vectors, ids, shown).items()}
        known = [survey.memory.groups[id] for id in members]
        # What only grew keeps its words: counting them anew takes longer than all else of a small update.
        only_grew = survey.memory.joined > 0 and all(group.name and group.phrases for group in known)
        described = {} if only_grew else _described(corpus, speakers, kind, survey, both)
        memory[kind] = _named(survey.memory, members, described, corpus, kind, naming)
        listed = _listed(memory[kind], members, len(survey.groups))
        if kind == "message":
            listed = with_moods(listed, survey, corpus)
            listed = with_scale(with_speakers(listed, survey, corpus, speakers), survey, corpus)
        groups[kind] = listed
    return groups, memory


@dataclass(frozen=True)
class _Described:
    """The content of a group's texts: its phrases, and a name for it, empty if there is none.

    The name is the most typical sentence; of requests and topics that are not alike enough, the commonest phrases.
    """

    phrases: tuple[str, ...]
    name: str


def _described(
    corpus: Corpus, speakers: Speakers, kind: Kind, survey: Survey, levels: Sequence[IntArray]
) -> dict[int, _Described]:
    """The content of each group, in the sample, by id. Conversations are named by their requests."""
    described: dict[int, _Described] = {}
    counted = lru_cache(1)(phrases_in)  # coarse and fine groups of messages have the same texts
    for ids in levels:
        rows = survey.sample if kind == "message" else _few_of_each(survey.sample, ids)
        said = (corpus.texts[row] if kind == "message" else _whole(corpus, row, speakers.asker) for row in rows)
        texts = [without_placeholders(text) for text in said]
        messages = rows if kind == "message" else _requests(corpus, speakers, rows)
        values = np.unique(ids[rows][ids[rows] >= 0])
        labels = np.where(ids[rows] >= 0, np.searchsorted(values, ids[rows]), -1)
        vectors = np.array(corpus.vectors[messages], np.float32)
        nameless = np.asarray([not survey.memory.groups[id].name for id in values.tolist()], bool)
        named_by = texts if kind == "message" else [without_placeholders(corpus.texts[row]) for row in messages]
        parts = _parts_of(labels, speakers.part[rows] if kind == "message" else np.zeros(len(rows), np.int64))
        phrases = name_phrases(texts, labels, parts, vectors=vectors, counted=counted)
        is_topic = (parts == speakers.requests) | (kind == "conversation")
        loose = (is_topic | (speakers.asker is None)) & (tightness(vectors, labels, parts) < TIGHT)
        loose &= np.asarray(list(map(bool, phrases)), bool)
        names = name_sentences(named_by, vectors, labels, nameless & ~loose)  # the others keep their names
        for group in np.flatnonzero(nameless & loose).tolist():
            names[group] = keyword_name(phrases[group], [texts[row] for row in np.flatnonzero(labels == group)])
        for id, own, name in zip(values.tolist(), phrases, names):
            described[id] = _Described(tuple(own), name)
    return described


def _parts_of(labels: IntArray, part: IntArray) -> IntArray:
    """The part of each group, from that of each text (groups,)."""
    groups, first = np.unique(labels, return_index=True)
    return part[first[groups >= 0]]


def with_moods(groups: Sequence[Group], survey: Survey, corpus: Corpus) -> list[Group]:
    """The groups of messages; the first two members of one that has two moods are the most typical of each."""
    labels, vectors = survey.groups[survey.sample], np.array(corpus.vectors[survey.sample], np.float32)
    answer = answers_to(corpus.role, corpus.conversation)[survey.sample]
    answers = np.where(answer[:, None] >= 0, corpus.vectors[answer], np.float32(0))
    listed = []
    for group in groups:
        rows = np.flatnonzero(labels == group.id)
        second = moods(vectors[rows], answers[rows])
        if second is not None:
            halves = sorted((rows[~second], rows[second]), key=len, reverse=True)
            typical = [half[(vectors[half] @ vectors[half].mean(0)).argmax()] for half in halves]
            central = dict.fromkeys((*survey.sample[typical].tolist(), *group.central))
            group = replace(group, central=tuple(central)[: len(group.central)])
        listed.append(group)
    return listed


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


def _whole(corpus: Corpus, row: int, role: str | None = None) -> str:
    """All that is said in a conversation, or what this role says there."""
    turns = range(int(corpus.first[row]), int(corpus.first[row] + corpus.turns[row]))
    said = (corpus.texts[turn] for turn in turns if role in (None, corpus.roles[corpus.role[turn]]))
    return "\n".join(said)[:_LONGEST_TEXT]


def _named(
    memory: GroupMemory,
    members: Mapping[int, Members],
    described: Mapping[int, _Described],
    corpus: Corpus,
    kind: Kind,
    naming: Naming | None,
) -> GroupMemory:
    """Names for the groups that have none yet; the others keep theirs."""
    groups = {
        id: replace(group, phrases=described[id].phrases) if id in described else group
        for id, group in memory.groups.items()
    }
    finer = Counter(group.parent for id, group in groups.items() if id in members)
    for is_coarse in (True, False):
        level = [id for id, group in groups.items() if (group.parent is None) == is_coarse]
        nameless = [id for id in level if id in members and not groups[id].name]
        taken = [groups[id].name for id in level if groups[id].name]
        # No sentence says what several finer groups are about; their phrases do.
        own = [
            described[id].name if id in described and not (finer[id] > 1 and groups[id].phrases) else ""
            for id in nameless
        ]
        if naming is not None and nameless:
            own = list(
                naming(
                    [groups[id].phrases for id in nameless], [_examples(corpus, kind, members[id]) for id in nameless]
                )
            )
        else:
            own = told_apart(own, [groups[id].phrases for id in nameless])
        names = distinct_names([_candidates(name, groups[id].phrases) for name, id in zip(own, nameless)], taken)
        groups |= {id: replace(groups[id], name=name) for id, name in zip(nameless, names)}
    return replace(memory, groups=groups)


def _candidates(name: str, phrases: Sequence[str]) -> list[str]:
    """Names for a group: the given one, with a phrase if another group has it too; its phrases if there is none."""
    if not name:
        return [" · ".join(phrases[:count]) for count in range(min(3, len(phrases)), len(phrases) + 1) if count]
    return [name, *(f"{name} ({phrase})" for phrase in phrases)]


def _examples(corpus: Corpus, kind: Kind, members: Members) -> list[str]:
    return [corpus.texts[row] if kind == "message" else _whole(corpus, row) for row in members.central]


def _listed(memory: GroupMemory, members: Mapping[int, Members], total: int) -> Sequence[Group]:
    """The groups that are not empty: coarse groups first, then by size."""
    listed = [
        Group(
            id=id,
            name=group.name,
            phrases=group.phrases,
            parent=group.parent,
            level=0 if group.parent is None else 1,
            size=members[id].size,
            share=members[id].size / total,
            central=members[id].central,
            edge=members[id].edge,
            new=group.new,
            renamed=group.renamed,
            aside=group.aside,
            colour=id,
        )
        for id, group in memory.groups.items()
        if id in members
    ]
    return sorted(listed, key=lambda group: (group.level, -group.size, group.id))
