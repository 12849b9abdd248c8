"""What is found out about the conversations of a store, and kept in it, so that it is found out once."""

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

from turnwise._utils.files import atomic_path
from turnwise.explorer.groups.memory import FILE as MEMORY_FILE
from turnwise.explorer.groups.memory import KINDS, Kind, Memory
from turnwise.explorer.groups.neighbours import Neighbours
from turnwise.explorer.report.report import Group, Surprise

FILE = "report.safetensors"
_NEIGHBOURS = ("rows", "cosines", "copy_of")
_REMEMBERED = ("name", "phrases")  # of a group, by the memory of groups: no text is kept twice


@dataclass(frozen=True)
class Findings:
    """What is computed of conversations, and not just read.

    Attributes:
        columns: Of messages and of conversations: x, y, group, surprise; similar, of conversations.
        neighbours: Of both among the samples that groups were fitted to.
        groups: Of both, coarse ones first, then by size.
        surprise: How surprise was measured; ``None`` where it could not be.
    """

    columns: Mapping[Kind, Mapping[str, np.ndarray]]
    neighbours: Mapping[Kind, Neighbours]
    groups: Mapping[Kind, Sequence[Group]]
    surprise: Surprise | None


def read_findings(store: Path, stamp: str, ids: Sequence[str], memory: Memory) -> Findings | None:
    """What a store keeps; ``None`` unless it is of these very conversations, settings and groups.

    Args:
        store: The store.
        stamp: Changes with the data and the settings.
        ids: The ids of the conversations, in their order.
        memory: What the store remembers of its groups.
    """
    try:
        with safe_open(store / FILE, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["findings"])
            if facts["stamp"] != _stamp(store, stamp, ids):
                return None
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return Findings(
            columns={kind: _of(arrays, f"{kind}.column.") for kind in KINDS},
            neighbours={kind: Neighbours(**_of(arrays, f"{kind}.neighbours.")) for kind in KINDS},
            groups={kind: [_group(group, memory, kind) for group in facts["groups"][kind]] for kind in KINDS},
            surprise=None if facts["surprise"] is None else Surprise(**facts["surprise"]),
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):  # none, or of another version: found out anew
        return None


def write_findings(store: Path, stamp: str, ids: Sequence[str], findings: Findings) -> None:
    """Replace what a store keeps, at once; what it remembers of its groups must be written before."""
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        arrays |= {f"{kind}.column.{name}": values for name, values in findings.columns[kind].items()}
        arrays |= {f"{kind}.neighbours.{name}": getattr(findings.neighbours[kind], name) for name in _NEIGHBOURS}
    facts = {
        "stamp": _stamp(store, stamp, ids),
        "groups": {kind: [_facts(group) for group in findings.groups[kind]] for kind in KINDS},
        "surprise": None if findings.surprise is None else asdict(findings.surprise),
    }
    with atomic_path(store / FILE) as temporary:
        contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
        save_file(contiguous, temporary, metadata={"findings": json.dumps(facts)})


def _stamp(store: Path, stamp: str, ids: Sequence[str]) -> str:
    """Changes with the data, their order, the settings and what the store remembers of its groups."""
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
    return Group(**{**facts, **rows}, name=known.name, phrases=known.phrases)
