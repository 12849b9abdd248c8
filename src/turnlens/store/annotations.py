"""What people have said about conversations of a store: labels that stay when the source is indexed again.

They are kept in one small file beside the tables, which is replaced atomically, and are put on each conversation that
is added. The tables hold them, too, as labels like any others, so that everything that reads a store finds them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from turnlens._utils.files import atomic_path, put_in_order
from turnlens.errors import error_line
from turnlens.store.records import Record
from turnlens.store.state import StoreError

ANNOTATIONS_FILE = "annotations.json"
_SCHEMA = 1


@dataclass(frozen=True)
class Annotation:
    """The labels that people gave to a conversation.

    Attributes:
        labels: Those of the whole conversation.
        turns: Those of its messages, by their turns.
    """

    labels: Mapping[str, Any] = field(default_factory=dict)
    turns: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __or__(self, newer: Annotation) -> Annotation:
        """Both, where newer values take the place of older ones."""
        turns = {turn: {**self.turns.get(turn, {}), **labels} for turn, labels in newer.turns.items()}
        return Annotation({**self.labels, **newer.labels}, {**self.turns, **turns})


def read_annotations(store: Path) -> dict[str, Annotation]:
    """The annotations of a store by the ids of the conversations.

    Raises:
        StoreError: Their file is damaged, or has another schema.
    """
    file = store / ANNOTATIONS_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["schema"] == _SCHEMA:
            return {id: _annotation_of(**kept) for id, kept in content["conversations"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StoreError(
            f"{file} is damaged: {error_line(error)}; copy it back from a backup, or delete it and annotate again"
        ) from error
    raise StoreError(
        f"{file} has schema {content['schema']}, this version of turnlens reads {_SCHEMA}: use the one that wrote it"
    )


def write_annotations(store: Path, annotations: Mapping[str, Annotation]) -> None:
    """Replace the annotations of a store, whose lock the caller holds."""
    kept = {id: asdict(annotation) for id, annotation in annotations.items()}
    with atomic_path(store / ANNOTATIONS_FILE) as temporary:
        temporary.write_text(json.dumps({"schema": _SCHEMA, "conversations": kept}, default=str), encoding="utf-8")


def annotated(record: Record, annotations: Mapping[str, Annotation]) -> Record:
    """The conversation with what people have said about it; labels of messages that it does not have are left out."""
    annotation = annotations.get(record.id)
    if annotation is None:
        return record
    messages = [{**message, **annotation.turns.get(turn, {})} for turn, message in enumerate(record.messages)]
    return replace(record, messages=messages, fields={**record.fields, **annotation.labels})


def forget_annotations(store: Path, ids: Collection[str]) -> None:
    """Remove the annotations of some conversations."""
    put_in_order(store / ANNOTATIONS_FILE)  # what a killed process left half-written may hold them, too
    annotations, gone = read_annotations(store), set(ids)
    kept = {id: annotation for id, annotation in annotations.items() if id not in gone}
    if len(kept) < len(annotations):
        write_annotations(store, kept)


def _annotation_of(labels: Mapping[str, Any], turns: Mapping[str, Mapping[str, Any]]) -> Annotation:
    return Annotation(dict(labels), {int(turn): dict(given) for turn, given in turns.items()})
