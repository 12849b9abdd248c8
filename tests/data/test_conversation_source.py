"""Conversations that a program holds are read as files of the same layout are."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from turnlens.data.conversations import convert_conversations, iterate_conversations, read_conversations
from turnlens.errors import ConversationError

pl = pytest.importorskip("polars", reason="needs polars, of the extra dev")

TABLE = """Ticket ID,Author,Body,created_at,priority,agents
7,user,Where is my parcel?,2024-05-31 10:01:00,high,2
7,agent,"Hello, how can I help?",2024-05-31 10:00:00,high,2
8,user,It never came.,2024-06-01 09:00:00,low,1
8,agent,I am sorry.,2024-06-01 09:30:00,low,1
"""
COLUMNS = "conversation=Ticket ID"
TALK = [
    {"role": "user", "content": "Where is my parcel?", "intent": "track"},
    {"role": "agent", "content": "On its way."},
]
OTHER = [{"role": "user", "content": "It never came."}, {"role": "agent", "content": "I am sorry."}]

TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas, some rows": lambda frame: frame.iloc[::-1].sort_index(),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "a data set": lambda frame: datasets.Dataset.from_pandas(frame),
    "a list": lambda frame: frame.to_dict("records"),
    "an iterator": lambda frame: iter(frame.to_dict("records")),
}
HELD: dict[str, Any] = {
    "a list of conversations": [{"messages": TALK}, {"messages": OTHER}],
    "a list of lists": [TALK, OTHER],
    "an iterator": lambda: iter([TALK, OTHER]),
    "pandas": lambda: pd.DataFrame({"messages": [TALK, OTHER]}),
    "polars": lambda: pl.DataFrame({"messages": [TALK, OTHER]}),
    "a column of pandas": lambda: pd.DataFrame({"messages": [TALK, OTHER]})["messages"],
    "a column of polars": lambda: pl.DataFrame({"messages": [TALK, OTHER]})["messages"],
    "a data set": lambda: datasets.Dataset.from_list([{"messages": TALK}, {"messages": OTHER}]),
    "a column of a data set": lambda: datasets.Dataset.from_list([{"messages": TALK}, {"messages": OTHER}])["messages"],
    "ShareGPT": lambda: [
        {"conversations": [{"from": one["role"], "value": one["content"]} for one in talk]} for talk in (TALK, OTHER)
    ],
}


def said(rows: Any) -> list[list[tuple[str, str]]]:
    return [[(message["role"], message["content"]) for message in row["messages"]] for row in rows]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "tickets.csv").write_text(TABLE)
    return tmp_path / "tickets.csv"


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_as_their_csv_is(kind: str, table: Path) -> None:
    expected = read_conversations(table, columns=COLUMNS)
    frame = pd.read_csv(table, parse_dates=["created_at"])
    found = read_conversations(TABLES[kind](frame), columns=COLUMNS)
    assert [row["id"] for row in found] == ["7", "8"]
    assert said(found) == said(expected)  # ordered by the times
    assert found["priority"][:] == expected["priority"][:] == ["high", "low"]
    assert [row["agents"] for row in found] == [2, 1]  # in a CSV all is text, here a number stays one
    known = read_conversations(TABLES[kind](frame))  # and the columns are found by their names
    assert said(known) == said(expected)


@pytest.mark.parametrize("kind", TABLES)
def test_times_are_kept_as_of_a_csv(kind: str, table: Path) -> None:
    frame = pd.read_csv(table, parse_dates=["created_at"]).rename(columns={"created_at": "noticed"})
    text = TABLE.replace("created_at", "noticed")
    table.write_text(text)
    expected = [[m["noticed"] for m in row["messages"]] for row in read_conversations(table, columns=COLUMNS)]
    found = read_conversations(TABLES[kind](frame), columns=COLUMNS)
    assert [[m["noticed"] for m in row["messages"]] for row in found] == expected


def test_whole_conversations_of_any_kind_are_read() -> None:
    for held in HELD.values():
        given = held() if callable(held) else held
        found = read_conversations(given)
        assert said(found) == said([{"messages": TALK}, {"messages": OTHER}])
        assert found["id"][:] == ["row-1", "row-2"]


def test_labels_are_kept_and_input_is_unchanged() -> None:
    given: list[dict[str, Any]] = [
        {"id": 1, "topic": "parcel", "messages": [{"from": "human", "value": "Hi"}, {"role": "a", "content": ["b"]}]},
        {
            "id": 2,
            "topic": None,
            "messages": [{"role": "a", "content": [{"type": "text", "text": "c"}], "n": {"x": 1}}],
        },
    ]
    before = copy.deepcopy(given)
    found = read_conversations(given)
    assert given == before
    assert found["topic"][:] == ["parcel", None]
    assert found["id"][:] == ["1", "2"]
    assert found[1]["messages"][0]["n"] == '{"x": 1}'


def test_a_list_of_one_conversations_messages() -> None:
    assert said(read_conversations(OTHER)) == said([{"messages": OTHER}])


def test_read_data_sets_come_back_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in (TALK, OTHER)))
    read = read_conversations(path)
    assert read_conversations(read) is read
    chosen = read.select([1])
    assert read_conversations(chosen) is chosen


def test_ids_are_whole_numbers_despite_missing_ones() -> None:
    frame = pd.DataFrame({"conversation_id": [7, 7, None], "role": ["a", "b", "a"], "text": ["Hi", "Hello", "Lost"]})
    assert read_conversations(frame, on_error="skip")["id"][:] == ["7"]


def test_options_apply_to_data_in_memory(tmp_path: Path) -> None:
    finds = read_conversations([[{"role": "user", "content": "Write to anna@example.com"}]], redact="emails")
    assert finds[0]["messages"][0]["content"] == "Write to [email]"
    assert len(read_conversations([TALK, [], OTHER], on_error="skip")) == 2
    assert [row["id"] for row in iterate_conversations([TALK])] == ["row-1"]
    assert convert_conversations(pd.DataFrame({"messages": [TALK, OTHER]}), output=tmp_path / "chats.jsonl") == 2
    assert said(read_conversations(tmp_path / "chats.jsonl")) == said([{"messages": TALK}, {"messages": OTHER}])


SAID = ["Where is my parcel?", "On its way to you.", "It never came to me.", "I am sorry for that."]
TICKETS = pd.DataFrame({"ticket": [1, 1, 2, 2], "who": ["a", "b", "a", "b"], "body": SAID})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "list: it is empty; expected files, a pandas or polars DataFrame"),
        (pd.DataFrame(), "DataFrame: it is empty"),
        (5, "int: found 5; expected files"),
        (None, "NoneType: found None; expected files"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_list(TALK)}), "mapping with the keys train; expected"),
        ([TALK, []], "list: row 2: the conversation has no messages"),
        ([{"messages": TALK}, {"messages": [{"role": "a"}]}], "list: row 2: message 1 has no 'content'"),
        ([TALK, "hello"], 'list: row 2: expected a JSON object, found "hello"'),
        (
            datasets.Dataset.from_list([{"messages": TALK}, {"messages": [{"role": None, "content": "x"}]}]),
            "Dataset: row 2: message 1 has null; expected a speaker's name",
        ),
        (
            pd.DataFrame({"session": ["a", "b"], "role": ["a", ""], "text": ["Hi", "Ho"]}),
            "DataFrame: row 2: no speaker in the column 'role'",
        ),
        (
            pd.DataFrame({"session": ["a", "b"], "role": ["a", "b"], "text": ["Hi", 5]}),
            "DataFrame: no table of conversations .*column text.*each of one type",
        ),
        (TICKETS, r'DataFrame: could not detect .*\n  columns="conversation=ticket,speaker=who,text=body"'),
        (TICKETS.assign(role="x", author="y", session="z"), 'say which: columns="speaker='),
        ([{"guild": {"id": 1}, "channel": {"id": 2}, "messages": []}], "list: this layout is read from files only"),
    ],
)
def test_bad_input_is_named_with_the_expectation(given: Any, message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        read_conversations(given)


def test_a_missing_column_is_told_at_once() -> None:
    with pytest.raises(ConversationError, match=r"DataFrame: there is no column 'wh' \(did you mean 'who'\?\)"):
        read_conversations(TICKETS, columns="conversation=ticket,speaker=wh,text=body")


@pytest.mark.parametrize("columns", ["conversation=ticket,sprecher=who,text=body", "text=body,ignore=who,sprecher=who"])
def test_unknown_meanings_are_refused_with_known_ones(columns: str) -> None:
    with pytest.raises(
        ConversationError, match="found the meaning 'sprecher'; expected one of conversation, speaker, text"
    ):
        read_conversations(TICKETS, columns=columns)
    odd = TICKETS.rename(columns={"ticket": "ticket,sprecher=who"})
    given = "conversation=ticket,sprecher=who,speaker=who,text=body"
    assert len(read_conversations(odd, columns=given)) == TICKETS["ticket"].nunique()


def test_columns_are_named_by_a_mapping_as_by_a_text() -> None:
    mapping = {"conversation": "ticket", "speaker": "who", "text": "body"}
    expected = read_conversations(TICKETS, columns="conversation=ticket,speaker=who,text=body").to_list()
    assert read_conversations(TICKETS, columns=mapping).to_list() == expected


@pytest.mark.parametrize("columns", [{"thread": "ticket"}, {"text": 3}, ["text"]])
def test_columns_that_are_no_such_mapping_are_one_error(columns: Any) -> None:
    with pytest.raises(ValueError, match=r"columns: found .*; expected "):
        read_conversations(TICKETS, columns=columns)


@pytest.mark.parametrize("texts", [["hello", "bye"], ["What?"], ["a long text " * 30]])
def test_lists_of_texts_are_refused_with_advice(texts: list[str]) -> None:
    with pytest.raises(ConversationError, match=r"a list of texts is read as names of files: .*encode_messages"):
        read_conversations(texts)


@pytest.mark.slow  # starts a process
def test_neither_pandas_nor_polars_is_imported() -> None:
    code = (
        "import sys, turnlens; turnlens.read_conversations([[{'role': 'a', 'content': 'b'}]]); "
        "assert not {'pandas', 'polars'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", f"import sys, datasets; before = set(sys.modules); {code}"], check=True)
