"""Values written as text."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from turnlens._utils.text_values import strict_json
from turnlens.encoders.vector_files import write_vectors
from turnlens.report.tables import write_table

HOSTILE = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]
HARMLESS = ["a = b", "5-3", "", None]
EXPECTED = [*(f"'{text}" for text in HOSTILE), "a = b", "5-3", "", ""]


def texts_in(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def test_tables_of_groups_hold_no_formulas(tmp_path: Path) -> None:
    table = pa.table({"text": [*HOSTILE, *HARMLESS], "growth": [-0.5] * 10})
    write_table(table, tmp_path / "groups.csv")
    write_table(table, tmp_path / "groups.parquet")
    assert texts_in(tmp_path / "groups.csv") == EXPECTED
    assert "-0.5" in (tmp_path / "groups.csv").read_text(encoding="utf-8")  # numbers stay numbers
    assert pq.read_table(tmp_path / "groups.parquet")["text"].to_pylist() == [*HOSTILE, *HARMLESS]


def test_files_of_vectors_hold_no_formulas(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.5] * 10, pa.float32()), 1)
    pq.write_table(pa.table({"text": [*HOSTILE, *HARMLESS], "vector": vectors}), tmp_path / "part.parquet")
    write_vectors([tmp_path / "part.parquet"], tmp_path / "vectors.csv", {})
    assert texts_in(tmp_path / "vectors.csv") == EXPECTED


def test_numbers_unknown_to_json_become_null() -> None:
    assert strict_json({"a": [1.5, "é"]}) == ('{"a": [1.5, "é"]}', 0)
    value = {"a": math.nan, "b": [{"c": math.inf}, -math.inf, 2], "d": ("NaN", True)}
    assert strict_json(value) == ('{"a": null, "b": [{"c": null}, null, 2], "d": ["NaN", true]}', 3)
