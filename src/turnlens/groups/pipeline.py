"""The pipeline of grouping: a sample, its nearest neighbours, its groups, and a k-NN vote on all other vectors.

The sample consists of the texts with the smallest hashes, which do not depend on the order. So two corpora that share
most of their texts also share most of their samples, and groups can be recognised when data grow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import BoolArray, IntArray, Vectors
from turnlens.groups.group_model import GroupModel, empty_model
from turnlens.groups.group_settings import LEAST, GroupSettings, neighbours_among
from turnlens.groups.neighbours import Neighbours, nearest_within, outlier_cosine, vote


@dataclass(frozen=True)
class Parts:
    """Texts that are grouped apart from each other, such as those of two roles.

    Attributes:
        part: The part of each text (n,).
        salts: A number for each part, which tells the same text in two parts apart, uint64 (parts,).
        requests: The part that holds requests alone; ``None`` if none does.
        canned: The canned text that each is, each of which is a group; -1 for none (n,).
    """

    part: IntArray
    salts: np.ndarray
    requests: int | None
    canned: IntArray

    @classmethod
    def one(cls, texts: int) -> Parts:
        """Return a single part."""
        return cls(np.zeros(texts, np.int64), np.zeros(1, np.uint64), None, np.full(texts, -1))


@dataclass(frozen=True)
class Grouping:
    """The group of each vector.

    Attributes:
        sample: The rows that groups were fitted to (s,).
        neighbours: The neighbours of all rows, among the sample.
        model: The groups of the sample.
        groups: The id of the fine group of each row, -1 for none (n,).
    """

    sample: IntArray
    neighbours: Neighbours
    model: GroupModel
    groups: IntArray


def group_vectors(
    vectors: Vectors,
    texts: Sequence[str],
    settings: GroupSettings,
    former: GroupModel | None = None,
    known: Neighbours | None = None,
    parts: Parts | None = None,
    advance: Advance = silent,
) -> Grouping:
    """Group vectors.

    Args:
        vectors: The vectors, of length 1 (n, dim), perhaps memory-mapped.
        texts: A text for each, by whose hash the sample is chosen (n).
        settings: The settings of the groups.
        former: The groups before data grew, which keep their ids.
        known: The neighbours, if they have been computed before.
        parts: The parts that have groups of their own; by default, all is one part.
        advance: Called with numbers of rows that are done.

    Examples:
        >>> import numpy as np
        >>> from turnlens._utils.vectors import unit_vectors
        >>> directions = np.repeat(np.eye(3, dtype=np.float32), 40, axis=0)
        >>> noise = np.random.default_rng(0).normal(0, 0.1, directions.shape).astype(np.float32)
        >>> texts = [f"text {number}" for number in range(120)]
        >>> groups = group_vectors(unit_vectors(directions + noise), texts, GroupSettings()).groups
        >>> len(np.unique(groups[groups >= 0]))
        3
    """
    parts = Parts.one(len(texts)) if parts is None else parts
    part, usable = parts.part, np.fromiter((bool(text.strip()) for text in texts), bool, len(texts))
    plain = keys_of(texts, settings.seed)
    keys = plain ^ parts.salts[part]
    sample = sample_rows(keys, settings.sample, usable)
    if not len(sample) or (len(sample) < 2 and parts.canned.max() < 0):
        none, nobody = np.full(len(texts), -1, np.int64), np.zeros((len(texts), 1), np.int32)
        alone = Neighbours(nobody, nobody.astype(np.float32), none.astype(np.int32))
        return Grouping(np.zeros(0, np.int64), alone, empty_model(), none)
    sizes = np.bincount(part[sample], minlength=int(part.max()) + 1)
    largest = int(sizes.max())
    count = max(1, min(neighbours_among(largest), largest - 1))
    neighbours = known or nearest_within(vectors, sample, part, count, advance)
    # A smaller part has too few neighbours of its own: only canned texts are groups there.
    has_groups = sizes > max(count, LEAST)
    from turnlens.groups.model_updates import update_model  # takes a second to load

    model = update_model(
        keys[sample],
        np.array(vectors[sample], np.float32),
        neighbours.of(sample),
        np.where(has_groups[part] | (parts.canned >= 0), part, -1)[sample],
        settings,
        former,
        parts.canned[sample],
        parts.requests,
        (plain[sample] ^ parts.salts[:, None]).T,  # (s, parts)
    )
    groups = np.full(len(texts), -1, np.int64)
    for value in np.flatnonzero(has_groups):
        rows, own = np.flatnonzero(part == value), sample[part[sample] == value]
        near = neighbours.of(rows).first(neighbours_among(int(sizes[value])))
        groups[rows] = vote(near, model.fine, outlier_cosine(neighbours.cosines[own, 0]))
    copy_of = neighbours.copy_of
    if not settings.history:  # with the messages before it, the same text may mean different things
        place = np.minimum(np.searchsorted(keys[sample], keys), len(sample) - 1)
        copy_of = np.where(keys[sample[place]] == keys, place, copy_of)
    own = np.append(model.fine, -1)[copy_of]
    own[sample] = model.fine  # others may have the same vector
    groups = np.where(_is_decided(own, parts.canned, model), own, groups)
    may_be = usable & (has_groups[part] | (parts.canned >= 0))
    return Grouping(sample, neighbours, model, np.where(may_be, groups, -1))


def _is_decided(own: IntArray, canned: IntArray, model: GroupModel) -> BoolArray:
    """Tell where neighbours cannot outvote a user's edits or a canned text (n,)."""
    pinned = [id for id, group in model.groups.items() if group.pinned]
    return np.isin(own, pinned) | (canned >= 0) & (own >= 0)


def keys_of(texts: Iterable[str], seed: int) -> np.ndarray:
    """Return a hash of each text, uint64 (n,)."""
    salt = seed.to_bytes(8, "little", signed=True)
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest() for text in texts
    )
    return np.frombuffer(b"".join(digests), "<u8").copy()


def sample_rows(keys: np.ndarray, size: int, usable: np.ndarray) -> np.ndarray:
    """Return the first usable row of each of the smallest keys (n,), in the order of the keys (size or fewer,)."""
    rows = np.flatnonzero(usable)
    _, first = np.unique(keys[rows], return_index=True)
    return rows[first[:size]]
