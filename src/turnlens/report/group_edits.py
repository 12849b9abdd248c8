"""A user's edits of groups: renaming, merging, splitting and moving them. They are kept in the store's folder.

The next report shows the changes (`turnlens.report.build_report`, quickly with ``former``), and so do later reports
when data has been added.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnlens.groups.group_model import GroupModel, Kind, StoredGroup, read_models, write_models
from turnlens.store.state import writer_lock

LONGEST_NAME = 200
_LOCK_SECONDS = 5.0
StorePath = str | os.PathLike[str]


def rename(store: StorePath, kind: Kind, group: int, name: str) -> None:
    """Name a group.

    Raises:
        ValueError: There is no such group, the name is empty or too long, or another group of its level has it.
    """
    edit_groups(store, kind, [group], lambda model: _renamed(model, group, name))


def merge(store: StorePath, kind: Kind, groups: Sequence[int], name: str | None = None) -> int:
    """Merge several groups of one level into one, and return its id, which is that of the first; so is its name.

    Raises:
        ValueError: There are fewer than two groups, they are of different levels or roles, or as for `rename`.
    """
    ids = list(dict.fromkeys(groups))
    if len(ids) < 2:
        raise ValueError(f"expected two groups or more to merge, got {list(groups)}")
    edit_groups(store, kind, ids, lambda model: _merged(model, ids, name))
    return ids[0]


def split(store: StorePath, kind: Kind, group: int) -> list[int]:
    """Split a fine group into its parts, or a coarse group into its fine groups, each of which becomes a coarse group.

    Returns:
        The ids of the parts; the largest keeps that of the group.

    Raises:
        ValueError: The group has no parts, or there is no such group.
    """
    parts: set[int] = set()

    def change(model: GroupModel) -> GroupModel:
        changed = _split_fine(model, group) if model.groups[group].parent is not None else _split_coarse(model, group)
        parts.update(changed.groups.keys() - model.groups.keys())
        return changed

    edit_groups(store, kind, [group], change)
    return [group, *sorted(parts)]


def move(store: StorePath, kind: Kind, group: int, aside: bool) -> None:
    """List a group apart from the requests, or with them.

    Raises:
        ValueError: There is no such group.
    """
    edit_groups(
        store, kind, [group], lambda model: model.with_groups({group: replace(model.groups[group], aside=aside)})
    )


def restore(store: StorePath, kind: Kind, former: GroupModel) -> None:
    """Undo all changes since the groups were read.

    Raises:
        ValueError: The data has changed since.
    """

    def change(model: GroupModel) -> GroupModel:
        if model.stamp != former.stamp:
            raise ValueError("the data has changed since: this can no longer be undone")
        return replace(model, fine=former.fine, groups=former.groups, next_id=former.next_id)

    edit_groups(store, kind, [], change)


def edit_groups(
    store: StorePath, kind: Kind, groups: Sequence[int], change: Callable[[GroupModel], GroupModel]
) -> None:
    """Put other groups in the place of those of a store.

    Raises:
        ValueError: There are no groups yet, or not those with these ids.
    """
    path = Path(store)
    with writer_lock(path, _LOCK_SECONDS):
        model = read_models(path)
        if kind not in model:
            raise ValueError(f"{path} has no groups of {kind}s yet: make them with turnlens cluster or explore")
        unknown = [group for group in groups if group not in model[kind].groups]
        if unknown:
            raise ValueError(f"{path} has no group of {kind}s with the number {', '.join(map(str, unknown))}")
        write_models(path, {**model, kind: change(model[kind])})


def _renamed(model: GroupModel, group: int, name: str) -> GroupModel:
    renamed = replace(model.groups[group], name=name, renamed=True)
    if not 0 < len(renamed.name) <= LONGEST_NAME:
        raise ValueError(f"expected a name of 1 to {LONGEST_NAME} characters, got {len(renamed.name)}")
    for id in np.unique(model.fine[model.fine >= 0]).tolist():
        other = id if renamed.parent is not None else model.groups[id].parent
        if other not in (group, None) and model.groups[other].name == renamed.name:
            raise ValueError(
                f"group {other} has the name {renamed.name!r} already: merge the two, or choose another name"
            )
    return model.with_groups({group: renamed})


def _roles(model: GroupModel, group: int) -> set[str | None]:
    """The roles whose messages are in a group; none where that is not known."""
    if model.basis is None:
        return set()
    inside = [group, *(id for id, known in model.groups.items() if known.parent == group)]
    return {model.basis.roles[code] for code in model.basis.role[np.isin(model.fine, inside)]}


def _merged(model: GroupModel, groups: Sequence[int], name: str | None) -> GroupModel:
    first = groups[0]
    if len({model.groups[group].parent is None for group in groups}) > 1:
        raise ValueError("fine and coarse groups cannot be merged with each other")
    own = _roles(model, first)
    for group in groups:
        if own and own.isdisjoint(others := _roles(model, group)):
            raise ValueError(
                f"group {first} ({model.groups[first].name}) is of {_listed(own)}, group {group} "
                f"({model.groups[group].name}) of {_listed(others)}: groups of different roles cannot be merged"
            )
    changes = {first: replace(model.groups[first], pinned=True, asked=False)}
    if model.groups[first].parent is None:
        changes |= {id: replace(group, parent=first) for id, group in model.groups.items() if group.parent in groups}
        fine = model.fine
    else:
        fine = np.where(np.isin(model.fine, groups), first, model.fine)
    merged = replace(model, fine=fine).with_groups(changes)
    return merged if name is None else _renamed(merged, first, name)


def _listed(roles: set[str | None]) -> str:
    return ", ".join(sorted("others" if role is None else role for role in roles)) or "nobody"


def _split_fine(model: GroupModel, group: int) -> GroupModel:
    from turnlens.groups.communities import neighbour_graph  # imported here, since nothing else needs them
    from turnlens.groups.fitting import split_group

    parts = split_group(neighbour_graph(model.neighbours), model.fine, group)
    if parts is None:
        raise ValueError(
            f"group {group} ({model.groups[group].name}) cannot be split: its messages form no smaller groups"
        )
    order = np.argsort(-np.bincount(parts), kind="stable")  # the largest part keeps the id
    ids = np.empty(len(order), np.int64)
    ids[order] = [group, *range(model.next_id, model.next_id + len(order) - 1)]
    fine = model.fine.copy()
    fine[model.fine == group] = ids[parts]
    own = model.groups[group]
    # Each part gets a new name; only a name that the user chose stays, with the largest part.
    part = StoredGroup(parent=own.parent, pinned=True)
    kept = replace(part, name=own.name, renamed=True) if own.renamed else part
    changes = {int(id): kept if id == group else part for id in ids}
    return replace(model, fine=fine, next_id=model.next_id + len(order) - 1).with_groups(changes)


def _split_coarse(model: GroupModel, group: int) -> GroupModel:
    inside = sorted(id for id, known in model.groups.items() if known.parent == group)
    if len(inside) < 2:
        raise ValueError(f"group {group} ({model.groups[group].name}) holds a single fine group")
    sizes = {id: int((model.fine == id).sum()) for id in inside}
    largest = max(inside, key=lambda id: (sizes[id], -id))
    changes = {group: replace(model.groups[group], pinned=True, name="", renamed=False)}
    others = [id for id in inside if id != largest]
    changes |= {parent: StoredGroup(pinned=True) for parent in range(model.next_id, model.next_id + len(others))}
    changes |= {id: replace(model.groups[id], parent=parent) for parent, id in enumerate(others, model.next_id)}
    return replace(model, next_id=model.next_id + len(others)).with_groups(changes)
