"""Groups that a user knows, each by a name and a few examples: groups that were found take these names.

Of several ways tried, this one was the most accurate: messages that are joined with the examples by a threshold, by
their neighbours or by the nearest mean leave the rest of their group behind as a group of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from turnlens._utils.progress import note
from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.groups.group_model import Basis, GroupModel, StoredGroup
from turnlens.groups.group_settings import neighbours_among
from turnlens.groups.neighbours import centroids_of, nearest, vote
from turnlens.report.group_edits import LONGEST_NAME

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder

_LIKE = 0.8  # as like its nearest messages as messages usually are, an example must be
ASIDE = "said along the way"  # in place of a name: groups that are no requests
# The name of a group -> a sentence, or a list of examples; ASIDE -> more of these
Seeds = Mapping[str, str | Sequence[str] | Mapping[str, str | Sequence[str]]]


def examples_of(seeds: Seeds) -> dict[str, list[str]]:
    """Return the examples of each group.

    Raises:
        ValueError: A name is empty or too long, differs from another only in capitals or blanks, or has something else
            than a sentence or a list of them.
    """
    examples: dict[str, list[str]] = {}
    for given_name, given in {**seeds, **aside_of(seeds)}.items():
        if given_name == ASIDE and isinstance(given, Mapping):
            continue
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text.strip() for text in texts):
            raise ValueError(f"seeds: expected a sentence or a list of examples for {given_name!r}, got {given!r:.80}")
        name = StoredGroup(given_name).name
        if not texts or not 0 < len(name) <= LONGEST_NAME:
            raise ValueError(
                f"seeds: expected a name of 1 to {LONGEST_NAME} characters and one example or more, got "
                f"{given_name!r:.80} with {len(texts)}"
            )
        if same := next((other for other in examples if other.casefold() == name.casefold()), None):
            raise ValueError(
                f"seeds: {given_name!r} and {same!r} differ only in capitals or blanks: put the examples below one"
            )
        examples[name] = list(texts)
    return examples


def aside_of(seeds: Seeds) -> Mapping[str, str | Sequence[str]]:
    """Return the seeds of groups that are no requests."""
    aside = seeds.get(ASIDE)
    return aside if isinstance(aside, Mapping) else {}


def with_seeds(model: GroupModel, seeds: Seeds, encoder: StoreEncoder, role: str | None) -> GroupModel | None:
    """Give the groups of messages that examples fall into the names of these examples.

    Args:
        model: The groups of messages.
        seeds: Names with their examples.
        encoder: The encoder of the vectors of the groups.
        role: The role whose messages the groups hold; ``None`` for all roles.

    Returns:
        The groups; ``None`` if none of them has changed.
    """
    examples, basis = examples_of(seeds), model.basis
    if not examples or basis is None:
        return None
    texts = [text for own in examples.values() for text in own]
    vectors = basis.vectors_of(np.asarray(encoder.messages(texts)["vector"], np.float32))
    seed_of = np.repeat(np.arange(len(examples)), [len(own) for own in examples.values()])
    aside = {StoredGroup(name).name for name in aside_of(seeds)}
    claimed = claimed_groups(model, basis, vectors, role)
    seeded = _seeded(model, basis, list(examples), vectors, seed_of, claimed, aside)
    has_changed = seeded.groups != model.groups or not np.array_equal(seeded.fine, model.fine)
    return seeded if has_changed else None


def claimed_groups(model: GroupModel, basis: Basis, vectors: FloatArray, role: str | None) -> IntArray:
    """Return the group that each example (examples, dim) falls into, -1 for none (examples,)."""
    own = [basis.roles[code] == role for code in basis.role] if role in basis.roles else np.ones(len(basis.role), bool)
    rows = np.flatnonzero(own)
    messages = basis.vectors[rows].astype(np.float32)
    count = neighbours_among(len(rows))
    usual = float(np.median(nearest(messages, messages, count).cosines.mean(1)))
    near = nearest(vectors, messages, count)
    return np.where(near.cosines.mean(1) >= _LIKE * usual, vote(near, model.fine[rows]), -1)


def _seeded(
    model: GroupModel,
    basis: Basis,
    names: Sequence[str],
    vectors: FloatArray,
    seed_of: IntArray,
    claimed: IntArray,
    aside: Container[str],
) -> GroupModel:
    means = np.stack([unit_vectors(vectors[seed_of == seed].mean(0)) for seed in range(len(names))])
    seeds = np.full(len(model.fine), -1)  # of each vector of the sample
    for group in np.unique(claimed[claimed >= 0]):
        members, own = np.flatnonzero(model.fine == group), np.unique(seed_of[claimed == group])
        seeds[members] = own[(basis.vectors[members].astype(np.float32) @ means[own].T).argmax(1)]
    fine, next_id, changed = model.fine.copy(), model.next_id, {}
    for seed, name in enumerate(names):
        former, sizes = np.unique(model.fine[seeds == seed], return_counts=True)
        if not len(former):
            note(f"No group of messages is like the examples of {name!r}")
            continue
        largest = int(former[sizes.argmax()])
        id = next((int(id) for id in former[np.argsort(-sizes, kind="stable")] if int(id) not in changed), next_id)
        next_id = max(next_id, id + 1)
        known = model.groups.get(id, StoredGroup(parent=model.groups[largest].parent))
        changed[id] = replace(known, name=name, renamed=True, pinned=True, aside=name in aside or known.aside)
        fine[seeds == seed] = id
    seeded = replace(model, fine=fine, next_id=next_id).with_groups(changed)
    centroids = centroids_of(basis.vectors.astype(np.float32), np.where(np.isin(fine, list(changed)), fine, -1))
    return replace(seeded, centroids={**model.centroids, **centroids})
