"""The analysis of a corpus, which is kept in its store, so that it is computed only once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from turnlens._utils.files import atomic_path
from turnlens.groups.group_model import FILE as MODEL_FILE
from turnlens.groups.group_model import KINDS, GroupModels, Kind
from turnlens.groups.neighbours import Neighbours
from turnlens.report.report import Group
from turnlens.store.rewrites import FINDINGS_FILE

FILE = FINDINGS_FILE
_NEIGHBOURS = ("rows", "cosines", "copy_of")
_OF_MODEL = ("name", "phrases")  # fields that the model of groups holds
_UNREADABLE = (OSError, SafetensorError, ValueError, KeyError, TypeError)  # missing or damaged


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
        with safe_open(store / FILE, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["findings"])
            if facts["stamp"] != _stamp(store, stamp, ids) or models["message"].basis is None:
                return None
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return Analysis(
            columns={kind: _of(arrays, f"{kind}.column.") for kind in KINDS},
            neighbours={kind: Neighbours(**_of(arrays, f"{kind}.neighbours.")) for kind in KINDS},
            groups={kind: [_group(group, models, kind) for group in facts["groups"][kind]] for kind in KINDS},
            numbers={name: arrays[f"number.{name}"] for name in facts["numbers"]},
        )
    except _UNREADABLE:
        return None


def write_analysis(store: Path, stamp: str, ids: Sequence[str], analysis: Analysis) -> None:
    """Replace the analysis of a store, atomically. Its groups must be written first."""
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        arrays |= {f"{kind}.column.{name}": values for name, values in analysis.columns[kind].items()}
        arrays |= {f"{kind}.neighbours.{name}": getattr(analysis.neighbours[kind], name) for name in _NEIGHBOURS}
    arrays |= {f"number.{name}": values for name, values in analysis.numbers.items()}
    facts: dict[str, Any] = {
        "stamp": _stamp(store, stamp, ids),
        "groups": {
            kind: [{name: value for name, value in asdict(group).items() if name not in _OF_MODEL} for group in groups]
            for kind, groups in analysis.groups.items()
        },
        "numbers": list(analysis.numbers),
    }
    with atomic_path(store / FILE) as temporary:
        contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
        save_file(contiguous, temporary, metadata={"findings": json.dumps(facts)})


def _stamp(store: Path, stamp: str, ids: Sequence[str]) -> str:
    """Return a stamp that changes with the data, their order, the settings and the groups."""
    digest = hashlib.blake2b(stamp.encode(), digest_size=16)
    digest.update(json.dumps(list(ids)).encode())
    digest.update((store / MODEL_FILE).read_bytes())
    return digest.hexdigest()


def _of(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def _group(facts: Mapping[str, Any], models: GroupModels, kind: Kind) -> Group:
    known = models[kind].groups[facts["id"]]
    rows = {name: tuple(facts[name]) for name in ("central", "edge")}
    parts = tuple((share, tuple(central)) for share, central in facts["parts"])
    return Group(**{**facts, **rows, "parts": parts}, name=known.name, phrases=known.phrases)
