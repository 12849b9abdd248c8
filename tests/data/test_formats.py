"""Every source format, on rows written for these tests in the layout of the source."""

from __future__ import annotations

import csv
import gzip
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from turnwise.data.conversations import read_conversations
from turnwise.errors import ConversationError

DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[1] / "../shared/data"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def read(path: Path, format: str = "auto", on_error: Any = "raise") -> list[dict[str, Any]]:
    """The rows, without the nulls that fill the columns."""
    return [without_none(row) for row in read_conversations(path, format, on_error).to_list()]


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


def turns(*contents: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(contents)]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# chat


def test_sharegpt(tmp_path: Path) -> None:
    messages = [
        {"from": "system", "value": "be kind"},
        {"from": "human", "value": "hello"},
        {"from": "gpt", "value": "hi", "weight": 1},
        {"from": "tool", "value": "42"},
    ]
    rows = [{"id": "s1", "conversations": messages}, {"id": "s2", "conversations": messages[1:3]}]
    expected = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi", "weight": 1},
        {"role": "tool", "content": "42"},
    ]
    in_array = read(write(tmp_path / "array.json", json.dumps(rows, indent=2)))
    in_lines = read(write(tmp_path / "lines.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    in_parquet = read(tmp_path / "rows.parquet")
    assert in_array == in_lines == in_parquet
    assert in_array == [{"id": "s1", "messages": expected}, {"id": "s2", "messages": expected[1:3]}]


def test_content_in_text_parts_is_joined(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "good "}, {"type": "text", "text": "day"}]
    row = {"messages": [{"role": "user", "content": parts}]}
    assert read(write(tmp_path / "c.jsonl", json.dumps(row)))[0]["messages"] == turns("good day")


def test_json_that_is_no_array_and_values_longer_than_a_chunk(tmp_path: Path) -> None:
    rows = [{"id": str(i), "messages": turns("word " * 150_000)} for i in range(4)]
    path = write(tmp_path / "c.json", json.dumps(rows, indent=1))
    assert [row["id"] for row in read(path)] == ["0", "1", "2", "3"]
    one = write(tmp_path / "one.json", json.dumps(rows[0], indent=1))
    several = write(tmp_path / "several.json", "\n".join(json.dumps(row) for row in rows[:2]) + "\n")
    assert len(read(one)) == 1
    assert len(read(several)) == 2


def test_chat_lines_in_a_text_file_are_detected(tmp_path: Path) -> None:
    row = {"id": "a", "messages": turns("hello")}
    assert read(write(tmp_path / "c.txt", json.dumps(row))) == [row]


# table


def test_table_gathers_scattered_rows_in_file_order(tmp_path: Path) -> None:
    text = "Dialogue ID,Speaker,Utterance\nb,user,one\na,agent,x\nb,agent,two\na,user,y\n"
    assert read(write(tmp_path / "t.csv", text)) == [
        {"id": "b", "messages": [{"role": "user", "content": "one"}, {"role": "agent", "content": "two"}]},
        {"id": "a", "messages": [{"role": "agent", "content": "x"}, {"role": "user", "content": "y"}]},
    ]


@pytest.mark.parametrize(
    ("order", "moments"),
    [
        ("turn", ["10", "9", "-1"]),
        ("timestamp", ["2024-05-02T10:00:00+02:00", "2024-05-02T07:59:00Z", "2024-05-01"]),
    ],
)
def test_table_orders_numbers_as_numbers_and_times_as_times(tmp_path: Path, order: str, moments: list[str]) -> None:
    rows = "".join(f"c,s,{text},{moment}\n" for text, moment in zip("321", moments))
    (row,) = read(write(tmp_path / "t.csv", f"conversationId,from,text,{order}\n{rows}"))
    assert [message["content"] for message in row["messages"]] == ["1", "2", "3"]


def test_table_columns_constant_in_every_conversation_are_its_labels(tmp_path: Path) -> None:
    text = (
        "session_id\tspeaker\ttext\ttopic\tintent\n"
        "1\tu\thello\tbooks\tgreet\n1\ta\thi\tbooks\t\n2\tu\tbye\tfilms\tpart\n3\tu\tyes\t\tagree\n"
    )
    assert read(write(tmp_path / "t.tsv", text)) == [
        {
            "id": "1",
            "messages": [
                {"role": "u", "content": "hello", "intent": "greet"},
                {"role": "a", "content": "hi"},
            ],
            "topic": "books",
        },
        {"id": "2", "messages": [{"role": "u", "content": "bye", "intent": "part"}], "topic": "films"},
        {"id": "3", "messages": [{"role": "u", "content": "yes", "intent": "agree"}]},
    ]


def test_table_as_jsonl_parquet_and_csv_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    rows = [
        {"chat_id": 7, "author": "ann", "content": 'she said "yes,\nperhaps"', "score": 1.5},
        {"chat_id": 7, "author": "bob", "content": "né", "score": 1.5},
    ]
    expected = [
        {"role": "ann", "content": 'she said "yes,\nperhaps"'},
        {"role": "bob", "content": "né"},
    ]
    lines = write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    assert read(lines) == read(tmp_path / "t.parquet") == [{"id": "7", "messages": expected, "score": 1.5}]
    with gzip.open(tmp_path / "t.csv.gz", "wt", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert read(tmp_path / "t.csv.gz") == [{"id": "7", "messages": expected, "score": "1.5"}]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"c,user,three", r"t\.csv:4: found 3 cells; expected 4"),
        (b",user,three,3", r"t\.csv:4: no conversation id in the column 'conversation_id'"),
        (b"c,,three,3", r"t\.csv:4: no speaker in the column 'speaker'"),
        (b"c,user,three,soon", r"t\.csv:4: found 'soon' in 'turn'; expected a number or an ISO"),
        (b"c,user,three,2024-01-01", r"t\.csv:3: found both numbers and times"),
        (b"c,user,\xff,3", r"t\.csv:3: message 2 is not UTF-8"),
        (b"\xff,user,three,3", r"t\.csv:4: the id is not UTF-8"),
    ],
)
def test_bad_table_rows(tmp_path: Path, bad: bytes, problem: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"conversation_id,speaker,text,turn\ngood,user,one,1\nc,user,two,2\n" + bad + b"\n")
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert "good" in [row["id"] for row in read(path, on_error="skip")]


def test_a_table_with_other_column_names_lists_found_and_expected(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "who,what,where\na,b,c\n")
    with pytest.raises(ConversationError, match=r"found the columns who, what, where; expected .*conversation_id"):
        read(path, "table")


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'conversation_id,speaker,text\na,b,"open\n' + "a,b,c\n" * 30_000)
    with pytest.raises(ConversationError, match="a quote that is never closed"):
        read(path)


# corpora


def sgd_turn(speaker: str, utterance: str, *intents: tuple[str, str]) -> dict[str, Any]:
    frames = [{"service": service, "slots": [], "state": {"active_intent": intent}} for service, intent in intents]
    return {"speaker": speaker, "utterance": utterance, "frames": frames or [{"service": "Boats_1", "slots": []}]}


def test_sgd(tmp_path: Path) -> None:
    dialogue = {
        "dialogue_id": "1_00000",
        "services": ["Boats_1", "Docks_2"],
        "turns": [
            sgd_turn("USER", "rent me a boat", ("Boats_1", "RentBoat")),
            sgd_turn("SYSTEM", "done"),
            sgd_turn("USER", "and a dock", ("Boats_1", "RentBoat"), ("Docks_2", "FindDock")),
            sgd_turn("SYSTEM", "found one"),
            sgd_turn("USER", "thanks", ("Docks_2", "NONE")),
        ],
    }
    messages: list[dict[str, str]] = turns("rent me a boat", "done", "and a dock", "found one", "thanks")
    messages[0]["intent"] = "Boats_1:RentBoat"
    expected = {"id": "1_00000", "messages": messages, "domains": ["Boats_1", "Docks_2"]}
    assert read(write(tmp_path / "dialogues_001.json", json.dumps([dialogue], indent=1))) == [expected]
    in_split = write(tmp_path / "train" / "dialogues_001.json", json.dumps([dialogue]))
    assert read(in_split) == [{**expected, "id": "train-1_00000"}]


def test_taskmaster(tmp_path: Path) -> None:
    conversation = {
        "conversation_id": "dlg-1",
        "vertical": "Tea",
        "scenario": "s",
        "instructions": None,
        "utterances": [
            {"index": 1, "speaker": "ASSISTANT", "text": "which?", "segments": []},
            {"index": 0, "speaker": "USER", "text": "tea please", "segments": []},
        ],
    }
    expected = {"id": "dlg-1", "messages": turns("tea please", "which?"), "topic": "Tea"}
    assert read(write(tmp_path / "data_00.json", json.dumps([conversation]))) == [expected]


def test_self_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "board_games12.csv"
    # as in the release, the columns are sorted as text
    numbers = sorted(range(1, 11), key=str)
    header = ["HITId", "AssignmentId", *(f"Answer.sentence{number}" for number in numbers)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        writer.writerow(["h", "A1", *(f"sentence  {number}" if number < 10 else " " for number in numbers)])
    assert read(path) == [
        {"id": "A1", "topic": "board_games", "messages": turns(*(f"sentence {i}" for i in range(1, 10)))}
    ]


def test_dailydialog(tmp_path: Path) -> None:
    text = "Good day . __eou__ It ’ s raining . __eou__\nYes ? __eou__ No . __eou__ Oh !\n"
    assert read(write(tmp_path / "dialogues_text.txt", text)) == [
        {"id": "dialogues_text-1", "messages": turns("Good day .", "It ’ s raining .")},
        {"id": "dialogues_text-2", "messages": turns("Yes ?", "No .", "Oh !")},
    ]


def test_ecd(tmp_path: Path) -> None:
    lines = [
        "你好|在的\t明天发货\t0|1-0-1\t1\t几时发货|不要了\t1|0\n",
        "好\t好的|谢谢\t0-1-1|0\t1\t不要了|收到\t0|1\n",
    ]
    expected = [
        [("user", "你好"), ("assistant", "在的"), ("user", "几时发货"), ("assistant", "明天发货")],
        [("user", "好"), ("assistant", "收到"), ("assistant", "好的"), ("user", "谢谢")],
    ]
    detected = read(write(tmp_path / "train.txt", "".join(lines)))
    named = read(write(tmp_path / "train_data.txt.sample", "".join(lines)), "ecd")
    for rows in (detected, named):
        assert [[(m["role"], m["content"]) for m in row["messages"]] for row in rows] == expected
    assert detected[0]["id"] == "train-1"


@pytest.mark.parametrize(
    "line", ["你好\t谢谢", "a\tb\t0|1-0-1\t1\tx|y\t1|0", "a\tb\t0-0-1\t1\tx|y\t1|1", "a\tb\t0-0-1\t1\tx\t0|1"]
)
def test_bad_ecd_lines(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConversationError, match=r"train\.txt:1: "):
        read(write(tmp_path / "train.txt", line + "\n"), "ecd")


MDC_HEADER = "session.ID\tMessage.ID\tMessage.Timestamp\tMessage.From\tMessage.Text\tDialog-Acts\t\t\n"


def test_mdc(tmp_path: Path) -> None:
    rows = [
        "1\t1\t2016-03-08T03:01:14.630Z\tuser\ta taxi please\tgreeting()\trequest(taxi) \t\n",
        "1\t2\t2016-03-08T03:13:48.111Z\tagent\twhere to?\trequest(place)\t\t\n",
        "2\t1\t2016-03-08T02:40:09.687Z\tuser\thello\t\t\t\n",
    ]
    assert read(write(tmp_path / "taxi_all.tsv", MDC_HEADER + "".join(rows))) == [
        {
            "id": "taxi-1",
            "messages": [
                {"role": "user", "content": "a taxi please", "acts": ["greeting()", "request(taxi)"]},
                {"role": "assistant", "content": "where to?", "acts": ["request(place)"]},
            ],
            "domain": "taxi",
        },
        {"id": "taxi-2", "messages": [{"role": "user", "content": "hello", "acts": []}], "domain": "taxi"},
    ]


def test_bad_mdc_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "taxi_all.tsv", MDC_HEADER + "1\t1\tt\tuser\thello\t\t\t\n1\t2\tt\tdriver\thi\t\t\t\n")
    with pytest.raises(ConversationError, match=r"taxi_all\.tsv:3: found 'driver'"):
        read(path)
    other = write(tmp_path / "other.tsv", "a\tb\n1\t2\n")
    with pytest.raises(ConversationError, match=r"found the columns a, b; expected .*session\.ID"):
        read(other, "mdc")


@pytest.mark.parametrize("format", ["sgd", "taskmaster", "self_dialogue"])
def test_a_record_of_another_layout_lists_found_and_expected(tmp_path: Path, format: str) -> None:
    ending = "csv" if format == "self_dialogue" else "json"
    text = "alpha,beta\n1,2\n" if ending == "csv" else '[{"alpha": 1, "beta": 2}]'
    with pytest.raises(ConversationError, match=f"found the keys alpha, beta .*{format}' expects "):
        read(write(tmp_path / f"x.{ending}", text), format)


def test_each_file_of_a_folder_has_its_own_format(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "conversation_id,speaker,text\n1,user,hello\n")
    write(tmp_path / "b.jsonl", json.dumps({"id": "2", "messages": turns("hello"), "topic": "t"}))
    assert [row["id"] for row in read(tmp_path)] == ["1", "2"]


# the real releases, where they are at hand


def sample(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {name} in {DATA} (set TURNWISE_DATA)")
    return path


def reference(*names: str) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        with gzip.open(sample(name), "rt", encoding="utf-8") as file:
            rows |= {row["id"]: row for row in map(json.loads, file)}
    return rows


@pytest.mark.parametrize(
    ("name", "references", "prefix", "common"),
    [
        ("samples/sgd/dialogues_001.json", ["sgd/dev.jsonl.gz"], "dev-", 10),
        ("samples/taskmaster/data_00.json", ["taskmaster4/train.jsonl.gz"], "", 4),
        (
            "samples/self_dialogue/fashion2.csv",
            ["self_dialogue/train.jsonl.gz", "self_dialogue/dev.jsonl.gz"],
            "",
            38,
        ),
    ],
)
def test_raw_samples_equal_the_chat_corpora(name: str, references: list[str], prefix: str, common: int) -> None:
    expected = reference(*references)
    rows = [{**row, "id": prefix + row["id"]} for row in read(sample(name))]
    found = [row for row in rows if row["id"] in expected]
    assert len(found) == common
    assert found == [expected[row["id"]] for row in found]


def test_raw_samples_without_a_chat_corpus() -> None:
    dialogues = read(sample("samples/dailydialog/dialogues_text.txt"))
    assert len(dialogues) == 20
    assert all(len(row["messages"]) >= 2 and "__eou__" not in str(row) for row in dialogues)
    sessions = read(sample("ecd/train/train_data.txt.sample"), "ecd")
    assert len(sessions) == 1000
    roles = [[message["role"] for message in row["messages"]] for row in sessions]
    assert all(a != b for row in roles for a, b in pairwise(row))
