import gzip
import zipfile
from collections.abc import Iterable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from format_cases import read, write
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError

HEADER = ["Ticket ID", "Author", "Text", "Sent at", "Paid"]
ROWS = [
    [7, "ann", "Grüße 你好", datetime(2024, 5, 31, 10), 2.5],
    [7, "ben", "2nd", datetime(2024, 5, 31), 2.5],
    [8.0, "ann", None, datetime(2024, 6, 1, 9), None],
]


def workbook(path: Path, *sheets: Iterable[list[Any]], hidden: int | None = None) -> Path:
    book = Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if number == hidden else "visible"
    book.save(path)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_workbooks_are_read_as_tables(tmp_path: Path, packed: bool) -> None:
    path = workbook(tmp_path / "t.xlsx", [[], HEADER, *ROWS])
    if packed:
        data = gzip.compress(path.read_bytes())
        path = tmp_path / "t.xlsx.gz"
        path.write_bytes(data)
    said = [
        {"role": "ben", "content": "2nd", "time": "2024-05-31T00:00:00"},
        {"role": "ann", "content": "Grüße 你好", "time": "2024-05-31T10:00:00"},
    ]
    later = [{"role": "ann", "content": "", "time": "2024-06-01T09:00:00"}]
    assert read(path) == [{"id": "7", "messages": said, "Paid": "2.5"}, {"id": "8", "messages": later}]


def test_days_and_times_may_have_two_columns(tmp_path: Path) -> None:
    rows = [["chat_id", "from", "text", "date", "time"], ["a", "u", "hi", date(2024, 5, 31), time(10, 30)]]
    assert read(workbook(tmp_path / "t.xlsx", rows))[0]["messages"][0]["time"] == "2024-05-31T10:30:00"


def test_the_first_visible_sheet_that_holds_something(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"]], [], [HEADER, *ROWS], [["notes"]], hidden=0)
    assert [row["id"] for row in read(path)] == ["7", "8"]
    assert "read the sheet 'Sheet 2'; not read: 'Sheet 3'" in caplog.text


def test_titles_above_the_header_are_passed_over(tmp_path: Path) -> None:
    titles = [["Conversations of March"], [], ["Ticket", None, "Message"]]
    plain = read(workbook(tmp_path / "plain.xlsx", [HEADER, *ROWS]))
    titled = read(workbook(tmp_path / "titled.xlsx", [*titles, HEADER, *ROWS]))
    assert [row["messages"] for row in titled] == [row["messages"] for row in plain]
    indexed = [[None, *HEADER], *([number, *row] for number, row in enumerate(ROWS))]  # as pandas writes its index
    assert [row["id"] for row in read(workbook(tmp_path / "indexed.xlsx", indexed))] == ["7", "8"]


def test_merged_cells_fill_each_of_their_rows(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    for row in [["Ticket", "Message"], [None, "Author", "Text"], [7, "ann", "a"], [None, "ben", "b"], [8, "ann", "c"]]:
        sheet.append(row)
    for cells in ("A1:A2", "B1:C1", "A3:A4"):
        sheet.merge_cells(cells)
    book.save(tmp_path / "t.xlsx")
    rows = read_conversations(tmp_path / "t.xlsx", columns="conversation=Ticket").to_list()
    assert [(row["id"], [message["content"] for message in row["messages"]]) for row in rows] == [
        ("7", ["a", "b"]),
        ("8", ["c"]),
    ]


def test_bad_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS, [9, None, "x", datetime(2024, 6, 1)]])
    with pytest.raises(ConversationError, match=r"t\.xlsx: row 5: no speaker in the column 'Author'"):
        read(good)
    with pytest.raises(ConversationError, match="the file is empty"):
        read(workbook(tmp_path / "empty.xlsx", []))
    for name, content in (("cut.xlsx", good.read_bytes()[:-500]), ("text.xlsx", b"a,b\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConversationError, match=f"{name}: not a readable Excel workbook"):
            read(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/sharedStrings.xml", b" " * (17 << 20))
    monkeypatch.setenv("TURNLENS_MAX_LINE_MB", "1")
    with pytest.raises(ConversationError, match="the unpacked workbook takes far more than a file of this size"):
        read(tmp_path / "bomb.xlsx")


def test_a_workbook_of_unknown_layout_gets_its_columns(tmp_path: Path) -> None:
    rows = [["a", "b", "c"], *([f"k{n // 4}", "AB"[n % 2], f"My card is gone {n}."] for n in range(20))]
    with pytest.raises(ConversationError, match="--columns conversation=a,speaker=b,text=c"):
        read(workbook(tmp_path / "t.xlsx", rows))
    with pytest.raises(ConversationError):
        read(write(tmp_path / "u.xlsx", "x"), "table")


def test_workbooks_without_their_first_part_are_bad_files(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS])
    with zipfile.ZipFile(path) as parts:
        types = parts.getinfo("[Content_Types].xml").header_offset
    path.write_bytes(path.read_bytes()[types + 20 :])
    with pytest.raises(ConversationError, match="not a readable Excel workbook"):
        read(path)


def unpacked(path: Path, strings: str, rows: str = "") -> Path:
    """A workbook with these shared strings, and these rows after the first ones."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/>'
    original = workbook(path.with_name("original.xlsx"), [HEADER, *ROWS])
    with zipfile.ZipFile(original) as given, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as changed:
        for name in given.namelist():
            text = given.read(name).decode().replace("</Types>", f"{part}</Types>")
            changed.writestr(name, text.replace("</sheetData>", f"{rows}</sheetData>"))
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        changed.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}">{strings}</sst>')
    return path


@pytest.mark.parametrize(
    ("strings", "rows"),
    [
        (f"<si>{'<r/>' * 300_000}</si>", ""),
        ("", f"<row>{'<c/>' * 300_000}</row>"),
        ("", f'<row spans="{"1" * 3_000_000}"/>'),
    ],
    ids=["string", "row", "tag"],
)
def test_workbooks_that_expand_in_memory_are_refused(tmp_path: Path, strings: str, rows: str) -> None:
    path = unpacked(tmp_path / "bomb.xlsx", strings, rows)
    assert path.stat().st_size < 20_000
    with pytest.raises(ConversationError, match="not a readable Excel workbook"):
        read(path)


STRING = "<si><t>" + "x" * 500_000 + "</t></si>"
MANY = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(9, 99))
# what a small workbook would take: its shared strings, its rows, and the part that the error names
COSTLY = [
    (STRING, "<row>" + '<c t="s"><v>0</v></c>' * 40 + "</row>", "the text of the workbook"),
    ("<si/>" * 70_000, "", "the unpacked workbook"),
    ("", "<row/>" * 70_000, "the unpacked workbook"),
    ("", '<row r="1000000000000"/>', "the rows and columns of the workbook"),
    ("", MANY, "the rows and columns of the workbook"),
]


def test_small_workbooks_of_great_cost_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLENS_MAX_LINE_MB", "1")
    for strings, rows, part in COSTLY:
        with pytest.raises(ConversationError, match=rf"bomb\.xlsx: {part} takes far more than a file of this size"):
            read(unpacked(tmp_path / "bomb.xlsx", strings, rows))
