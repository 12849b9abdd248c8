"""Lines of tab-separated columns: the Microsoft Dialogue Challenge, JDDC, DailyDialog, ECD and dial2vec."""

import re
from pathlib import Path

import pytest

from format_cases import read, turns, write
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.evaluation.semantic_retrieval import build_retrieval_task

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
                {
                    "role": "user",
                    "content": "a taxi please",
                    "acts": ["greeting()", "request(taxi)"],
                    "intents": ["greeting", "request"],
                },
                {"role": "assistant", "content": "where to?", "acts": ["request(place)"], "intents": ["request"]},
            ],
            "domain": "taxi",
        },
        {
            "id": "taxi-2",
            "messages": [{"role": "user", "content": "hello", "acts": [], "intents": []}],
            "domain": "taxi",
        },
    ]


def test_retrieval_by_the_names_of_acts(tmp_path: Path) -> None:
    said = [
        ("a taxi please", "request(taxi)\t\t"),
        ("a taxi to the pier", "request(taxi;place)\tinform(place=pier)\t"),
        ("a taxi now", "request(taxi)\t\t"),
        ("the taxi is here", "Inform(taxi)\tinform(place)\t"),
    ]
    rows = "".join(f"{number}\t1\tt\tuser\t{text}\t{acts}\n" for number, (text, acts) in enumerate(said))
    path = write(tmp_path / "taxi_all.tsv", MDC_HEADER + rows)
    task = build_retrieval_task(read_conversations(path), label="intents")
    assert set(task.texts) == {"a taxi please", "a taxi now", "the taxi is here"}
    assert {task.texts[query] for query in task.queries} == {"a taxi please", "a taxi now"}


def test_bad_mdc_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "taxi_all.tsv", MDC_HEADER + "1\t1\tt\tuser\thello\t\t\t\n1\t2\tt\tdriver\thi\t\t\t\n")
    with pytest.raises(ConversationError, match=r"taxi_all\.tsv:3: found 'driver'"):
        read(path)
    other = write(tmp_path / "other.tsv", "a\tb\n1\t2\n")
    with pytest.raises(ConversationError, match=r"found the columns a, b; expected .*session\.ID"):
        read(other, "mdc")


JDDC_HEADER = "session_id\tuser_id\twaiter_send\tis_transfer\tis_repeat\tcontent\n"
JDDC_LINES = [
    "s1\tu1\t0\t0\t0\t几时发货\n",
    's1\tu1\t1\t0\t0\t明天\t"亲\n',
    "s2\tu2\t1\t0\t0\t在的\n",
]


@pytest.mark.parametrize("name", ["chat.txt", "chat.tsv", "chat.txt.sample"])
def test_jddc_sessions(tmp_path: Path, name: str) -> None:
    assert read(write(tmp_path / name, JDDC_HEADER + "".join(JDDC_LINES))) == [
        {
            "id": "s1",
            "messages": [{"role": "user", "content": "几时发货"}, {"role": "assistant", "content": '明天\t"亲'}],
        },
        {"id": "s2", "messages": [{"role": "assistant", "content": "在的"}]},
    ]


def test_a_jddc_file_without_the_header(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"found the columns a, b; expected a header"):
        read(write(tmp_path / "chat.txt", "a\tb\n"), "jddc")


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
    named = read(write(tmp_path / "train_data.txt.sample", "".join(lines)))
    write(tmp_path / "folder" / "train_data.txt.sample", "".join(lines))
    assert len(read(tmp_path / "folder")) == 2
    for rows in (detected, named):
        assert [[(m["role"], m["content"]) for m in row["messages"]] for row in rows] == expected
    assert detected[0]["id"] == "train-1"
    assert [message.get("negatives") for message in detected[0]["messages"]] == [None, None, ["不要了"], None]


@pytest.mark.parametrize(
    "line", ["你好\t谢谢", "a\tb\t0|1-0-1\t1\tx|y\t1|0", "a\tb\t0-0-1\t1\tx|y\t1|1", "a\tb\t0-0-1\t1\tx\t0|1"]
)
def test_bad_ecd_lines(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConversationError, match=r"train\.txt:1: "):
        read(write(tmp_path / "train.txt", line + "\n"), "ecd")


def test_dial2vec_clustering_file(tmp_path: Path) -> None:
    lines = '010\ta room#which "one?#the cheap one|a room#which "one?#the cheap one\t2\n10\thello#hi|hello#hi\t1\n'
    path = write(tmp_path / "clustering_test.tsv", lines)
    assert (
        read(path)
        == read(path, "dial2vec")
        == [
            {"id": "clustering_test-1", "messages": turns("a room", 'which "one?', "the cheap one"), "topics": ["2"]},
            {"id": "clustering_test-2", "messages": turns("hello", "hi", first="assistant"), "topics": ["1"]},
        ]
    )


def test_dial2vec_training_file_gives_every_dialogue_once_and_without_samples(tmp_path: Path) -> None:
    lines = ["01\ta#b|a#x\t0\n", "01\ta#b|a#y\t0\n", "01\tc#d|c#x\t0\n", "01\tc#d|c#z\t0\n"]
    assert read(write(tmp_path / "train.tsv", "".join(lines))) == [
        {"id": "train-1", "messages": turns("a", "b")},
        {"id": "train-3", "messages": turns("c", "d")},
    ]


def test_dial2vec_sessions(tmp_path: Path) -> None:
    lines = 's1\t0\ta "room\thotel|taxi\ns1\t1\tsure\thotel|taxi\ns1\t0\t \thotel|taxi\ns2\t1\thello\ttaxi\n'
    expected = [
        {"id": "s1", "messages": turns('a "room', "sure"), "topics": ["hotel", "taxi"]},
        {"id": "s2", "messages": turns("hello", first="assistant"), "topics": ["taxi"]},
    ]
    assert read(write(tmp_path / "preprocess_session_mwoz.txt", lines)) == expected
    assert read(write(tmp_path / "sessions.tsv", lines)) == expected
    assert read(write(tmp_path / "sessions", lines), "dial2vec") == expected


def test_dial2vec_sessions_with_a_header_are_a_table(tmp_path: Path) -> None:
    lines = "session\trole\ttext\ttopic\ns1\t0\ta room\thotel\ns1\t1\tsure\thotel\n"
    messages = [{"role": "0", "content": "a room"}, {"role": "1", "content": "sure"}]
    assert read(write(tmp_path / "t.tsv", lines)) == [{"id": "s1", "messages": messages, "topic": "hotel"}]


GOOD_JDDC, LAST_JDDC = JDDC_HEADER + JDDC_LINES[0], JDDC_LINES[2]
# name of the file, content, its problem, and the ids that stay without it
BAD = [
    (
        "chat.txt",
        f"{GOOD_JDDC}s1\tu1\t2\t0\t0\thello\n{LAST_JDDC}",
        ":3: found '2' in waiter_send; expected 0 or 1",
        ["s2"],
    ),
    ("chat.txt", f"{GOOD_JDDC}s1\tu1\n{LAST_JDDC}", ":3: found 2 columns; expected 6", ["s1", "s2"]),
    ("x.tsv", "01\ta#b\t1\n01\ta#b#c\t1\n", ":2: found 2 speakers for 3 turns", ["x-1"]),
    ("x.tsv", "01\ta#b\t1\n0x\ta#b\t1\n", ":2: found '0x' as speakers", ["x-1"]),
    ("x.tsv", "01\ta#b\t1\n01\ta#b\n", ":2: found 2 columns", ["x-1"]),
    ("x.tsv", "s\t0\ta\tt\nr\t0\ta\tt\nr\t2\tb\tt\n", ":3: found '2' as speaker", ["s"]),
    ("x.tsv", "s\t0\ta\tt\nr\t0\ta\tt\nr\t1\tb\n", ":3: found 3 columns", ["s"]),
    ("x.tsv", "s\t0\ta\tt\nr\t0\t\tt\n", ":2: the conversation has no messages", ["s"]),
]


def test_bad_lines_are_told_or_skipped(tmp_path: Path) -> None:
    for number, (name, content, problem, kept) in enumerate(BAD):
        path = write(tmp_path / str(number) / name, content)
        with pytest.raises(ConversationError, match=re.escape(name) + problem):
            read(path)
        assert [row["id"] for row in read(path, on_error="skip")] == kept, content
