"""The findings about the conversations of a store, which are kept in it so that they are computed only once."""

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
from turnlens.encoders.head_arrays import HeadArrays
from turnlens.groups.group_memory import FILE as MEMORY_FILE
from turnlens.groups.group_memory import KINDS, Kind, Memory
from turnlens.groups.neighbours import Neighbours
from turnlens.report.report import Group, Surprise
from turnlens.report.surprise import FittedHeads
from turnlens.store.erasing import FINDINGS_FILE

FILE = FINDINGS_FILE
_NEIGHBOURS = ("rows", "cosines", "copy_of")
_REMEMBERED = ("name", "phrases")  # fields that the memory of groups holds already
_UNREADABLE = (OSError, SafetensorError, ValueError, KeyError, TypeError)  # missing or damaged


@dataclass(frozen=True)
class Findings:
    """Everything that is computed about conversations, as opposed to read.

    Attributes:
        columns: The columns group of messages and of conversations, and similar of conversations; of both also x, y and
            surprise, once somebody has looked at them.
        neighbours: The neighbours of both among the samples that groups were fitted to.
        groups: The groups of both: coarse groups first, then by size.
        numbers: Numbers of each conversation that tell what goes wrong, from `turnlens.report.failure_signals`.
        surprise: How surprise was measured; ``None`` where it was not, or could not be.
        heads: With which surprise is measured, if they were fitted for this.
    """

    columns: Mapping[Kind, Mapping[str, np.ndarray]]
    neighbours: Mapping[Kind, Neighbours]
    groups: Mapping[Kind, Sequence[Group]]
    numbers: Mapping[str, np.ndarray]
    surprise: Surprise | None
    heads: FittedHeads | None = None


def read_findings(store: Path, stamp: str, ids: Sequence[str], memory: Memory) -> Findings | None:
    """The findings that a store keeps; ``None`` unless they are about exactly these conversations, settings and groups.

    Args:
        store: The store.
        stamp: Changes with the data and the settings.
        ids: The ids of the conversations, in their order.
        memory: What the store remembers about its groups.
    """
    try:
        with safe_open(store / FILE, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["findings"])
            if facts["stamp"] != _stamp(store, stamp, ids) or memory["message"].basis is None:
                return None
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return Findings(
            columns={kind: _of(arrays, f"{kind}.column.") for kind in KINDS},
            neighbours={kind: Neighbours(**_of(arrays, f"{kind}.neighbours.")) for kind in KINDS},
            groups={kind: [_group(group, memory, kind) for group in facts["groups"][kind]] for kind in KINDS},
            numbers={name: arrays[f"number.{name}"] for name in facts["numbers"]},
            surprise=None if facts["surprise"] is None else Surprise(**facts["surprise"]),
            heads=_heads(facts, arrays),
        )
    except _UNREADABLE:
        return None


def read_heads(store: Path) -> FittedHeads | None:
    """The heads that were last fitted to a store, whatever has changed since."""
    try:
        with safe_open(store / FILE, framework="numpy") as file:
            names = [name for name in file.keys() if name.startswith("heads.")]  # noqa: SIM118 (no mapping)
            facts = json.loads((file.metadata() or {})["findings"])
            return _heads(facts, {name: file.get_tensor(name) for name in names})
    except _UNREADABLE:
        return None


def _heads(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FittedHeads | None:
    if "heads" not in facts:
        return None
    first, second = (HeadArrays(**_of(arrays, f"heads.{half}.")) for half in (0, 1))
    stamp, conversations = facts["heads"]
    return FittedHeads(stamp, conversations, (first, second))


def write_findings(store: Path, stamp: str, ids: Sequence[str], findings: Findings) -> None:
    """Replace the findings of a store, atomically. The memory of its groups must be written first."""
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        arrays |= {f"{kind}.column.{name}": values for name, values in findings.columns[kind].items()}
        arrays |= {f"{kind}.neighbours.{name}": getattr(findings.neighbours[kind], name) for name in _NEIGHBOURS}
    arrays |= {f"number.{name}": values for name, values in findings.numbers.items()}
    facts: dict[str, Any] = {
        "stamp": _stamp(store, stamp, ids),
        "groups": {kind: [_facts(group) for group in findings.groups[kind]] for kind in KINDS},
        "numbers": list(findings.numbers),
        "surprise": None if findings.surprise is None else asdict(findings.surprise),
    }
    if (heads := findings.heads) is not None:
        facts["heads"] = (heads.stamp, heads.conversations)
        for half, head in enumerate(heads.halves):
            arrays |= {f"heads.{half}.{name}": weight for name, weight in head._asdict().items()}
    with atomic_path(store / FILE) as temporary:
        contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
        save_file(contiguous, temporary, metadata={"findings": json.dumps(facts)})


def _stamp(store: Path, stamp: str, ids: Sequence[str]) -> str:
    """A stamp that changes with the data, their order, the settings and the memory of groups."""
    digest = hashlib.blake2b(stamp.encode(), digest_size=16)
    digest.update(json.dumps(list(ids)).encode())
    digest.update((store / MEMORY_FILE).read_bytes())
    return digest.hexdigest()


def _of(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def _facts(group: Group) -> dict[str, Any]:
    return {name: value for name, value in asdict(group).items() if name not in _REMEMBERED}


def _group(facts: Mapping[str, Any], memory: Memory, kind: Kind) -> Group:
    known = memory[kind].groups[facts["id"]]
    rows = {name: tuple(facts[name]) for name in ("central", "edge")}
    parts = tuple((share, tuple(central)) for share, central in facts["parts"])
    return Group(**{**facts, **rows, "parts": parts}, name=known.name, phrases=known.phrases)
