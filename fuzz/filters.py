"""Filters of any depth, and what must hold of them: refused with their place, or answered soon by the right rows."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from fuzz.checks import in_time
from turnwise.store.conditions import All, Among, Compared, Condition, Contains, Either, Has, Not
from turnwise.store.filters import MESSAGE_COLUMNS, FilterError, _Parser, read_filter
from turnwise.store.lance_table import LanceTable

_ROWS: list[dict[str, Any]] = [
    {"conversation": "a", "turn": 0, "role": "user", "text": "it's lost", "time": datetime(2024, 1, 1, tzinfo=UTC)},
    {"conversation": "a", "turn": 1, "role": "bot", "text": "", "time": None},
    {"conversation": "b\nc", "turn": 7, "role": "", "text": "x", "time": datetime(1, 1, 1, tzinfo=UTC)},
]
_LABELS = (["intent=x", "n=1"], [], ["n=1", "n=2"])
_LEAVES = (
    *("role = 'user'", 'role != "bot"', "role in ('user', '')", "conversation not in ('a', 'b\nc')", "role < 'c'"),
    *("turn = 1", "turn >= -1", "turn in (0, 7)", "turn not in (1)", "turn = 999999999", "turn < 1.5"),
    *("label.intent = 'x'", "label.n != 1", "label.n in (1, 2)", 'label."n" not in (2)', "label.none = true"),
    *("time > 2023-12-31", "not time = 2024-01-01", "time <= '0001-01-01T00:00:00Z'", "time < 9999-12-31"),
    *("time > 0001-01-01T00:00:00+14:00", "text contains 'it''s'", "text contains ''", "text = '\\'", "text = '%_'"),
)


@st.composite
def filters(draw: st.DrawFn) -> bytes:
    """An expression, most of one whose parts stand within each other many times."""
    leaves = st.sampled_from(_LEAVES)
    written = draw(leaves)
    for _ in range(draw(st.integers(0, 12))):
        times, other = draw(st.integers(1, 30)), draw(leaves)
        shape = draw(st.sampled_from(("not {}", "({})", "not ({})", "{0} or {1}", "{1} and ({0})", "({0}) and {1}")))
        for _ in range(times):
            if len(written) < 9_000:
                written = shape.format(written, other)
    return written.encode() if draw(st.integers(0, 9)) else draw(st.binary(max_size=20)) + written.encode()


@cache
def _table() -> LanceTable:
    import lancedb

    rows = [{**row, "labels": labels} for row, labels in zip(_ROWS, _LABELS)]
    schema = pa.schema(
        [
            *(pa.field(name, pa.string()) for name in ("conversation", "role", "text")),
            pa.field("turn", pa.int32()),
            pa.field("time", pa.timestamp("us", "UTC")),
            pa.field("labels", pa.list_(pa.string())),
        ]
    )
    folder = tempfile.mkdtemp(prefix="turnwise-fuzz-")
    inner = lancedb.connect(folder).create_table("messages", pa.Table.from_pylist(rows, schema))
    return LanceTable(inner, Path(folder))


def check_filter(content: bytes) -> None:
    """A filter is refused, or the database finds the rows that it means."""
    written = content.decode("utf-8", "replace")
    with in_time():
        try:
            condition = read_filter(written, MESSAGE_COLUMNS)
        except FilterError as error:
            assert 0 <= error.position <= len(written) and len(error.problem) < 12_000, error
            return
        meant = _Parser(written, MESSAGE_COLUMNS).parse()
        expected = [
            row["turn"] for row, labels in zip(_ROWS, _LABELS) if _holds(meant, {**row, "labels": labels}) is True
        ]
        assert sorted(_table().rows(condition, ["turn"])["turn"].to_pylist()) == sorted(expected)


def _holds(condition: Condition, row: dict[str, Any]) -> bool | None:
    """Whether a row fulfils a condition as it was written; ``None`` where it is empty, as in SQL."""
    match condition:
        case Not(part):
            found = _holds(part, row)
            return None if found is None else not found
        case All(parts):
            told = [_holds(part, row) for part in parts]
            return False if False in told else None if None in told else True
        case Either(parts):
            told = [_holds(part, row) for part in parts]
            return True if True in told else None if None in told else False
        case Has(column, entry):
            return entry in row[column]
        case Contains(column, text):
            return text in row[column]
        case Among(column, values):
            return row[column] in values
        case Compared(column, sign, value):
            return _compared(row[column], sign, value)
    raise AssertionError(f"{condition} is none that filters make")


def _compared(own: Any, sign: str, value: Any) -> bool | None:
    if own is None:
        return None
    is_less, is_equal = own < value, own == value
    return {
        "=": is_equal,
        "!=": not is_equal,
        "<": is_less,
        "<=": is_less or is_equal,
        ">": not (is_less or is_equal),
        ">=": not is_less,
    }[sign]
