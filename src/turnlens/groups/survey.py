"""Groups of vectors. They are fitted to a sample, which then gives every vector its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import BoolArray, IntArray, Vectors
from turnlens.groups.group_memory import GroupMemory, no_memory
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.knn_vote import lonely_below, vote
from turnlens.groups.neighbours import Neighbours, nearest_within
from turnlens.groups.remembered_groups import remembered_groups
from turnlens.groups.sample import keys_of, sample_rows
from turnlens.groups.speakers import Speakers


@dataclass(frozen=True)
class Survey:
    """The group of each vector.

    Attributes:
        sample: The rows that groups were fitted to (s,).
        neighbours: The neighbours of all rows, among the sample.
        memory: The groups of the sample.
        groups: The id of the fine group of each row, -1 for none (n,).
    """

    sample: IntArray
    neighbours: Neighbours
    memory: GroupMemory
    groups: IntArray


def survey(
    vectors: Vectors,
    texts: Sequence[str],
    settings: GroupSettings,
    former: GroupMemory | None = None,
    known: Neighbours | None = None,
    speakers: Speakers | None = None,
    stock: IntArray | None = None,
    advance: Advance = silent,
) -> Survey:
    """Find the groups of vectors.

    Args:
        vectors: The vectors, of length 1, perhaps memory-mapped (n, dim).
        texts: The texts of these vectors (n); rows with the same text count once.
        settings: How groups are made.
        former: The groups of an earlier sample, whose ids are kept.
        known: The neighbours of the same rows from an earlier call, which are then not computed again.
        speakers: The part of each row, each of which has groups of its own; by default, all rows are one part.
        stock: The stock text of each row, from `stock_of`; -1 for none, and by default none has any (n,).
        advance: Called with numbers of rows that are done.
    """
    usable: BoolArray = np.fromiter((bool(text.strip()) for text in texts), bool, len(texts))
    part = np.zeros(len(texts), np.int64) if speakers is None else speakers.part
    salts = np.zeros(1, np.uint64) if speakers is None else speakers.salts
    plain = keys_of(texts, settings.seed)
    keys = plain ^ salts[part]
    sample = sample_rows(keys, settings.sample, usable)
    if len(sample) < 2:
        return _nothing(len(texts))
    sizes = np.bincount(part[sample], minlength=int(part.max()) + 1)
    largest = int(sizes.max())
    count = max(1, min(settings.neighbours_among(largest), largest - 1))
    neighbours = known or nearest_within(vectors, sample, part, count, advance)
    among = neighbours.of(sample)
    has_groups = (sizes > count)[part]
    fitted, own_part = np.array(vectors[sample], np.float32), np.where(has_groups, part, -1)[sample]
    asked = None if speakers is None else speakers.requests
    requests = None if asked is None else (asked, [texts[row] for row in sample.tolist()])
    stock = np.full(len(texts), -1) if stock is None else stock
    in_any_part = (plain[sample] ^ salts[:, None]).T  # (s, parts)
    memory = remembered_groups(
        keys[sample], fitted, among, own_part, settings, former, stock[sample], requests, in_any_part
    )
    groups = np.full(len(texts), -1, np.int64)
    for value in np.flatnonzero(sizes > count):  # a smaller part has too few neighbours of its own
        cosines = among.cosines[part[sample] == value, 0]
        rows = np.flatnonzero(part == value)
        near = neighbours.of(rows).first(settings.neighbours_among(int(sizes[value])))
        groups[rows] = vote(near, memory.fine, lonely_below(cosines))
    copy_of = neighbours.copy_of
    if not settings.history:  # with what was said before, the same text may say different things
        place = np.minimum(np.searchsorted(keys[sample], keys), len(sample) - 1)
        copy_of = np.where(keys[sample[place]] == keys, place, copy_of)
    own = np.append(memory.fine, -1)[copy_of]
    own[sample] = memory.fine  # others may have the same vector
    pinned = [id for id, group in memory.groups.items() if group.pinned]
    # Neighbours cannot outvote what a user decided, nor give a group to a request that names no matter.
    is_decided = np.isin(own, pinned) | (stock >= 0) & (own >= 0) | (copy_of >= 0) & (own < 0)
    groups = np.where(is_decided, own, groups)
    return Survey(sample, neighbours, memory, np.where(usable & has_groups, groups, -1))


def _nothing(rows: int) -> Survey:
    """The survey of too few rows to make groups."""
    none = np.full(rows, -1, np.int64)
    neighbours = Neighbours(np.zeros((rows, 1), np.int32), np.zeros((rows, 1), np.float32), none.astype(np.int32))
    return Survey(np.zeros(0, np.int64), neighbours, no_memory(), none)
