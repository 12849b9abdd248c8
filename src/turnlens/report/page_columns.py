"""Findings that only the page shows, made when somebody looks: the map, and how surprising messages are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from turnlens.groups.group_memory import KINDS, GroupMemory, Kind, Memory
from turnlens.groups.knn_vote import place
from turnlens.groups.map_layout import layout, scaled
from turnlens.groups.neighbours import Neighbours
from turnlens.report.corpus import Corpus, means_of
from turnlens.report.findings import Findings
from turnlens.report.report import Report, Surprise
from turnlens.report.surprise_measurement import measure_surprise
from turnlens.store import ConversationStore

_COLUMNS = ("x", "y", "surprise")


def add_shown(
    store: ConversationStore, corpus: Corpus, findings: Findings, memory: Memory, former: Report | None, seed: int
) -> tuple[Findings, Memory]:
    """Add the columns x, y and surprise to findings, and the places of the sample to what the store remembers.

    Args:
        store: The store; its encoder is loaded only if it has a reply head.
        corpus: The content of the store.
        findings: What was found out so far.
        memory: What the store remembers about its groups.
        former: A report on the same data, whose columns need not be computed again.
        seed: Seed of the map and of surprise.
    """
    if former is not None and former.has_map:
        shown = {kind: {name: former.columns(kind)[name] for name in _COLUMNS} for kind in KINDS}
        return _with(findings, shown, former.surprise), memory
    memory = memory | {kind: _laid_out(memory[kind], seed) for kind in KINDS}
    surprise, surprises, heads = measure_surprise(store, corpus, seed, findings.heads)
    of_conversations = means_of(surprises, corpus.first).astype(np.float32)
    shown = {
        kind: {**_placed(findings.neighbours[kind], memory[kind], seed), "surprise": values}
        for kind, values in zip(KINDS, (surprises, of_conversations))
    }
    return _with(replace(findings, heads=heads), shown, surprise), memory


def _with(findings: Findings, shown: Mapping[Kind, Mapping[str, np.ndarray]], surprise: Surprise | None) -> Findings:
    columns = {kind: {**findings.columns[kind], **shown[kind]} for kind in KINDS}
    return replace(findings, columns=columns, surprise=surprise)


def _laid_out(memory: GroupMemory, seed: int) -> GroupMemory:
    if len(memory.places) == len(memory.keys) and np.isfinite(memory.places).all():
        return memory
    return replace(memory, places=layout(memory.neighbours, seed, memory.places))


def _placed(neighbours: Neighbours, memory: GroupMemory, seed: int) -> dict[str, np.ndarray]:
    count = len(neighbours.rows)
    places = scaled(memory.places) if len(memory.places) else memory.places
    x, y = (place(neighbours, places, seed) if len(places) else np.zeros((count, 2), np.float32)).T
    return {"x": x, "y": y}
