import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from format_cases import read, write
from turnlens import read_conversations
from turnlens.errors import ConversationError
from turnlens.report.tables import write_table


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
def test_tables_order_numbers_and_times_by_value(tmp_path: Path, order: str, moments: list[str]) -> None:
    rows = "".join(f"c,s,{text},{moment}\n" for text, moment in zip("321", moments))
    (row,) = read(write(tmp_path / "t.csv", f"conversationId,from,text,{order}\n{rows}"))
    assert [message["content"] for message in row["messages"]] == ["1", "2", "3"]


def test_messages_without_a_time_stay_behind_their_predecessor(tmp_path: Path) -> None:
    said = ["c,s,b,2024-05-02 10:00", "c,s,c, ", "c,s,a,2024-05-01 10:00", "d,s,x,", "d,s,y,"]
    timed, untimed = read(write(tmp_path / "t.csv", "\n".join(["chat_id,from,text,time", *said])))
    days = {message["content"]: message.get("time", "")[:10] for message in timed["messages"]}
    assert list(days.items()) == [("a", "2024-05-01"), ("b", "2024-05-02"), ("c", "")]
    assert [message["content"] for message in untimed["messages"]] == ["x", "y"]
    with pytest.raises(ConversationError, match=r"t\.csv:7: found 'soon' in 'time'"):
        read(write(tmp_path / "t.csv", "\n".join(["chat_id,from,text,time", *said, "d,s,z,soon"])))


@pytest.mark.parametrize(
    ("name", "note", "said"),
    [
        ("Public", "FALSE", "TRUE"),
        ("is_internal", "1", "0"),
        ("Visibility", "Internal", "public"),
        ("Type", "note", "email"),
    ],
)
def test_a_row_for_colleagues_alone_is_a_note(tmp_path: Path, name: str, note: str, said: str) -> None:
    rows = f"c,user,one,{said}\nc,agent,looks odd,{note}\nc,agent,two,{said}\n"
    (row,) = read(write(tmp_path / "t.csv", f"chat_id,from,text,{name}\n{rows}"))
    assert [(message["content"], message.get("note")) for message in row["messages"]] == [
        ("one", None),
        ("", "looks odd"),
        ("two", None),
    ]
    (row,) = read(write(tmp_path / "all.csv", f"chat_id,from,text,{name}\nc,user,one,{note}\nc,agent,two,{note}\n"))
    assert [message["content"] for message in row["messages"]] == ["one", "two"]  # says nothing of single messages


def test_marks_against_formulas_are_taken_off(tmp_path: Path) -> None:
    texts = ["=1+1", "+49 30", "- one", "@ann", "'tis", "it's = me", "'"]
    table = pa.table({"chat_id": ["c"] * len(texts), "from": ["s"] * len(texts), "text": texts})
    write_table(table, tmp_path / "t.csv")
    assert b"'=1+1" in (tmp_path / "t.csv").read_bytes()
    (row,) = read(tmp_path / "t.csv")
    assert [message["content"] for message in row["messages"]] == texts


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_blanks_around_labels_make_no_other_label(tmp_path: Path, ending: str) -> None:
    topics = ["lost card", " lost card ", "lost card\xa0"]
    rows = [{"chat_id": "c", "from": "s", "text": "Hi", "topic": topic, "intent": "\t"} for topic in topics]
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    written = lines if ending == "csv" else [json.dumps(row) for row in rows]
    (row,) = read(write(tmp_path / f"t.{ending}", "\n".join(written)))
    assert row == {"id": "c", "messages": [{"role": "s", "content": "Hi"}] * 3, "topic": "lost card"}


def test_constant_columns_are_labels_of_the_conversation(tmp_path: Path) -> None:
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


def test_tables_are_alike_in_jsonl_parquet_and_csv(tmp_path: Path) -> None:
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
        (b"c,user,three,soon", r"t\.csv:4: found 'soon' in 'turn'; expected a number or a time"),
        (b"c,user,three,2024-01-01", r"t\.csv:3: found both numbers and times"),
    ],
)
def test_bad_table_rows(tmp_path: Path, bad: bytes, problem: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"conversation_id,speaker,text,turn\ngood,user,one,1\nc,user,two,2\n" + bad + b"\n")
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert "good" in [row["id"] for row in read(path, on_error="skip")]


def test_titles_above_the_header_of_csv_are_passed_over(tmp_path: Path) -> None:
    rows = 'conversation_id;speaker;text;rating\na;user;"one, two\nthree";\na;bot;four, five, six;4\n'
    (plain,) = read(write(tmp_path / "t.csv", rows))
    for titles in (
        "Chats of March\n",
        "\n\n",
        "Chats, of March, all;;;\n;;;\n",
        '"From";1 March\n\n',
        "sep=;\nChats;;;\n",
    ):
        (row,) = read(write(tmp_path / "t.csv", titles + rows))
        assert row["messages"] == plain["messages"], titles
    with pytest.raises(ConversationError, match=r"t\.csv:6: found 2 cells; expected 4"):
        read(write(tmp_path / "t.csv", "Chats\n" + rows + "a;b\n"))
    texts = "text\nI came, I saw, I left\nOne, two, three\n"  # whose commas are none of a table
    read_texts = read_conversations(write(tmp_path / "t.csv", texts), columns="text=text")
    assert [row["messages"][0]["content"] for row in read_texts] == texts.splitlines()[1:]


@pytest.mark.parametrize(
    "written",
    [
        "conversation_id|speaker|text\na|user|one, two; three\na|bot|four\n",
        'conversation_id,speaker,text\na,user,"one, two; three",\na,bot,four,,\n',
        'conversation_id,speaker,text,state (open|shut|new|old|other)\na,user,"one, two; three",new\na,bot,four,new\n',
        'conversation_id,speaker,text,\na,user,"one, two; three"\na,bot,four\n',
    ],
    ids=["bars", "more commas in rows", "bars in a name", "a comma after the header"],
)
def test_tables_as_programs_write_them(tmp_path: Path, written: str) -> None:
    (row,) = read(write(tmp_path / "t.csv", written))
    assert [message["content"] for message in row["messages"]] == ["one, two; three", "four"]


def test_no_columns_are_advised_for_a_malformed_table(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'conversation_id,speaker,text\na,b,5" wide\na,b,"He said "hi" to me"\n')
    with pytest.raises(ConversationError, match=r"t\.csv:3: malformed table") as raised:
        read(path)
    assert "--columns" not in str(raised.value)


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'conversation_id,speaker,text\na,b,"open\n' + "a,b,c\n" * 30_000)
    with pytest.raises(ConversationError, match="a quote that is never closed"):
        read(path)


def test_blank_rows_are_passed_over_unlike_incomplete_ones(tmp_path: Path) -> None:
    text = "conversation_id,speaker,text\n,,\na,user,one\n , ,\t\n,\na,bot,two\n\n,,\n"
    (row,) = read(write(tmp_path / "t.csv", text))
    assert [message["content"] for message in row["messages"]] == ["one", "two"]
    table = pa.table(
        {"conversation_id": ["a", None, "a"], "speaker": ["user", None, "bot"], "text": ["one", "", "two"]}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")[0]["messages"] == row["messages"]
    with pytest.raises(ConversationError, match=r"t\.csv:3: no conversation id"):
        read(write(tmp_path / "t.csv", "conversation_id,speaker,text\na,user,one\n,user,two\n"))


def test_markup_is_read_as_text_and_code_stays(tmp_path: Path) -> None:
    texts = {
        "my card&nbsp;&amp; my pin<br/>are gone": "my card & my pin\nare gone",
        "<p>It&#39;s <b>late</b></p><p>Bye</p>": "It's late\n\nBye",
        '<a href="https://example.com">here</a> &copy': "here &copy",
        "if a < b && c > d: List<b> x": "if a < b && c > d: List<b> x",
        "write `&amp;` and <br>": "write `&amp;` and <br>",
    }
    rows = "".join(f'c,user,"{text.replace(chr(34), chr(34) * 2)}"\n' for text in texts)
    (row,) = read(write(tmp_path / "t.csv", f"conversation_id,speaker,text\n{rows}"))
    assert [message["content"] for message in row["messages"]] == list(texts.values())
