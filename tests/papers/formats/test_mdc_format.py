"""The Microsoft Dialogue Challenge."""

from pathlib import Path

import pytest

from format_cases import read, write
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
