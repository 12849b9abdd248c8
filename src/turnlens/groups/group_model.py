"""The groups that were fitted to a sample, as a store keeps them: their texts, their names, and a user's changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from turnlens._utils.checked_arrays import load_checked, save_checked
from turnlens._utils.registries import GROUPS_FILE
from turnlens._utils.text_values import printable
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.encoders.context_projection import ContextProjection
from turnlens.groups.answer_guess import LinearGuess

Kind = Literal["message", "conversation"]
KINDS: tuple[Kind, ...] = ("message", "conversation")
ASKED: Literal["asked"] = "asked"  # all that the asker says, of which requests are a part
FILE = GROUPS_FILE
_FORMAT = 1


@dataclass(frozen=True)
class StoredGroup:
    """A group as a store keeps it.

    Attributes:
        name: Its name in one line that can be printed; empty until it has one.
        parent: Its coarse group; ``None`` if it is coarse itself.
        phrases: The phrases that it is named after.
        new: It appeared when the data grew.
        renamed: A user named it.
        pinned: A user merged or split it.
        asked: It is pinned by answers to questions, so that further answers may change it.
        aside: A user listed it apart from the requests (true) or with them (false).
    """

    name: str = ""
    parent: int | None = None
    phrases: tuple[str, ...] = ()
    new: bool = False
    renamed: bool = False
    pinned: bool = False
    aside: bool | None = None
    asked: bool = False

    def __post_init__(self) -> None:
        # whoever gave it: a person, a file, a model, or the texts
        object.__setattr__(self, "name", " ".join(printable(self.name).split()))


@dataclass(frozen=True)
class Basis:
    """The vectors that groups were fitted to, which label other messages; see `turnlens.report.label`.

    Attributes:
        vectors: The vectors of the sample, of length 1, float16 (s, dim).
        role: The role of each, an index of ``roles`` (s,).
        roles: The roles that have groups of their own; ``None`` stands for all others.
        encoder: The place that the encoder of the vectors was loaded from.
        digest: A hash of it, see `StoreEncoder.digest`.
        history: The vectors include the messages before them, see `add_history`.
        context: The projection of the vectors; ``None`` where there were too few messages to learn it.
        asker: The role whose vectors know their answers; ``None`` if nobody is known to ask.
        answers: Adds answers to these vectors, before projecting; ``None`` as for ``context``.
        boilerplate: Hashes of the sentences that texts are embedded without, see `text_as_grouped`, uint64.
    """

    vectors: FloatArray
    role: IntArray
    roles: Sequence[str | None]
    encoder: str
    digest: str
    history: bool
    context: ContextProjection | None = None
    asker: str | None = None
    answers: LinearGuess | None = None
    boilerplate: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))

    def vectors_of(self, vectors: FloatArray) -> FloatArray:
        """Project the vectors of other messages, from the same encoder, as those of the basis are (n, dim)."""
        return vectors if self.context is None else self.context(vectors)


@dataclass(frozen=True)
class GroupModel:
    """The groups of messages or of conversations, fitted to a sample.

    Attributes:
        stamp: A hash of the settings, the number of texts that have joined since, and a hash of all texts.
        keys: The hash of each text of the sample, sorted, uint64 (s,).
        fine: The id of each text's fine group, -1 for none (s,).
        neighbours: The nearest neighbours of each text, among the sample (s, k).
        places: The place of each text on the map, NaN where it has none yet (s, 2); empty until somebody looks at it.
        centroids: The centroids of groups, of length 1, by id.
        groups: All fine and coarse groups by id.
        next_id: The next free id; no id from here on was ever given.
        basis: The vectors that groups were fitted to. Topics have none, nor have groups of erased texts.
        answers: The hashes of a text of each of two groups, and whether a user said that these are the same.
    """

    stamp: str
    keys: np.ndarray
    fine: IntArray
    neighbours: np.ndarray
    places: np.ndarray
    centroids: Mapping[int, FloatArray]
    groups: Mapping[int, StoredGroup]
    next_id: int
    basis: Basis | None = None
    answers: Sequence[tuple[int, int, bool]] = ()

    @property
    def joined(self) -> int:
        """The number of texts that have joined the groups since they were fitted."""
        return int(self.stamp.split()[1]) if self.stamp else 0

    @property
    def coarse(self) -> IntArray:
        """The id of the coarse group of each text of the sample, -1 for none (s,)."""
        return self.parents_of(self.fine)

    def parents_of(self, fine: IntArray) -> IntArray:
        """The id of the coarse group of each fine group (…), -1 for none."""
        values, places = np.unique(fine, return_inverse=True)
        parents = [-1 if value < 0 else int(self.groups[int(value)].parent or 0) for value in values]
        return np.asarray(parents, np.int64)[places]

    def with_groups(self, changes: Mapping[int, StoredGroup]) -> GroupModel:
        """Return a copy with some groups changed or added, and without those that have become empty."""
        groups = {**self.groups, **changes}
        fine = {int(id) for id in np.unique(self.fine) if id >= 0}
        coarse = {group.parent for id, group in groups.items() if id in fine}
        return replace(self, groups={id: group for id, group in groups.items() if id in fine or id in coarse})


GroupModels = dict[Kind | Literal["asked"], GroupModel]


def empty_model() -> GroupModel:
    """Return a model without groups."""
    nothing = np.zeros((0, 2), np.int32)
    return GroupModel("", np.zeros(0, np.uint64), np.zeros(0, np.int64), nothing, nothing.astype(np.float32), {}, {}, 0)


def read_models(store: Path) -> GroupModels:
    """Read the groups of a store; none if it never had any.

    Raises:
        ValueError: The file is damaged, or has another format.
    """
    path = store / FILE
    return read_model_file(path) if path.is_file() else {}


def read_model_file(path: Path) -> GroupModels:
    """Read a file of groups. Raises the errors of `read_models`."""
    try:
        facts = load_checked(path)
        if facts["format"] == _FORMAT:
            return {kind: _model(facts[kind]) for kind in (*KINDS, ASKED) if kind in facts}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}; delete it, and the groups will be found again") from error
    raise ValueError(
        f"{path} has format {facts['format']}, this version of turnlens reads {_FORMAT}: use the one that wrote it"
    )


def are_stored(store: Path, models: GroupModels) -> bool:
    """Return true if a store keeps exactly these groups."""
    stored = read_models(store)
    return stored.keys() == models.keys() and all(
        (own.stamp, own.groups) == (models[kind].stamp, models[kind].groups)
        and np.array_equal(own.places, models[kind].places, equal_nan=True)
        and (own.basis is None) == (models[kind].basis is None)
        and np.array_equal(own.fine, models[kind].fine)
        for kind, own in stored.items()
    )


def write_models(store: Path, models: GroupModels) -> None:
    """Replace the groups of a store, atomically."""
    save_checked(store / FILE, {"format": _FORMAT, **{str(kind): own for kind, own in models.items()}})


def _model(facts: Mapping[str, Any]) -> GroupModel:
    basis, groups = facts["basis"], _by_id(facts["groups"])
    if basis is not None:
        context, answers = basis["context"], basis["answers"]
        context, answers = context and ContextProjection(**context), answers and LinearGuess(**answers)
        basis = Basis(**{**basis, "context": context, "answers": answers})
    stored = {
        "centroids": _by_id(facts["centroids"]),
        "groups": {id: StoredGroup(**{**group, "phrases": tuple(group["phrases"])}) for id, group in groups.items()},
        "answers": [tuple(answer) for answer in facts["answers"]],
    }
    return GroupModel(**{**facts, **stored, "basis": basis})


def _by_id(facts: Mapping[str, Any]) -> dict[int, Any]:
    return dict(sorted((int(id), own) for id, own in facts.items()))
