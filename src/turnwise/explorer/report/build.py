"""Making a report of a store."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.progress import Progress

from turnwise._utils.progress import note, progress_bar
from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.corpus import Corpus, read_corpus, with_history
from turnwise.explorer.groups.fitting import GroupSettings
from turnwise.explorer.groups.memory import KINDS, GroupMemory, Kind, Memory, is_remembered, read_memory, write_memory
from turnwise.explorer.groups.survey import Survey, survey
from turnwise.explorer.progress import Advance
from turnwise.explorer.report.groups import Naming, named_groups
from turnwise.explorer.report.report import Group, Report
from turnwise.explorer.surprise import Surprise
from turnwise.explorer.turn_order import measure_surprise
from turnwise.store import ConversationStore, StoreError

_SIMILAR = 5


def build_report(
    store: ConversationStore,
    *,
    seed: int = 0,
    settings: GroupSettings | None = None,
    former: Report | None = None,
    naming: Naming | None = None,
) -> Report:
    """Find out what the conversations of a store are about; nothing is embedded.

    The store remembers its groups in a file of its own, so that they keep ids and names when data grows; unless it was
    opened read-only.

    Args:
        store: The store.
        seed: Seed of the sample that groups are fitted to, the groups and the map.
        settings: How groups are made; their seed is replaced.
        former: A report of the same store: what has not changed since is taken from it, as after an edit of groups.
        naming: Names new groups from their phrases and the texts of their central members.

    Raises:
        ValueError: The store is empty.
        StoreError: It is on a server.
    """
    settings = replace(settings or GroupSettings(), seed=seed)
    if not isinstance(store.path, Path):
        raise StoreError(f"{store.path}: groups are kept in a store's folder: turnwise index --store DIR makes one")
    tables = store.tables()
    stamp = f"{tables.state.folder} {tables.state.messages} {tables.state.conversations} {settings}"
    if former is not None and former.stamp != stamp:
        former = None
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        with progress_bar() as bar:
            corpus = read_corpus(tables, Path(folder), _advance(bar, "reading", tables.messages.count_rows()))
            grouped = with_history(corpus, Path(folder)) if settings.history else corpus
            memory = read_memory(store.path)
            surveys = {kind: _survey(grouped, kind, settings, memory.get(kind), former, bar) for kind in KINDS}
        groups, memory = named_groups(grouped, surveys, naming)
        if not store.read_only:
            _remember(store.path, memory)
        if former is not None:
            surprise, surprises = former.surprise, former.messages["surprise"]
        else:
            surprise, surprises = measure_surprise(store, corpus, seed)
    return _report(store.path.name, tables.state.encoder, stamp, settings, corpus, surveys, groups, surprise, surprises)


def _advance(bar: Progress, description: str, total: int) -> Advance:
    task = bar.add_task(description, total=total)
    return lambda count: bar.advance(task, count)


def _survey(
    corpus: Corpus,
    kind: Kind,
    settings: GroupSettings,
    memory: GroupMemory | None,
    former: Report | None,
    bar: Progress,
) -> Survey:
    known = None
    if former is not None:
        columns = former.columns(kind)
        known = former.neighbours[kind], np.stack([columns["x"], columns["y"]], axis=1)
    vectors = corpus.vectors if kind == "message" else corpus.conversation_vectors
    texts = corpus.texts if kind == "message" else corpus.ids
    advance = _advance(bar, f"grouping {kind}s", len(texts))
    return survey(vectors, texts, settings, memory, known, advance)


def _remember(path: Path, memory: Memory) -> None:
    try:
        if not is_remembered(path, memory):
            write_memory(path, memory)
    except OSError as error:  # a store on a disk that cannot be written is looked at all the same
        note(f"the groups cannot be kept in {path}: {error}")


def _report(
    title: str,
    encoder: str,
    stamp: str,
    settings: GroupSettings,
    corpus: Corpus,
    surveys: Mapping[Kind, Survey],
    groups: Mapping[Kind, Sequence[Group]],
    surprise: Surprise | None,
    surprises: FloatArray,
) -> Report:
    messages, conversations = surveys["message"], surveys["conversation"]
    return Report(
        title=title,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        encoder=encoder,
        stamp=stamp,
        settings=settings,
        ids=corpus.ids,
        texts=corpus.texts,
        roles=corpus.roles,
        groups=groups,
        surprise=surprise,
        messages={
            **_placed(messages),
            "conversation": corpus.conversation,
            "turn": corpus.turn,
            "role": corpus.role,
            "time": corpus.time,
            "surprise": surprises,
        },
        conversations={
            **_placed(conversations),
            "first": corpus.first,
            "turns": corpus.turns,
            "time": corpus.conversation_time,
            "surprise": _means(surprises, corpus.conversation, len(corpus.ids)),
            "similar": _similar(conversations),
        },
        message_labels=corpus.message_labels,
        conversation_labels=corpus.conversation_labels,
        neighbours={kind: one.neighbours for kind, one in surveys.items()},
    )


def _placed(one: Survey) -> dict[str, np.ndarray]:
    x, y = one.places.T
    return {"x": x, "y": y, "group": one.groups.astype(np.int32)}


def _means(values: FloatArray, rows: IntArray, count: int) -> FloatArray:
    """The mean of the values of each conversation that are known, NaN where none is (count,)."""
    known = ~np.isnan(values)
    numbers = np.bincount(rows[known], minlength=count)
    sums = np.bincount(rows[known], values[known], minlength=count)
    return np.where(numbers > 0, sums / np.maximum(numbers, 1), np.nan).astype(np.float32)


def _similar(one: Survey) -> np.ndarray:
    """The nearest conversations of each, -1 where there are no more (m, 5)."""
    found = np.full((len(one.groups), _SIMILAR), -1, np.int32)
    if len(one.sample):
        near = one.sample[one.neighbours.rows[:, :_SIMILAR]]
        found[:, : near.shape[1]] = near
    return found
