"""Questions about the requests of a store, whose groups follow the answers at once and are kept there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.groups.communities import neighbour_graph
from turnlens.groups.fitting import small_communities
from turnlens.groups.group_model import GroupModel, StoredGroup, read_models
from turnlens.groups.merge_tree import merge_tree
from turnlens.groups.neighbours import centroids_of
from turnlens.report.group_edits import edit_groups
from turnlens.report.report import Report

_EXAMPLES = 3


@dataclass(frozen=True)
class Side:
    """One of the two in a question: the names of its groups, the number of its texts, and typical ones."""

    names: tuple[str, ...]
    size: int
    examples: tuple[str, ...]


def ask_about_groups(
    path: Path, report: Report, questions: int, ask: Callable[[int, Side, Side], bool | None]
) -> tuple[int, int]:
    """Ask whether two groups of requests are the same, and change the groups of a store by each answer.

    Args:
        path: The folder of the store.
        report: Its report, from `build_report`.
        questions: The most questions.
        ask: Takes the number of a question and two groups, or pieces of one. It returns whether they are the same,
            ``None`` if that cannot be said, and raises ``EOFError`` to end.

    Returns:
        The number of groups of requests before and now.

    Raises:
        ValueError: There are no groups of requests, or they have been changed elsewhere between two answers.

    Examples:
        >>> from turnlens.report import build_report
        >>> from turnlens.store import ConversationStore
        >>> texts = [f"{text} {n}" for n in range(20) for text in ("Where is my parcel", "Please cancel order")]
        >>> chats = [{"id": text, "messages": [{"role": "user", "content": text}]} for text in texts]
        >>> store = ConversationStore.create("asked.store", chats)
        >>> ask_about_groups(store.path, build_report(store, page=False), 1, lambda number, first, second: None)
        (2, 2)
    """
    before = now = read_models(path)["message"]
    rows = np.flatnonzero(np.isin(before.fine, sorted(report.listed)))
    if before.basis is None or not len(rows):
        raise ValueError(f"{path} has no groups of requests to ask about")
    vectors = before.basis.vectors[rows].astype(np.float32)
    ids, groups = np.unique(before.fine[rows], return_inverse=True)
    known = [before.groups[id] for id in ids.tolist()]
    kept = np.asarray([group.renamed or (group.pinned and not group.asked) for group in known])
    communities = small_communities(neighbour_graph(before.neighbours)[rows][:, rows], report.settings.seed)
    tree = merge_tree(vectors, groups, communities, kept)
    place = {key: row for row, key in enumerate(before.keys[rows].tolist())}
    answers: dict[int, bool] = {}
    for first, second, was_same in before.answers:
        pair = [place[key] for key in (first, second) if key in place]
        merge = tree.merge_of(*pair) if len(pair) == 2 else None
        # An answer that a user's later edits contradict does not count.
        if merge is not None and (not kept[groups[pair]].any() or (groups[pair[0]] == groups[pair[1]]) == was_same):
            answers[merge] = was_same
    copies, messages = np.unique(report.neighbours["message"].copy_of, return_index=True)
    message_of = dict(zip(copies.tolist(), messages.tolist()))
    asked, record = set(answers), list(before.answers)
    for number in range(1, questions + 1):
        merge = tree.question(answers, asked)
        if merge is None:
            break
        asked.add(merge)
        sides = [_typical(vectors, np.flatnonzero(side[tree.piece])) for side in tree.sides[merge]]
        try:
            same = ask(number, *(_side(before, report, message_of, rows[side]) for side in sides))
        except EOFError:
            break
        if same is None:
            continue
        answers[merge] = same
        first, second = (int(before.keys[rows[side[0]]]) for side in sides)
        record.append((first, second, same))
        after = replace(_regrouped(before, rows, vectors, tree.regrouped(vectors, answers)), answers=record)
        edit_groups(path, "message", [], _replaced(path, now, after))
        now = after
    return len(ids), len(np.unique(now.fine[rows]))


def _replaced(path: Path, expected: GroupModel, changed: GroupModel) -> Callable[[GroupModel], GroupModel]:
    def change(model: GroupModel) -> GroupModel:
        if (model.stamp, model.groups) != (expected.stamp, expected.groups):
            raise ValueError(f"the groups of {path} have been changed elsewhere: run the command again")
        return changed

    return change


def _typical(vectors: FloatArray, rows: IntArray) -> IntArray:
    """The same rows, the most typical first."""
    return rows[np.argsort(-(vectors[rows] @ vectors[rows].sum(0)), kind="stable")]


def _side(model: GroupModel, report: Report, message_of: Mapping[int, int], rows: IntArray) -> Side:
    ids, counts = np.unique(model.fine[rows], return_counts=True)
    names = tuple(model.groups[id].name for id in ids[np.argsort(-counts, kind="stable")].tolist())
    texts = [report.text_of(message_of[row]) for row in rows.tolist() if row in message_of]
    return Side(names, len(rows), tuple(dict.fromkeys(texts))[:_EXAMPLES])


def _regrouped(before: GroupModel, rows: IntArray, vectors: FloatArray, labels: IntArray) -> GroupModel:
    """Groups of these labels. All are pinned, since their number was chosen; the largest part of one keeps its id."""
    fine, next_id, changes = before.fine.copy(), before.next_id, {}
    values, sizes = np.unique(labels, return_counts=True)
    for label in values[np.argsort(-sizes, kind="stable")].tolist():
        members = rows[labels == label]
        ids, counts = np.unique(before.fine[members], return_counts=True)
        largest = int(ids[counts.argmax()])
        id = next_id if largest in changes else largest
        next_id = max(next_id, id + 1)
        own = before.groups[largest]
        is_half = 2 * counts.max() > np.count_nonzero(before.fine == largest)
        group = own if id == largest and (own.renamed or is_half) else StoredGroup(parent=own.parent)
        changes[id] = replace(group, pinned=True, asked=group.asked or not group.pinned)
        fine[members] = id
    changed = replace(before, fine=fine, next_id=next_id).with_groups(changes)
    return replace(changed, centroids={**before.centroids, **centroids_of(vectors, fine[rows])})
