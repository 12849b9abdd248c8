"""When messages were said: kept by every layout that says it."""

import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, without_none, write
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError

NOTATIONS = [
    ("timestamp", "2024-05-31T10:00:00+02:00", {"time": "2024-05-31T10:00:00+02:00"}),
    ("timestamp", "1717142400", {"time": "2024-05-31T08:00:00+00:00"}),
    ("timestamp", "1717142400000", {"time": "2024-05-31T08:00:00+00:00"}),
    ("date", "31/05/2024 10:00", {"time": "2024-05-31T10:00:00"}),
    ("start_time", "9.5", {"start": 9.5}),
    ("start", "0:01:10", {"start": 70.0}),
    ("turn", "1717142400", {}),
    ("turn", "7", {}),
    ("sent at", "31 May 2024 10:00", {"time": "2024-05-31T10:00:00"}),
    ("Created (UTC)", "2024-05-31 10:00", {"time": "2024-05-31T10:00:00+00:00"}),
    ("Sent (EST)", "2024-05-31 10:00", {"time": "2024-05-31T10:00:00-05:00"}),
    ("Time [ms]", "1717142400000", {"time": "2024-05-31T08:00:00+00:00"}),
    ("dateSent", "2024-05-31", {"time": "2024-05-31T00:00:00"}),
    ("Message timestamp", "2024-05-31", {"time": "2024-05-31T00:00:00"}),
    ("Gesendet am", "31.05.2024 10:00", {"time": "2024-05-31T10:00:00"}),
    ("Envoyé le", "31.05.2024", {"time": "2024-05-31T00:00:00"}),
    ("Fecha", "2024-05-31", {"time": "2024-05-31T00:00:00"}),
    ("发送时间", "2024-05-31 10:00", {"time": "2024-05-31T10:00:00"}),
    ("送信日時", "2024-05-31 10:00", {"time": "2024-05-31T10:00:00"}),
    ("date", "31.05.2024 10:00 Uhr", {"time": "2024-05-31T10:00:00"}),
    ("date", "Di. 02.01.24 08:48", {"time": "2024-01-02T08:48:00"}),
    ("date", "вт. 02.01.24 08:48", {"time": "2024-01-02T08:48:00"}),
    ("date", "20240531", {"time": "2024-05-31T00:00:00"}),
    ("date", "20240531100059", {"time": "2024-05-31T10:00:59"}),
    *(
        ("date", date, {"time": "2024-05-31T10:00:00"})
        for date in (
            "31. Mai 2024 10:00 Uhr",
            "Fr. 31. Mai 2024 10:00",
            "vendredi 31 mai 2024 à 10:00",
            "31 de mayo de 2024 10:00",
            "31 maggio 2024 alle 10:00",
            "31 mei 2024 10:00",
            "31 мая 2024 г. 10:00",
            "2024年5月31日 10:00",
            "2024년 5월 31일 10:00",
            "Friday 31 May 2024 10:00 AM",
        )
    ),
    ("turn", "20240531", {}),
    ("Created (UTC)", "45443.416666667", {"time": "2024-05-31T10:00:00+00:00"}),
    ("Datum", "45443", {"time": "2024-05-31T00:00:00"}),
    ("timestamp", "45443.5", {}),
    ("date", "7", {}),
    ("date", "20241331", {}),
    ("date", "21010531", {}),
]


def times(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: message[name] for name in ("time", "start") if name in message} for message in row["messages"]]


@pytest.mark.parametrize(("column", "written", "kept"), NOTATIONS)
def test_a_table_keeps_its_times(tmp_path: Path, column: str, written: str, kept: dict[str, Any]) -> None:
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,{column}\na,u,hello,{written}\n")
    (row,) = read(path)
    assert row == {"id": "a", "messages": [{"role": "u", "content": "hello", **kept}]}


@pytest.mark.parametrize(
    ("day", "clock"), [("date", "time"), ("Datum", "Uhrzeit"), ("Fecha", "Hora"), ("日期", "时间")]
)
def test_a_day_and_a_time_of_day_are_one_time(tmp_path: Path, day: str, clock: str) -> None:
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,{clock},{day}\na,u,hello,10:00,2024-05-31\n")
    assert read(path)[0]["messages"] == [{"role": "u", "content": "hello", "time": "2024-05-31T10:00:00"}]


def test_a_weekday_before_a_date_changes_nothing(tmp_path: Path) -> None:
    rows = "".join(f'a,u,hello,"{day}"\n' for day in ("Di, 02/01/2024", "terça-feira, 23/01/2024"))
    (row,) = read(write(tmp_path / "t.csv", f"session_id,speaker,text,date\n{rows}"))
    assert [time["time"][:10] for time in times(row)] == ["2024-01-02", "2024-01-23"]


@pytest.mark.parametrize("written", ["Januar 2024", "01.2024", "soon"])
def test_columns_without_times_are_refused_with_advice(tmp_path: Path, written: str) -> None:
    path = write(tmp_path / "t.csv", f"session_id,speaker,text,Monat\na,u,hello,{written}\n")
    expected = rf"t\.csv:2: found '{written}' in 'Monat'.*write it as 2024-05-31 10:00, or leave time= out"
    with pytest.raises(ConversationError, match=expected):
        read_conversations(path, columns="time=Monat")


@pytest.mark.parametrize("columns", ["messages=log", "messages=log,time=sent at"])
def test_nested_records_keep_their_times(tmp_path: Path, columns: str) -> None:
    message = {"speaker": "u", "text": "hello", "sent at": "May 31, 2024 10:00 AM", "time": "late"}
    if columns == "messages=log":
        del message["time"]
    path = write(tmp_path / "t.jsonl", json.dumps({"id": "a", "log": [message]}))
    (row,) = (without_none(row) for row in read_conversations(path, columns=columns).to_list())
    expected = {"role": "u", "content": "hello", "time": "2024-05-31T10:00:00"}
    assert row["messages"] == [expected | ({"time_": "late"} if "time" in message else {})]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"timestamp": 1717142400}, {"time": "2024-05-31T08:00:00+00:00"}),
        ({"created_at": "2024-05-31T10:00:00Z"}, {"time": "2024-05-31T10:00:00+00:00"}),
        ({"sentAt": "31.05.2024 10:00"}, {"time": "2024-05-31T10:00:00"}),
        ({"time": "31/05/2024 10:00", "mood": "good"}, {"time": "2024-05-31T10:00:00", "mood": "good"}),
        ({"time": "00:01:05"}, {"start": 65.0}),
        ({"received": "yes"}, {"received": "yes"}),
        ({"date": "2024-05-31", "time": "10:00"}, {"time": "2024-05-31T10:00:00"}),
    ],
)
def test_chats_keep_their_times(tmp_path: Path, given: dict[str, Any], kept: dict[str, Any]) -> None:
    message = {"role": "user", "content": "hello"}
    path = write(tmp_path / "t.jsonl", json.dumps({"id": "a", "messages": [{**message, **given}]}))
    assert read(path) == [{"id": "a", "messages": [{**message, **kept}]}]


def test_days_of_a_chat_tell_the_month(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "hello", "sent": day} for day in ("02/03/2024", "31/03/2024")]
    (row,) = read(write(tmp_path / "t.jsonl", json.dumps({"messages": messages})))
    assert [when["time"][:10] for when in times(row)] == ["2024-03-02", "2024-03-31"]


def test_lookalikes_of_times_change_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "session_id,speaker,text,received\na,u,two,yes\na,u,one,no\n")
    assert [message["received"] for message in read(path)[0]["messages"]] == ["yes", "no"]
    rows = "a,u,one,2024-05-31\na,u,two,\na,u,three,2024-05-30\n"
    (row,) = read(write(tmp_path / "u.csv", f"session_id,speaker,text,sent at\n{rows}"))
    assert [message["content"] for message in row["messages"]] == ["one", "two", "three"]
    assert row["messages"][0]["sent at"] == "2024-05-31"
