import json
import math
import re
import tempfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st

import turnlens.page
from turnlens._utils.text_values import printable, strict_json, with_formula, without_formula
from turnlens.encoders.vector_files import write_vectors
from turnlens.formats.source_file import Source
from turnlens.report.tables import write_table

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "'=1",
    "\t;,\t;",
    "#N/A",
    "_x0041_",
]
SCRIPTS = Path(turnlens.page.__file__).parent / "static" / "js"
# A name is no blank; what is no Unicode becomes U+FFFD when it is read, and NUL is refused.
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAMES = VALUES.filter(str.strip)


def tables_of(name: str, value: str, folder: Path) -> list[Path]:
    """Write a table by every writer of tables."""
    table = pa.table({"id": ["1"], name: [value], "growth": [-0.5]})
    files = [folder / f"groups{ending}" for ending in (".csv", ".xlsx", ".jsonl", ".parquet")]
    for file in files:
        write_table(table, file)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.5, 1], pa.float32()), 2)
    pq.write_table(table.append_column("vector", vectors), folder / "part")
    files += [folder / f"vectors{ending}" for ending in (".csv", ".parquet")]
    for file in files[-2:]:
        write_vectors([folder / "part"], file, {})
    write_vectors([folder / "part"], folder / "array.npy", {})
    return [*files, folder / "array.jsonl"]


@settings(max_examples=40, deadline=None)
@given(NAMES, VALUES)
@example("=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0")
@example("a\t\t\t\tb;;;;c", "x\r\ny\rz")
@example('"a\n"', '"\n')
@example("'=1", "''=1")
@example("_x0041_", "#N/A")
def test_names_and_values_come_back_from_every_table(name: str, value: str) -> None:
    if name in ("id", "growth", "vector"):
        return
    with tempfile.TemporaryDirectory() as folder:
        for file in tables_of(name, value, Path(folder)):
            ((_, row),) = Source(file).records()
            row = row if isinstance(row, dict) else json.loads(row)
            assert row.get(name) == value, file.name
            assert float(row["growth"]) == -0.5  # numbers stay numbers


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    for text in HOSTILE:
        for file in tables_of(text, text, tmp_path):
            if file.suffix == ".csv":
                table = pyarrow.csv.read_csv(file, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
                cells = [*table.column_names, *map(str, table.column(1).to_pylist())]
            elif file.suffix == ".xlsx":
                rows = list(openpyxl.load_workbook(file).active.iter_rows())
                assert all(cell.data_type in "sn" for row in rows for cell in row)
                cells = [str(cell.value) for row in rows for cell in row[:2]]
            else:
                continue
            assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r", "\n", "＝", "-1"))]


def test_the_page_of_cells_says_what_is_done() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
    section = page.partition("## Cells of tables")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \|$", section, re.MULTILINE)
    told = {shown: done for cell, done in rows for shown in re.findall(r"`([^`]+)`", cell) if shown != "'"}
    assert len(told) == 19
    for shown, done in told.items():
        text = re.sub(r"\\(?:u[0-9a-f]{4}|[trn])", lambda sign: json.loads(f'"{sign[0]}"'), shown)
        assert without_formula(text) == (text if done == "as it is" else f"'{text}")
        assert with_formula(without_formula(text)) == text


def test_page_and_commands_have_one_rule() -> None:
    shown = re.search(r"text.replace\(\s*/(\[.+\])/g", (SCRIPTS / "dom.js").read_text("utf-8"))
    formula = re.search(r"safe = /\^(.+)/.test\(value\)", (SCRIPTS / "download.js").read_text("utf-8"))
    assert shown and formula
    for sign in map(chr, range(0xD800)):
        assert (printable(sign) != sign) == bool(re.match(shown[1], sign)), hex(ord(sign))
    for sign in [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x10000))]:
        for text in (sign, f"'{sign}", f"a{sign}"):
            assert (without_formula(text) != text) == bool(re.match(formula[1], text)), hex(ord(sign))


def test_json_is_safe_for_terminals_and_the_same() -> None:
    value = {"a\x9b\u202e\x7f\x1b": "é\ud800\u2028\n"}
    text, _ = strict_json(value)
    assert text.isprintable() and json.loads(text) == value


def test_numbers_unknown_to_json_become_null() -> None:
    assert strict_json({"a": [1.5, "é"]}) == ('{"a": [1.5, "é"]}', 0)
    value = {"a": math.nan, "b": [{"c": math.inf}, -math.inf, 2], "d": ("NaN", True)}
    assert strict_json(value) == ('{"a": null, "b": [{"c": null}, null, 2], "d": ["NaN", true]}', 3)
