"""The groups of a report, with their names, roles, answers and parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.groups.communities import merged
from turnlens.groups.group_members import Members, members_of
from turnlens.groups.group_model import GroupModel, GroupModels, Kind
from turnlens.groups.group_settings import LEAST, MOST
from turnlens.groups.pipeline import Grouping
from turnlens.report.corpus import Corpus
from turnlens.report.find_requests import moves_among
from turnlens.report.group_names import Naming, describe_groups, name_groups
from turnlens.report.report import Group
from turnlens.report.speakers import Speakers


def named_groups(
    corpus: Corpus, speakers: Speakers, groupings: Mapping[Kind, Grouping], naming: Naming | None
) -> tuple[dict[Kind, Sequence[Group]], GroupModels]:
    """List the groups of messages and of conversations, and return their models with names.

    By default, a typical sentence names a fine group, and phrases a coarse one.
    """
    groups: dict[Kind, Sequence[Group]] = {}
    models: GroupModels = {}
    for kind, grouping in groupings.items():
        vectors = corpus.vectors if kind == "message" else corpus.conversation_vectors
        texts = corpus.texts if kind == "message" else corpus.ids
        both = [grouping.model.parents_of(grouping.groups), grouping.groups]  # coarse, fine
        members = {id: rows for ids in both for id, rows in members_of(vectors, ids, texts).items()}
        known = [grouping.model.groups[id] for id in members]
        # Groups that only grew keep their words: counting them anew takes longer than all else of a small update.
        only_grew = grouping.model.joined > 0 and all(group.name and group.phrases for group in known)
        described = {} if only_grew else describe_groups(corpus, speakers, kind, grouping, both)
        models[kind] = name_groups(grouping.model, members, described, corpus, kind, naming)
        listed = _listed(models[kind], members, len(grouping.groups))
        if kind == "message":
            listed = with_scale(with_speakers(listed, grouping, corpus, speakers), grouping, corpus)
        groups[kind] = listed
    return groups, models


def _listed(model: GroupModel, members: Mapping[int, Members], total: int) -> Sequence[Group]:
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
        )
        for id, group in model.groups.items()
        if id in members
    ]
    return sorted(listed, key=lambda group: (group.level, -group.size, group.id))


def with_speakers(groups: Sequence[Group], grouping: Grouping, corpus: Corpus, speakers: Speakers) -> list[Group]:
    """Add to groups of messages their role, their share of its messages, their typical answer, and mark mere moves."""
    coarse = grouping.model.parents_of(grouping.groups)
    answers = {**_answers(corpus, coarse), **_answers(corpus, grouping.groups)}
    moves = moves_among(grouping.groups, corpus, speakers)
    not_only_moves = {group.parent for group in groups if group.level == 1 and group.id not in moves}
    described = []
    for group in groups:
        group = replace(group, answer=answers.get(group.id))
        parts = np.unique(speakers.part[(grouping.groups if group.level else coarse) == group.id])
        if len(parts) == 1:  # else a user has merged groups of several parts
            part, share = speakers.parts[parts[0]], group.size / int((speakers.part == parts[0]).sum())
            move = group.id in moves if group.level else group.id not in not_only_moves
            move = move if group.aside is None else group.aside
            group = replace(group, role=part.role, opening=part.opening, share=share, move=move)
        described.append(group)
    return described


def _answers(corpus: Corpus, groups: IntArray) -> dict[int, int]:
    """Return the most typical answer to each group, a row, by its id; automatic replies, all boilerplate, are none."""
    answered = np.full(len(groups), -1, np.int64)
    said = np.flatnonzero(np.asarray(list(map(bool, corpus.texts)), bool))
    conversation, role = corpus.conversation[said], corpus.role[said]
    follows = np.flatnonzero((conversation[1:] == conversation[:-1]) & (role[1:] != role[:-1]))
    answered[said[follows + 1]] = groups[said[follows]]
    return {id: members.central[0] for id, members in members_of(corpus.vectors, answered, corpus.texts).items()}


def with_scale(groups: Sequence[Group], grouping: Grouping, corpus: Corpus) -> list[Group]:
    """Add to groups of messages the group that each is joined with first, and whether they are mixed."""
    labels, vectors = grouping.groups[grouping.sample], np.array(corpus.vectors[grouping.sample], np.float32)
    alike: dict[object, list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda group: -group.size):
        if group.level == 1:
            alike[group.role, group.opening, group.move].append(group)
    changed: dict[int, Group] = {}
    for among in alike.values():
        levels = merged(np.stack([vectors[labels == group.id].sum(0) for group in among]))
        for place, group in enumerate(among):
            joined = np.flatnonzero(levels[:, place] != place)  # from the fewest groups on
            if len(joined):
                into = among[int(levels[joined[-1], place])]
                group = replace(group, joins=into.id, joined_at=int(joined[-1]) + 1)
            changed[group.id] = group
    near = grouping.model.neighbours
    for id, group in changed.items():
        own = np.flatnonzero(labels == id)
        if len(own) > 1:
            inside = labels[near[own, : min(LEAST, len(own) - 1)]] == id
            changed[id] = replace(group, mixed=not group.move and bool(inside.mean() < MOST))
    return [changed.get(group.id, group) for group in groups]
