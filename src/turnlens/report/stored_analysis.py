"""The analysis of a corpus, which is kept in its store, so that it is computed only once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from turnlens._utils.checked_arrays import load_checked, save_checked
from turnlens.groups.group_model import FILE as MODEL_FILE
from turnlens.groups.group_model import GroupModel, GroupModels, Kind
from turnlens.groups.neighbours import Neighbours
from turnlens.report.report import Group
from turnlens.store.rewrites import FINDINGS_FILE

FILE = FINDINGS_FILE
_OF_MODEL = ("name", "phrases")  # fields that the model of groups holds


@dataclass(frozen=True)
class Analysis:
    """All that is computed about a corpus, as opposed to read.

    Attributes:
        columns: The columns group of messages and of conversations, request and unhappy of messages, and similar of
            conversations; of both also x, y and surprise, once somebody has looked at the page.
        neighbours: The neighbours of both among the samples that groups were fitted to.
        groups: The groups of both: coarse groups first, then by size.
        numbers: What is measured of each conversation: unhappy (m,).
    """

    columns: Mapping[Kind, Mapping[str, np.ndarray]]
    neighbours: Mapping[Kind, Neighbours]
    groups: Mapping[Kind, Sequence[Group]]
    numbers: Mapping[str, np.ndarray]


def read_analysis(store: Path, stamp: str, ids: Sequence[str], models: GroupModels) -> Analysis | None:
    """Read the analysis of a store; ``None`` unless it is of exactly these conversations, settings and groups."""
    try:
        if models["message"].basis is None:
            return None
        facts = load_checked(store / FILE, _stamp(store, stamp, ids))
        return Analysis(
            columns=facts["columns"],
            neighbours={kind: Neighbours(**own) for kind, own in facts["neighbours"].items()},
            groups={kind: [_group(group, models[kind]) for group in own] for kind, own in facts["groups"].items()},
            numbers=facts["numbers"],
        )
    except (OSError, ValueError, KeyError, TypeError):  # missing, of something else, or damaged
        return None


def write_analysis(store: Path, stamp: str, ids: Sequence[str], analysis: Analysis) -> None:
    """Replace the analysis of a store, atomically. Its groups must be written first."""
    groups = {
        kind: [{name: value for name, value in vars(group).items() if name not in _OF_MODEL} for group in own]
        for kind, own in analysis.groups.items()
    }
    save_checked(store / FILE, {**vars(analysis), "groups": groups}, _stamp(store, stamp, ids))


def _stamp(store: Path, stamp: str, ids: Sequence[str]) -> str:
    """Return a stamp that changes with the data, their order, the settings and the groups."""
    digest = hashlib.blake2b(stamp.encode(), digest_size=16)
    digest.update(json.dumps(list(ids)).encode())
    digest.update((store / MODEL_FILE).read_bytes())
    return digest.hexdigest()


def _group(facts: Mapping[str, Any], model: GroupModel) -> Group:
    known = model.groups[facts["id"]]
    rows = {name: tuple(facts[name]) for name in ("central", "edge")}
    return Group(**{**facts, **rows}, name=known.name, phrases=known.phrases)
