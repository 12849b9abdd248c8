"""Coarser and finer than the groups are: which of them would be joined first, and which have parts that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import unit_vectors
from turnlens.groups.communities import neighbour_graph
from turnlens.groups.fitting import split_group
from turnlens.groups.survey import Survey
from turnlens.groups.typical_members import members_of
from turnlens.groups.ward_merging import merged
from turnlens.report.corpus import Corpus
from turnlens.report.report import Group

# Cosine of the means of two parts, below which they differ. On two made-up exports, 83 to 98 % of groups that were made
# by merging two others had such parts, and none of the others.
_DIFFER = 0.6


def with_scale(groups: Sequence[Group], survey: Survey, corpus: Corpus) -> list[Group]:
    """The groups of messages with what they would be joined with, and with the parts of those that mix several.

    Args:
        groups: The groups.
        survey: The group of each message.
        corpus: The messages.
    """
    labels, vectors = survey.groups[survey.sample], np.array(corpus.vectors[survey.sample], np.float32)
    texts = [corpus.texts[row] for row in survey.sample.tolist()]
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
    graph = neighbour_graph(survey.memory.neighbours)
    for id, group in changed.items():
        parts = None if group.move else split_group(graph, survey.memory.fine, id)
        if parts is None:
            continue
        rows = np.flatnonzero(survey.memory.fine == id)
        means = unit_vectors(np.stack([vectors[rows[parts == part]].mean(0) for part in range(parts.max() + 1)]))
        if (means @ means.T).min() < _DIFFER:
            members = members_of(vectors[rows], parts, [texts[row] for row in rows.tolist()])
            shown = [tuple(survey.sample[rows[list(part.central)]].tolist()) for part in members.values()]
            sizes = [part.size / len(rows) for part in members.values()]
            changed[id] = replace(group, parts=tuple(zip(sizes, shown)))
    return [changed.get(group.id, group) for group in groups]
