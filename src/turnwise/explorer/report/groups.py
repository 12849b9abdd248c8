"""The groups of a report, with their names and their most and least typical members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from turnwise._utils.vectors import IntArray
from turnwise.explorer.corpus import Corpus
from turnwise.explorer.groups.members import Members, members_of
from turnwise.explorer.groups.memory import GroupMemory, Kind, Memory
from turnwise.explorer.groups.naming import distinct_names, name_phrases
from turnwise.explorer.groups.survey import Survey
from turnwise.explorer.report.report import Group
from turnwise.explorer.speakers import Speakers

Naming = Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], Sequence[str]]
_NAMED_BY = 200  # conversations of a group, at most, whose texts name it
_LONGEST_TEXT = 4000  # characters of a conversation that its name is made from


def named_groups(
    corpus: Corpus, speakers: Speakers, surveys: Mapping[Kind, Survey], naming: Naming | None
) -> tuple[dict[Kind, Sequence[Group]], Memory]:
    """The groups of messages and of conversations, and what the store will remember about them.

    Args:
        corpus: The messages and conversations.
        speakers: Whose messages are grouped apart.
        surveys: The group and place of each message and conversation.
        naming: Names new groups from their phrases and the texts of their central members; by default, the phrases
            alone are the name.
    """
    groups: dict[Kind, Sequence[Group]] = {}
    memory: Memory = {}
    for kind, survey in surveys.items():
        vectors = corpus.vectors if kind == "message" else corpus.conversation_vectors
        shown = corpus.texts if kind == "message" else corpus.ids
        both = [survey.memory.parents_of(survey.groups), survey.groups]  # coarse, fine
        members = {id: rows for ids in both for id, rows in members_of(vectors, ids, shown).items()}
        phrases = _phrases(corpus, kind, survey, both)
        memory[kind] = _named(survey.memory, members, phrases, corpus, kind, naming)
        listed = _listed(memory[kind], members, len(survey.groups))
        groups[kind] = [_spoken(group, survey, speakers) for group in listed] if kind == "message" else listed
    return groups, memory


def _phrases(corpus: Corpus, kind: Kind, survey: Survey, levels: Sequence[IntArray]) -> dict[int, tuple[str, ...]]:
    """The phrases of each group, from the sample, by id."""
    phrases: dict[int, tuple[str, ...]] = {}
    for ids in levels:
        rows = survey.sample if kind == "message" else _few_of_each(survey.sample, ids)
        texts = [corpus.texts[row] if kind == "message" else _whole(corpus, row) for row in rows.tolist()]
        values = np.unique(ids[rows][ids[rows] >= 0])
        labels = np.where(ids[rows] >= 0, np.searchsorted(values, ids[rows]), -1)
        for id, own in zip(values.tolist(), name_phrases(texts, labels)):
            phrases[id] = tuple(own)
    return phrases


def _few_of_each(sample: IntArray, ids: IntArray) -> IntArray:
    order = np.argsort(ids[sample], kind="stable")
    sorted_ids = ids[sample][order]
    place = np.arange(len(order)) - np.searchsorted(sorted_ids, sorted_ids)
    return sample[np.sort(order[place < _NAMED_BY])]


def _whole(corpus: Corpus, row: int) -> str:
    first = int(corpus.first[row])
    return "\n".join(corpus.texts[first : first + int(corpus.turns[row])])[:_LONGEST_TEXT]


def _named(
    memory: GroupMemory,
    members: Mapping[int, Members],
    phrases: Mapping[int, tuple[str, ...]],
    corpus: Corpus,
    kind: Kind,
    naming: Naming | None,
) -> GroupMemory:
    """Names for the groups that have none yet; the others keep theirs."""
    groups = {id: replace(group, phrases=phrases.get(id, group.phrases)) for id, group in memory.groups.items()}
    for is_coarse in (True, False):
        level = [id for id, group in groups.items() if (group.parent is None) == is_coarse]
        nameless = [id for id in level if id in members and not groups[id].name]
        taken = [groups[id].name for id in level if groups[id].name]
        own = [groups[id].phrases for id in nameless]
        if naming is not None and nameless:
            examples = [_examples(corpus, kind, members[id]) for id in nameless]
            own = [(name, *further) for name, further in zip(naming(own, examples), own)]
        names = distinct_names(own, taken, words=3 if naming is None else 1)
        groups |= {id: replace(groups[id], name=name) for id, name in zip(nameless, names)}
    return replace(memory, groups=groups)


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
            colour=id,
        )
        for id, group in memory.groups.items()
        if id in members
    ]
    return sorted(listed, key=lambda group: (group.level, -group.size, group.id))


def _spoken(group: Group, survey: Survey, speakers: Speakers) -> Group:
    """The same group with its role, and its share of the messages of its part."""
    within = [id for id, known in survey.memory.groups.items() if group.id in (id, known.parent)]
    member = np.isin(survey.groups, within)
    counts = np.bincount(speakers.part[member], minlength=len(speakers.parts))
    only = np.flatnonzero(counts)
    if len(only) != 1:  # a user has merged groups of several parts
        return group
    part = speakers.parts[only[0]]
    total = int((speakers.part == only[0]).sum())
    return replace(group, role=part.role, opening=part.opening, share=group.size / total)
