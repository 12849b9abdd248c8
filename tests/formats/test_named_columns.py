import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import without_none, write
from turnlens.data.conversations import convert_conversations, read_conversations
from turnlens.errors import ConversationError
from turnlens.formats.columns import Columns

TICKETS = "conversation=Ticket,speaker=Author Type,text=Body,time=Sent"


def read(path: Path, columns: str | Columns, **options: Any) -> list[dict[str, Any]]:
    return [without_none(row) for row in read_conversations(path, columns=columns, **options).to_list()]


def texts(row: dict[str, Any]) -> list[str]:
    return [message["content"] for message in row["messages"]]


def test_the_columns_of_a_table(tmp_path: Path) -> None:
    rows = "T1,customer,卡丢了,2,high,x@y.org\nT2,customer,hello,1,low,z@y.org\nT1,agent,blocked,1,high,x@y.org\n"
    path = write(tmp_path / "t.csv", f"Ticket,Author Type,Body,Sent,Priority,E-mail\n{rows}")
    assert read(path, f"{TICKETS},ignore=E-mail") == [
        {
            "id": "T1",
            "messages": [{"role": "agent", "content": "blocked"}, {"role": "customer", "content": "卡丢了"}],
            "Priority": "high",
        },
        {"id": "T2", "messages": [{"role": "customer", "content": "hello"}], "Priority": "low"},
    ]
    assert read(path, Columns("Ticket", "Author Type", "Body", "Sent", ignore=("E-mail",))) == read(
        path, f"{TICKETS},ignore=E-mail"
    )
    assert convert_conversations(path, output=tmp_path / "out.jsonl", columns=TICKETS) == 2


def test_unnamed_columns_are_found_by_usual_names(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "session_id,speaker,Frage,turn\na,u,two,2\na,b,one,1\n")
    assert texts(read(path, "text=Frage")[0]) == ["one", "two"]


def test_other_columns_are_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "session_id,speaker,de,en\na,u,ja,yes\n")
    assert [texts(read(path, f"text={column}")[0]) for column in ("de", "en", "de")] == [["ja"], ["yes"], ["ja"]]


def test_dots_lead_into_nested_fields(tmp_path: Path) -> None:
    row = {"thread": 1, "author": {"type": "agent", "name": "Bo"}, "data": {"body": "né"}, "a.b": "kept"}
    path = write(tmp_path / "t.jsonl", json.dumps(row))
    (found,) = read(path, "speaker=author.type,text=data.body,conversation=thread")
    assert found["messages"] == [{"role": "agent", "content": "né"}]
    assert (json.loads(found["author"]), found["a.b"]) == ({"name": "Bo"}, "kept")
    assert "data" not in found


@pytest.mark.parametrize("as_text", [False, True])
def test_records_that_are_whole_conversations(tmp_path: Path, as_text: bool) -> None:
    comments = [
        {"author": {"type": "agent"}, "body": "second", "at": "2024-05-31 10:00 -0500"},
        {"author": {"type": "customer"}, "body": "first", "at": "Fri, 31 May 2024 14:59:59 GMT", "private": True},
        {"author": {"type": "agent"}, "body": None, "at": "May 31, 2024 3:05 PM UTC"},
    ]
    record = {"key": "K-7", "comments": json.dumps(comments) if as_text else comments, "status": "open", "id": 3}
    path = write(tmp_path / "t.jsonl", json.dumps({"ticket": record}))
    columns = "conversation=ticket.key,messages=ticket.comments,speaker=author.type,text=body,time=at"
    (found,) = read(path, f"{columns},ignore=ticket.id")
    assert found["id"] == "K-7" and texts(found) == ["first", "second", ""]
    time = "2024-05-31T14:59:59+00:00"
    assert found["messages"][0] == {"role": "customer", "content": "first", "private": True, "time": time}
    assert json.loads(found["ticket"]) == {"status": "open"}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Sent", ["31/05/2024 10:00", "01/06/2024 09:00"]),
        ("Sent", ["5/31/2024 11:59 PM", "6/1/2024 12:10 AM"]),
        ("Sent", ["31.05.2024 10:00", "01.06.2024 09:00"]),
        ("Sent", ["May 31, 2024 10:00 AM PDT", "2024-05-31T17:00:01Z"]),
        ("Sent", ["59:30", "1:00:05"]),
        ("start_time", ["9.5", "10.25"]),
        ("start", ["2024-05-31T10:00:00+02:00", "2024-05-31 09:00:00 UTC"]),
    ],
)
def test_times_in_the_usual_notations(tmp_path: Path, column: str, values: list[str]) -> None:
    rows = "".join(f'a,u,{text},"{value}"\n' for text, value in zip("21", reversed(values)))
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,{column}\n{rows}")
    assert texts(read(path, f"time={column}")[0]) == ["1", "2"]


def test_a_date_and_a_time_are_one(tmp_path: Path) -> None:
    rows = "a,u,two,2024-06-01,00:01\na,u,one,2024-05-31,23:59\n"
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,date,time\n{rows}")
    assert [texts(row) for row in read(path, "time=date+time") + read(path, Columns())] == [["one", "two"]] * 2


def test_dates_that_could_be_either_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = "a,u,one,02/03/2024\na,u,two,01/04/2024\n"
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,day\n{rows}")
    assert texts(read(path, "time=day")[0]) == ["two", "one"]
    assert "02/03/2024 are read as month, day, year" in caplog.text


def test_ids_without_numbers_keep_the_file_order(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "session_id,speaker,text,message_id\na,u,one,m9\na,u,two,m10\n")
    assert texts(read_conversations(path)[0]) == ["one", "two"]
    path = write(tmp_path / "n.csv", "session_id,speaker,text,message_id\na,u,two,10\na,u,one,9\n")
    assert texts(read_conversations(path)[0]) == ["one", "two"]


@pytest.mark.parametrize(
    ("table", "columns", "problem"),
    [
        ("session_id,speaker,text,body\n1,u,x,y\n", "", "'text' and 'body' could each be the text; .*--columns text="),
        ("session_id,Session ID,speaker,text\n1,1,u,x\n", "", "could each be the conversation"),
        ("session_id,speaker,text,text\n1,u,x,y\n", "", r"'text' and 'text \(2\)' could each be the text"),
        ("session_id,speaker,text,turn\n1,u,x,nan\n", "", r"t\.csv:2: found 'nan' in 'turn'; expected a number"),
        ("session_id,speaker,text,turn\n1,u,x,may\n", "", "found 'may' in 'turn'; expected a number"),
        ("session_id,speaker,text,t\n1,u,x,10:00 1 May 2024 XYZ\n", "time=t", "time zone is unknown; write it as"),
        ("session_id,speaker,t\n1,u,x\n", "text=tx", r"no column 'tx' \(did you mean 't'\?\); found session_id"),
        ("session_id,speaker,t\n1,u,x\n", "text=t,ignore=email", "no column 'email'"),
        ("a,b,c\n1,u,x\n", "text=c,speaker=b", "the columns a, b, c; expected one for the conversation, such as c"),
        ("session_id,speaker,t,d\n1,u,x,13/01/2024\n1,u,x,01/13/2024\n", "text=t,time=d", "the other way round"),
    ],
)
def test_unclear_columns_are_one_error(tmp_path: Path, table: str, columns: str, problem: str) -> None:
    with pytest.raises(ConversationError, match=problem):
        read(write(tmp_path / "t.csv", table), columns or Columns())


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("body", "found 'body'; expected one of conversation, speaker, text"),
        ("txt=body", "found 'txt=body'"),
        ("text=", "found 'text='"),
        ("text=a,text=b", "text is given twice"),
    ],
)
def test_columns_that_are_not_understood(columns: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Columns.parse(columns)


def test_columns_as_text_and_back() -> None:
    columns = Columns.parse("text=Body, plain,conversation=id, ignore=a,b,ignore=c")
    assert columns == Columns("id", text="Body, plain", ignore=("a", "b", "c"))
    assert Columns.parse(str(columns)) == columns


def test_columns_are_for_tables(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match="columns are for tables"):
        read(write(tmp_path / "t.json", "[]"), "text=a", format="sgd")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"log": "[1"}, "no JSON list of messages"),
        ({"log": 3}, "no list of messages under 'log'; the record has: log"),
        ({"log": []}, "no messages"),
        ({"log": [{"text": "x"}]}, "expected one for the speaker"),
        ({"log": [{"text": "x", "from": ""}]}, "no speaker in the column 'from'"),
        ({"log": [{"text": ["x"], "from": "a"}]}, "expected text in the column 'text'"),
    ],
)
def test_bad_nested_records_are_errors_with_lines(tmp_path: Path, row: Any, problem: str) -> None:
    good = {"log": [{"text": "x", "from": "a"}]}
    path = write(tmp_path / "t.jsonl", f"{json.dumps(good)}\n{json.dumps(row)}\n")
    with pytest.raises(ConversationError, match=problem) as caught:
        read(path, "messages=log")
    assert caught.value.where == f"{path}:2"
    assert [found["id"] for found in read(path, "messages=log", on_error="skip")] == ["t-1"]


def test_labels_called_like_our_own_columns_are_kept(tmp_path: Path) -> None:
    rows = "a,u,ann,x\na,v,bob,y\n"
    path = write(tmp_path / "t.csv", f"session_id,role,author,text\n{rows}")
    (found,) = read(path, "speaker=author")
    assert [(message["role"], message["role_"]) for message in found["messages"]] == [("ann", "u"), ("bob", "v")]


def test_one_text_a_row(tmp_path: Path) -> None:
    rows = "1,9,Very slow.,2024-05-31\n2,3,,2024-05-31\n3,9,Very slow.,2024-06-01\n"
    path = write(tmp_path / "survey.csv", f"No,Score,What went wrong?,Submitted on\n{rows}")
    first, second = read(path, "text=What went wrong?")
    said = {"role": "user", "content": "Very slow."}
    assert first == {
        "id": "survey-2",
        "No": "1",
        "Score": "9",
        "messages": [{**said, "time": "2024-05-31T00:00:00"}],
    }
    assert (second["id"], second["messages"][0]["time"]) == ("survey-4", "2024-06-01T00:00:00")
    path = write(tmp_path / "rated.csv", "Ticket ID,Rating,Comment\n7,1,Bad.\n8,5,Good.\n")
    assert [(row["id"], texts(row)) for row in read(path, "text=Comment")] == [("7", ["Bad."]), ("8", ["Good."])]
    for header, ann, cleo in (("Author", "Ann", "Cleo"), ("Author,From", "Ann,Ben", "Cleo,Dan")):
        path = write(tmp_path / "by.csv", f"No,Comment,{header}\n1,Bad.,{ann}\n2,Good.,{cleo}\n")
        first, second = read(path, "text=Comment")  # nobody speaks where there is no conversation
        assert (texts(first), first["Author"], second["messages"][0]["role"]) == (["Bad."], "Ann", "user")
    path = write(tmp_path / "t.jsonl", '{"answer": {"text": "Bad."}}\n{"answer": {"text": "Good."}}\n')
    assert [texts(row) for row in read(path, "text=answer.text")] == [["Bad."], ["Good."]]
    with pytest.raises(ConversationError, match="none of its conversations has any text"):
        read(write(tmp_path / "blank.csv", "No,Comment\n1,\n2, \n"), "text=Comment")
