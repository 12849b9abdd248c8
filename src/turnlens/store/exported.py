"""Recognising what `turnlens export` and `turnlens cluster` have written when it is given back as a source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import DAMAGE, BadRow, parse_record
from turnlens.formats.source_file import Source
from turnlens.store.records import Record

# What a conversation of a sample is an example of, where its request is, and which group that is in.
SAMPLED_AS, REQUEST_TURN, GROUP, GROUP_NAME = "sampled_as", "request_turn", "group", "group_name"
REASONS = ("request", "no request", "edge", "surprising", "failed")
_TABLES = (".csv", ".xlsx", ".parquet")
_UNREADABLE: tuple[type[Exception], ...] = (BadRow, ConversationError, *DAMAGE)
_COLUMNS = {"id", "turn", GROUP_NAME}  # a person may have deleted others


def without_sample_labels(record: Record) -> Record:
    """A conversation without the labels that a sample has added to it, if it is certainly from a sample."""
    fields = record.fields
    reasons, turn, group, name = (_added_name(label, record) for label in (SAMPLED_AS, REQUEST_TURN, GROUP, GROUP_NAME))
    given = fields.get(reasons)
    if not (isinstance(given, list) and given and set(given) <= {*REASONS} and isinstance(fields.get(turn), int)):
        return record
    added = {reasons, turn, *((group, name) if name in fields else ())}  # where there is no group, both are missing
    return replace(record, fields={label: value for label, value in fields.items() if label not in added})


def is_table_of_groups(file: Path) -> bool:
    """Whether a file is a table of turnlens's own, of requests or messages with their groups."""
    source = Source(file)
    if source.ending not in _TABLES:
        return False
    try:
        record = next((parse_record(raw) for _, raw in source.records()), {})
    except _UNREADABLE:  # which is told when it is read
        return False
    return record.keys() >= _COLUMNS


def _added_name(name: str, record: Record) -> str:
    """The name of a label that a sample adds, which is another one where the source has a label of that name."""
    return f"label_{name}" if f"label_{name}" in record.fields else name
