import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from format_cases import read, turns, write
from samples import ANTHROPIC, OPENAI_PARTS, SALAM, SHALOM, lines
from turnlens.errors import ConversationError


def test_sharegpt(tmp_path: Path) -> None:
    messages = [
        {"from": "system", "value": "be kind"},
        {"from": "human", "value": "hello"},
        {"from": "gpt", "value": "hi", "weight": 1},
        {"from": "tool", "value": "42"},
    ]
    rows = [{"id": "s1", "conversations": messages}, {"id": "s2", "conversations": messages[1:3]}]
    expected = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi", "weight": 1},
        {"role": "tool", "content": "", "tool_results": '[{"content": "42"}]'},
    ]
    in_array = read(write(tmp_path / "array.json", json.dumps(rows, indent=2)))
    in_lines = read(write(tmp_path / "lines.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    in_parquet = read(tmp_path / "rows.parquet")
    assert in_array == in_lines == in_parquet
    told, untold = {"id": "s1", "messages": expected, "system": "be kind"}, {"id": "s2", "messages": expected[:2]}
    assert in_array == [told, untold]


def test_chat_lines_in_a_text_file_are_detected(tmp_path: Path) -> None:
    row = {"id": "a", "messages": turns("hello")}
    assert read(write(tmp_path / "c.txt", json.dumps(row))) == [row]


def test_parts_that_are_no_text_are_labels(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "c.jsonl", json.dumps(OPENAI_PARTS)))
    assert row["system"] == "Be kind."
    assert row["messages"] == [
        {
            "role": "user",
            "content": f"What is this? 🙂\n{SALAM}",
            "attachments": ["image_url: https://a.b/c.png", "input_image", "input_audio"],
        },
        {"role": "assistant", "content": "", "tool_calls": '[{"id": "t", "function": {"name": "look"}}]'},
        {"role": "tool", "content": "", "tool_results": '[{"call_id": "t", "content": "a cake"}]'},
        {"role": "assistant", "content": "", "refusal": "I may not."},
        {"role": "assistant", "content": "", "refusal": "No."},
        {"role": "assistant", "content": "蛋糕"},
    ]


def test_anthropic_messages(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "c.jsonl", json.dumps(ANTHROPIC)))
    result = '[{"tool_use_id": "t", "content": "a cake", "attachments": ["image"]}]'
    assert row["system"] == "Be kind."
    assert row["messages"] == [
        {"role": "user", "content": SHALOM},
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "Hm.",
            "tool_calls": '[{"id": "t", "name": "look", "input": {"at": "蛋糕"}}]',
        },
        {"role": "tool", "content": "", "tool_results": result},
        {"role": "assistant", "content": "A cake 🍰"},
    ]


def test_instructions_in_mid_conversation_are_labels(tmp_path: Path) -> None:
    told = [{"role": role, "content": "Be kind."} for role in ("system", "developer")]
    row = {"system": "As always.", "messages": [*told, *turns("hello", "hi"), told[0], *turns("so?", "so.")]}
    (row,) = read(write(tmp_path / "c.jsonl", json.dumps(row)))
    assert row["system"] == "As always.\nBe kind.\nBe kind."
    assert [message["content"] for message in row["messages"]] == ["hello", "hi", "", "so?", "so."]
    assert row["messages"][2] == {"role": "system", "content": "", "notice": "Be kind."}


def test_a_system_that_converses_is_a_speaker(tmp_path: Path) -> None:
    messages = [{"role": role, "content": text} for role, text in zip(("system", "user", "system"), "abc")]
    assert read(write(tmp_path / "c.jsonl", lines({"messages": messages})))[0]["messages"] == messages


@pytest.mark.parametrize(
    "text",
    ["<think>\nHm.\n</think>\n\nYes", '<details type="reasoning" done="true">\nHm.\n</details>\nYes'],
)
def test_thoughts_before_or_beside_answers_are_labels(tmp_path: Path, text: str) -> None:
    messages = [*turns("<think>?", text), {"role": "assistant", "content": "Yes", "reasoning_content": "Hm."}]
    (row,) = read(write(tmp_path / "c.jsonl", lines({"messages": messages})))
    said = {"role": "assistant", "content": "Yes", "thinking": "Hm."}
    assert row["messages"] == [*turns("<think>?"), said, said]


def test_parts_of_a_type_yet_unknown_are_attachments(tmp_path: Path) -> None:
    parts = [{"type": "hologram", "name": "cat"}, "look", {"text": "!"}]
    row = {"messages": [{"role": "user", "content": parts}]}
    assert read(write(tmp_path / "c.jsonl", json.dumps(row)))[0]["messages"] == [
        {"role": "user", "content": "look!", "attachments": ["hologram: cat"]}
    ]


def test_empty_lists_of_tool_calls_are_no_label(tmp_path: Path) -> None:
    rows = [
        {"messages": [{"role": "assistant", "content": "a", "tool_calls": calls}]}
        for calls in ([], [{"id": "x"}], None)
    ]
    read_rows = read(write(tmp_path / "c.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert [row["messages"][0].get("tool_calls") for row in read_rows] == [None, '[{"id": "x"}]', None]


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_bare_lists_of_messages(tmp_path: Path, ending: str) -> None:
    conversations = [turns("one", "two"), turns("three")]
    several = json.dumps(conversations) if ending == "json" else "".join(json.dumps(c) + "\n" for c in conversations)
    assert [row["messages"] for row in read(write(tmp_path / f"several.{ending}", several))] == conversations
    messages = turns("one", "two")
    one = json.dumps(messages) if ending == "json" else "".join(json.dumps(message) + "\n" for message in messages)
    assert [row["messages"] for row in read(write(tmp_path / f"one.{ending}", one))] == [messages]


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson.gz"])
@pytest.mark.parametrize("written", ["[{},\n{}]\n", "{},\n{}\n", "[\n{},\n{}\n]", "\x1e{}\n\x1e{}\n", "{}\n{}\n"])
def test_lines_that_other_json_fills_are_read(tmp_path: Path, ending: str, written: str) -> None:
    rows = [{"id": name, "messages": turns("hello", name)} for name in "ab"]
    text = written.replace("{}", "%s") % tuple(json.dumps(row) for row in rows)
    path = tmp_path / f"chat{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    assert read(path) == rows
    damaged = "[{},\n" + f"{json.dumps(rows[1])}\n" * 2
    assert len(read(write(tmp_path / "damaged.jsonl", damaged), on_error="skip")) == 2
    pretty = json.dumps(rows[0], indent=1)
    assert read(write(tmp_path / "pretty.jsonl", f"{pretty}\n")) == rows[:1]


def test_passages_beside_messages_are_no_speech(tmp_path: Path) -> None:
    row = {"id": "a", "messages": turns("hello", "yes"), "chunks": [{"text": "a passage", "timestamp": 1.5}]}
    assert [message["content"] for message in read(write(tmp_path / "c.jsonl", json.dumps(row)))[0]["messages"]] == [
        "hello",
        "yes",
    ]


def test_messages_with_further_keys_are_no_conversation(tmp_path: Path) -> None:
    rows = [{**message, "case": number} for number, message in enumerate(turns("one", "two"))]
    with pytest.raises(ConversationError, match="could not detect the format"):
        read(write(tmp_path / "c.json", rows))


def test_rows_under_conversations_in_one_object(tmp_path: Path) -> None:
    rows = [{"id": str(number), "messages": turns("word " * 60_000)} for number in range(5)]
    wrapped = write(tmp_path / "c.json", {"version": 1, "conversations": rows, "more": {"x": 1}})
    assert [row["id"] for row in read(wrapped)] == ["0", "1", "2", "3", "4"]
    lists = write(tmp_path / "lists.json", {"conversations": [turns("one"), turns("two")]})
    assert [row["messages"] for row in read(lists)] == [turns("one"), turns("two")]


@pytest.mark.parametrize("name", ["conversation_id", "dialogueId", "thread_id"])
def test_conversation_ids_have_several_usual_names(tmp_path: Path, name: str) -> None:
    rows = [{name: "a", "messages": turns("hello")}, {name: "b", "id": "own", "messages": turns("hi")}]
    answer = read(write(tmp_path / "t.jsonl", lines(*rows)))
    assert [row["id"] for row in answer] == ["a", "own"] and answer[1][name] == "b"


def test_messages_that_name_their_conversation_are_gathered(tmp_path: Path) -> None:
    said = {"type": "text", "text": "hello"}
    image = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}
    rows = [
        {"conversation_id": name, "role": "user", "content": [said, image] if name == "a" else "hi", "timestamp": time}
        for name, time in (("a", 1717142401), ("b", 1717142400), ("b", 1717142390))
    ]
    a, b = read(write(tmp_path / "t.jsonl", lines(*rows)))
    assert (a["id"], b["id"]) == ("a", "b")
    (message,) = a["messages"]
    assert (message["content"], message["time"]) == ("hello", "2024-05-31T08:00:01+00:00") and message["attachments"]
    assert [message["time"][-8:] for message in b["messages"]] == ["50+00:00", "00+00:00"]


@pytest.mark.parametrize("name", ["conversation_id", "sessionId", "thread_id"])
def test_snapshots_of_a_growing_conversation_are_one(tmp_path: Path, name: str) -> None:
    sunday, monday = ({"role": "system", "content": f"Today is {day}."} for day in ("Sunday", "Monday"))
    whole = turns("hi", "hello", "and?", "more", "bye")
    rows = [
        {"id": "r1", name: "a", "messages": [sunday, *whole[:2]], "feedback": "up", "model": "m1"},
        {"id": "r2", name: "b", "messages": turns("hi", "hello")},
        {"id": "r3", name: "a", "messages": [sunday, *whole[:4]], "feedback": None, "model": "m2"},
        {"messages": turns("hi")},
        {"id": "r4", name: "a", "messages": [monday, *whole], "model": "m3"},
        {"id": "r5", name: "a", "messages": [monday, *whole], "model": "m3"},
    ]
    for path in (tmp_path / "log.jsonl", tmp_path / "log.json"):
        alone, other, grown = read(write(path, lines(*rows) if path.suffix == ".jsonl" else rows))
        assert (grown["id"], grown["messages"]) == ("a", whole)
        assert (grown["feedback"], grown["model"], grown["system"]) == ("up", "m3", "Today is Monday.")
        assert (other["id"], other["messages"]) == ("r2", turns("hi", "hello"))
        assert (alone["id"], alone["messages"]) == ("log-4", turns("hi"))


@pytest.mark.parametrize("name", ["response", "completion"])
def test_the_answer_beside_the_history_is_said_last(tmp_path: Path, name: str) -> None:
    whole = turns("hi", "hello", "and?", "more")
    answers = {"text": whole[3]["content"], "message": whole[3]}
    for kind, last in answers.items():
        rows = [{"session_id": "a", "messages": whole[:1], name: "hello" if kind == "text" else whole[1]}]
        rows.append({"session_id": "a", "messages": whole[:3], name: last})
        (row,) = read(write(tmp_path / f"{kind}.jsonl", lines(*rows)))
        assert row["messages"] == whole and name not in row
    rows = [{"messages": whole, name: "of another kind"}, {"messages": whole[:1], name: "bye"}]
    kept, answered = read(write(tmp_path / "kept.jsonl", lines(*rows)))
    assert (kept["messages"], kept[name]) == (whole, "of another kind")
    assert [message["content"] for message in answered["messages"]] == ["hi", "bye"]


@pytest.mark.parametrize("wrap", [dict, lambda said: {"id": "c", "choices": [{"message": said}]}])
def test_answers_to_tool_results_come_last(tmp_path: Path, wrap: Callable[..., Any]) -> None:
    call = {"id": "t", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    history = [*turns("Here?"), asks, {"role": "tool", "tool_call_id": "t", "content": "a cake"}]
    said = {"role": "assistant", "content": "Yes"}
    rows = [{"conversation_id": "a", "messages": history[:1], "response": wrap(asks)}]
    rows.append({"conversation_id": "a", "messages": history, "response": wrap(said)})
    (row,) = read(write(tmp_path / "log.jsonl", lines(*rows)))
    assert [message["role"] for message in row["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert row["messages"][-1] == said and "response" not in row
    repeated = {"messages": history[:2], "response": asks}
    (row,) = read(write(tmp_path / "repeated.jsonl", lines(repeated)))
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"]


def test_earlier_answers_are_not_repeated_for_missing_ones(tmp_path: Path) -> None:
    whole = turns("hi", "hello", "and?")
    rows: list[dict[str, Any]] = [{"session_id": "a", "messages": whole[:1], "response": "hello"}]
    rows.append({"session_id": "a", "messages": whole, "response": None})
    (row,) = read(write(tmp_path / "log.jsonl", lines(*rows)))
    assert row["messages"] == whole


def test_snapshot_ids_may_be_in_metadata_or_tables(tmp_path: Path) -> None:
    whole = turns("hi", "hello", "and?", "more")
    for name in ("id", "metadata"):
        rows = [{name: "a" if name == "id" else {"session_id": "a"}, "messages": whole[:length]} for length in (2, 4)]
        (row,) = read(write(tmp_path / f"{name}.jsonl", lines(*rows)))
        assert (row["id"], row["messages"]) == ("a", whole)
    with (tmp_path / "log.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["session_id", "messages"], *(["a", json.dumps(whole[:n])] for n in (2, 4))])
    assert read(tmp_path / "log.csv") == [{"id": "a", "messages": whole, "session_id": "a"}]


def test_unlike_rows_of_one_id_stay_apart(tmp_path: Path) -> None:
    histories = [turns("a", "b"), turns("a", "c", "d"), turns("e"), turns("e", "f")]
    rows = [{"conversation_id": "1", "messages": messages} for messages in histories]
    assert [row["messages"] for row in read(write(tmp_path / "log.jsonl", lines(*rows)))] == [
        turns("a", "b"),
        turns("a", "c", "d"),
        turns("e", "f"),
    ]
    rated = [{"conversation_id": "1", "messages": turns("a", "b"), "rating": rating} for rating in (1, 5)]
    assert [row["rating"] for row in read(write(tmp_path / "rated.jsonl", lines(*rated)))] == [1, 5]


def test_a_bad_row_among_snapshots_is_told(tmp_path: Path) -> None:
    good = [{"chat_id": "1", "messages": turns("a", "b", *more)} for more in ((), ("c",))]
    path = write(tmp_path / "log.jsonl", lines(good[0], {"chat_id": "1", "messages": [{"role": "user"}]}, good[1]))
    with pytest.raises(ConversationError, match=r"log.jsonl:2: message 1 has no 'content'"):
        read(path)
    assert [row["messages"] for row in read(path, on_error="skip")] == [turns("a", "b", "c")]
