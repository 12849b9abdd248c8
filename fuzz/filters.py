"""Filters of any depth, and what must hold of them: refused with their place, or answered soon by the right rows."""

import re
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from fuzz.checks import in_time
from turnlens.store.filters import MESSAGE_COLUMNS, FilterError, read_filter
from turnlens.store.lance_table import LanceTable

_ROWS: list[dict[str, Any]] = [
    {"conversation": "a", "turn": 0, "role": "user", "text": "it's lost", "time": datetime(2024, 1, 1, tzinfo=UTC)},
    {"conversation": "a", "turn": 1, "role": "bot", "text": "", "time": None},
    {"conversation": "b\nc", "turn": 7, "role": "", "text": "x", "time": datetime(1, 1, 1, tzinfo=UTC)},
]
_LABELS = (["intent=x", "n=1"], [], ["n=1", "n=2"])
_ALL, _NONE = (True, True, True), (False, False, False)
# Comparisons, and whether the rows fulfil them; nothing is known of an empty time.
_LEAVES: dict[str, tuple[bool | None, ...]] = {
    "role = 'user'": (True, False, False),
    'role != "bot"': (True, False, True),
    "role in ('user', '')": (True, False, True),
    "conversation not in ('a', 'b\nc')": _NONE,
    "role < 'c'": (False, True, True),
    "turn = 1": (False, True, False),
    "turn >= -1": _ALL,
    "turn in (0, 7)": (True, False, True),
    "turn not in (+1)": (True, False, True),
    "turn = 999999999": _NONE,
    "label.intent = 'x'": (True, False, False),
    "label.n != 1": (False, True, False),
    "label.n in (1, 2)": (True, False, True),
    'label."n" not in (2)': (True, True, False),
    "label.none = true": _NONE,
    "time > 2023-12-31": (True, None, False),
    "time != 2024-01-01": (False, None, True),
    "time <= '0001-01-01T00:00:00Z'": (False, None, True),
    "time < 9999-12-31": (True, None, True),
    "text contains 'it''s'": (True, False, False),
    "text contains ''": _ALL,
    "text = '\\'": _NONE,
    "text = '%_'": _NONE,
}
_MISTAKES = ("turn < 1.5", "time > 0001-01-01T00:00:00+14:00")
_LEAF = re.compile("|".join(map(re.escape, sorted(_LEAVES, key=len, reverse=True))))
_JOINTS = re.compile(r"(?:\s|[()]|\b(?:and|or|not|true|false|null)\b)*")


@st.composite
def filters(draw: st.DrawFn) -> bytes:
    """An expression, most of one whose parts stand within each other many times."""
    leaves = st.sampled_from((*_LEAVES, *_MISTAKES))
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
    folder = tempfile.mkdtemp(prefix="turnlens-fuzz-")
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
        rows = _table().rows(condition, ["turn"])["turn"].to_pylist()
        expected = [_holds(written, place) for place in range(len(_ROWS))]
        assert None in expected or sorted(rows) == [row["turn"] for row, holds in zip(_ROWS, expected) if holds]


def _holds(written: str, place: int) -> bool | None:
    """Say whether SQLite selects a row, given the comparisons; ``None`` for what was not made from `_LEAVES`."""
    names = {True: "true", False: "false", None: "null"}
    logic = _LEAF.sub(lambda leaf: f" {names[_LEAVES[leaf[0]][place]]} ", written)
    if not _JOINTS.fullmatch(logic):
        return None
    with closing(sqlite3.connect(":memory:")) as database:
        return bool(database.execute(f"SELECT {logic}").fetchone()[0])
