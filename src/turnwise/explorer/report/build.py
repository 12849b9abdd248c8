"""Making a report of a store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.progress import Progress

from turnwise._utils.progress import note, progress_bar
from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.corpus import Corpus, read_corpus
from turnwise.explorer.groups.fitting import GroupSettings
from turnwise.explorer.groups.members import Members, members_of
from turnwise.explorer.groups.memory import KINDS, GroupMemory, Kind, Memory, is_remembered, read_memory, write_memory
from turnwise.explorer.groups.naming import distinct_names, name_phrases
from turnwise.explorer.groups.survey import Survey, survey
from turnwise.explorer.progress import Advance
from turnwise.explorer.report.report import Group, Report
from turnwise.explorer.surprise import Surprise
from turnwise.explorer.turn_order import measure_surprise
from turnwise.store import ConversationStore

Naming = Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], Sequence[str]]
_NAMED_BY = 200  # conversations of a group, at most, whose texts name it
_LONGEST_TEXT = 4000  # characters of a conversation that its name is made from
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

    The store remembers its groups in a file of its own, so that they keep ids and names when data grows.

    Args:
        store: The store.
        seed: Seed of the sample that groups are fitted to, the groups and the map.
        settings: How groups are made; their seed is replaced.
        former: A report of the same store: what has not changed since is taken from it, as after an edit of groups.
        naming: Names new groups from their phrases and the texts of their central members.

    Raises:
        ValueError: The store is empty.
    """
    settings = replace(settings or GroupSettings(), seed=seed)
    tables = store.tables()
    stamp = f"{tables.state.folder} {tables.state.messages} {tables.state.conversations} {settings}"
    if former is not None and former.stamp != stamp:
        former = None
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        with progress_bar() as bar:
            corpus = read_corpus(tables, Path(folder), _advance(bar, "reading", tables.messages.count_rows()))
            memory = read_memory(store.path)
            surveys = {kind: _survey(corpus, kind, settings, memory.get(kind), former, bar) for kind in KINDS}
        groups, memory = _groups(corpus, surveys, naming)
        _remember(store.path, memory)
        if former is not None:
            surprise, surprises = former.surprise, former.messages["surprise"]
        else:
            surprise, surprises = measure_surprise(store, corpus, seed)
    return _report(store.path.name, tables.state.encoder, stamp, corpus, surveys, groups, surprise, surprises)


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


def _groups(
    corpus: Corpus, surveys: Mapping[Kind, Survey], naming: Naming | None
) -> tuple[dict[Kind, Sequence[Group]], Memory]:
    """The groups, named, and what the store is to remember of them."""
    found: dict[Kind, Sequence[Group]] = {}
    memory: Memory = {}
    for kind, one in surveys.items():
        vectors = corpus.vectors if kind == "message" else corpus.conversation_vectors
        shown = corpus.texts if kind == "message" else corpus.ids
        both = [one.memory.parents_of(one.groups), one.groups]  # coarse, fine
        members = {id: rows for ids in both for id, rows in members_of(vectors, ids, shown).items()}
        phrases = _phrases(corpus, kind, one, both)
        memory[kind] = _named(one.memory, members, phrases, corpus, kind, naming)
        found[kind] = _listed(memory[kind], members, len(one.groups))
    return found, memory


def _phrases(corpus: Corpus, kind: Kind, one: Survey, levels: Sequence[IntArray]) -> dict[int, tuple[str, ...]]:
    """The phrases of each group, from the sample, by id."""
    found: dict[int, tuple[str, ...]] = {}
    for ids in levels:
        rows = one.sample if kind == "message" else _few_of_each(one.sample, ids)
        texts = [corpus.texts[row] if kind == "message" else _whole(corpus, row) for row in rows.tolist()]
        values = np.unique(ids[rows][ids[rows] >= 0])
        labels = np.where(ids[rows] >= 0, np.searchsorted(values, ids[rows]), -1)
        for id, own in zip(values.tolist(), name_phrases(texts, labels)):
            found[id] = tuple(own)
    return found


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
            said = [_examples(corpus, kind, members[id]) for id in nameless]
            own = [(name, *further) for name, further in zip(naming(own, said), own)]
        names = distinct_names(own, taken, words=3 if naming is None else 1)
        groups |= {id: replace(groups[id], name=name) for id, name in zip(nameless, names)}
    return replace(memory, groups=groups)


def _examples(corpus: Corpus, kind: Kind, members: Members) -> list[str]:
    return [corpus.texts[row] if kind == "message" else _whole(corpus, row) for row in members.central]


def _listed(memory: GroupMemory, members: Mapping[int, Members], total: int) -> Sequence[Group]:
    """The groups that anything is in: coarse ones first, then by size."""
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


def _similar(one: Survey) -> IntArray:
    """The nearest conversations of each, -1 where there are no more (m, 5)."""
    found = np.full((len(one.groups), _SIMILAR), -1, np.int32)
    if len(one.sample):
        near = one.sample[one.neighbours.rows[:, :_SIMILAR]]
        found[:, : near.shape[1]] = near
    return found
