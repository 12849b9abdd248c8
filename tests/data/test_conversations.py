"""Reading, cleaning, splitting and converting conversations."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import turnwise.data.conversations as conversations_module
from turnwise.data.conversations import (
    convert_conversations,
    drop_empty_messages,
    keep_long_enough,
    merge_consecutive_messages,
    read_conversations,
    split_conversations,
)
from turnwise.errors import ConversationError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return cache


def chat(*contents: str, **labels: Any) -> dict[str, Any]:
    """A conversation of alternating roles."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(contents)]
    return {**labels, "messages": messages}


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_reads_chat_jsonl_with_its_labels(tmp_path: Path) -> None:
    row = chat("hello", "good day", id="a", topic="greeting", score=0.5, good=True, domains=["x", "y"])
    conversations = read_conversations(write_jsonl(tmp_path / "chat.jsonl", [row]))
    assert isinstance(conversations, datasets.Dataset)
    assert conversations.column_names == ["id", "messages", "topic", "score", "good", "domains"]
    assert conversations[0] == row


def test_missing_ids_come_from_the_file_and_row_and_numbers_become_text(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "support.jsonl", [chat("one"), chat("two", id=7), chat("three", id=None)])
    assert list(read_conversations(path)["id"]) == ["support-1", "7", "support-3"]


def test_ids_tell_files_of_one_name_apart(tmp_path: Path) -> None:
    for name in ("a/x/chats.jsonl", "b/x/chats.jsonl", "b/other.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(tmp_path / name, [chat("one")])
    write_jsonl(tmp_path / "other.json", [chat("one")])
    ids = list(read_conversations(tmp_path)["id"])
    assert ids == ["a/x/chats.jsonl-1", "other.jsonl-1", "b/x/chats.jsonl-1", "other.json-1"]


def test_of_two_that_read_at_once_one_does_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("one")])
    write, others = conversations_module.write_arrow, []

    def meanwhile(rows: Any, target: Path) -> None:
        others.append(pool.submit(read_conversations, path))
        with contextlib.suppress(TimeoutError):
            others[-1].result(timeout=0.2)  # time enough to begin
        write(rows, target)

    monkeypatch.setattr(conversations_module, "write_arrow", meanwhile)
    with ThreadPoolExecutor() as pool:
        assert len(read_conversations(path)) == 1
        assert len(others) == 1 and len(others[0].result()) == 1


def test_message_labels_are_kept(tmp_path: Path) -> None:
    row = chat("book a table", "where?")
    row["messages"][0]["intent"] = "reserve"
    messages = read_conversations(write_jsonl(tmp_path / "chat.jsonl", [row]))[0]["messages"]
    assert [message["intent"] for message in messages] == ["reserve", None]


def test_labels_that_come_late_or_are_null_first_fill_the_whole_column(tmp_path: Path) -> None:
    rows = [chat("hello", "hi", id=str(i), topic=None) for i in range(2500)]
    rows[1200]["topic"] = "late"
    rows[2200]["score"] = 3
    rows[2300]["score"] = 0.5
    rows[2400]["messages"][1]["act"] = "greet"
    conversations = read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))
    assert conversations.column_names == ["id", "messages", "topic", "score"]
    assert conversations[0]["topic"] is None
    assert conversations[1200]["topic"] == "late"
    assert [conversations[i]["score"] for i in (0, 2200, 2300)] == [None, 3.0, 0.5]
    assert conversations[2400]["messages"][1]["act"] == "greet"
    assert conversations[0]["messages"][1] == {"role": "assistant", "content": "hi", "act": None}
    assert list(conversations["id"]) == [str(i) for i in range(2500)]


def test_lists_that_are_empty_at_first_are_lists_of_text(tmp_path: Path) -> None:
    rows = [chat("hello", tags=[]) for _ in range(1500)] + [chat("hello", tags=["x"])]
    tags = read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))["tags"]
    assert (tags[0], tags[1500]) == ([], ["x"])


def test_nested_labels_become_json_text(tmp_path: Path) -> None:
    row = chat("hello", meta={"lang": "fr", "né": 1})
    meta = read_conversations(write_jsonl(tmp_path / "chat.jsonl", [row]))[0]["meta"]
    assert json.loads(meta) == {"lang": "fr", "né": 1}


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_gzip_and_byte_order_mark(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"chat{ending}.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(chat("héllo 你好")).encode()))
    conversations = read_conversations(path)
    assert conversations[0]["messages"][0]["content"] == "héllo 你好"
    assert conversations[0]["id"] == "chat-1"


@pytest.mark.parametrize("packed", [False, True])
def test_parquet(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "chat.parquet"
    pq.write_table(pa.Table.from_pylist([chat("hello", "hi", id="a", n=1)]), path)
    if packed:
        data = gzip.compress(path.read_bytes())
        path = tmp_path / "chat.parquet.gz"
        path.write_bytes(data)
    assert read_conversations(path)[0] == chat("hello", "hi", id="a", n=1)


def test_folders_globs_and_lists_of_paths(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    first = write_jsonl(tmp_path / "in" / "b.jsonl", [chat("b", id="b")])
    write_jsonl(tmp_path / "in" / "deep" / "a.jsonl", [chat("a", id="a")])
    (tmp_path / "in" / "deep" / ".git").mkdir()
    for hidden in (tmp_path / "in" / ".hidden.jsonl", tmp_path / "in" / "deep" / ".git" / "x.jsonl"):
        write_jsonl(hidden, [chat("h", id="h")])
    (tmp_path / "in" / "README.md").write_text("not a conversation")
    ids = {
        "folder": read_conversations(tmp_path / "in")["id"],
        "glob": read_conversations(str(tmp_path / "in" / "*"))["id"],
        "deep glob": read_conversations(str(tmp_path / "in" / "**" / "*.jsonl"))["id"],
        "list": read_conversations([first, tmp_path / "in"])["id"],
    }
    assert {name: list(column) for name, column in ids.items()} == {
        "folder": ["b", "a"],
        "glob": ["b"],
        "deep glob": ["b", "a"],
        "list": ["b", "a"],
    }


def test_reading_again_opens_the_cached_file_and_a_changed_file_is_read_anew(tmp_path: Path, own_cache: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("hello", id="a")])
    first = read_conversations(path)
    again = read_conversations(path)
    assert again.cache_files == first.cache_files
    assert Path(first.cache_files[0]["filename"]).is_relative_to(own_cache)
    write_jsonl(path, [chat("hello", id="a"), chat("new", id="b")])
    assert len(read_conversations(path)) == 2


def test_failed_reading_leaves_nothing_in_the_cache(tmp_path: Path, own_cache: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("hello")] * 1500 + [chat()])
    with pytest.raises(ConversationError):
        read_conversations(path)
    assert not any(path.is_dir() for path in (own_cache / "turnwise").iterdir())


GOOD = json.dumps(chat("hello"))
BAD_LINES = {
    '{"messages": [': "malformed JSON",
    "[1, 2]": "expected a JSON object",
    '{"text": "hello"}': "expected a list of",
    '{"messages": "hello"}': "expected a list of",
    '{"messages": []}': "no messages",
    '{"messages": ["hello"]}': "message 1 is",
    '{"messages": [{"role": "user"}]}': "no 'content'",
    '{"messages": [{"role": "user", "content": 7}]}': "message 1 has 7",
    '{"messages": [{"role": "user", "content": null}]}': "message 1 has null",
    '{"messages": [{"role": "user", "content": [{"type": "image"}]}]}': "part",
    '{"messages": [{"role": 3, "content": "x"}]}': "under 'role'",
    '{"messages": [{"role": "", "content": "x"}]}': "under 'role'",
    '{"messages": [{"content": "x"}]}': "no 'role'",
    '{"messages": [{"role": "user", "content": "\\ud800"}]}': "not UTF-8",
    '{"messages": [{"role": "user", "content": "x"}], "n": 99999999999999999999}': "64 bits",
}


@pytest.mark.parametrize(("line", "problem"), BAD_LINES.items())
def test_a_bad_row_is_one_error_with_its_file_and_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n{GOOD}\n", encoding="utf-8")
    with pytest.raises(ConversationError) as caught:
        read_conversations(path)
    assert caught.value.where == f"{path}:3"
    assert problem in caught.value.problem
    assert len(read_conversations(path, on_error="skip")) == 2


def test_a_line_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(f"{GOOD}\n".encode() + GOOD.replace("hello", "é").encode("utf-16-le") + f"\n{GOOD}".encode())
    with pytest.raises(ConversationError, match=r"chat\.jsonl:2: "):
        read_conversations(path)
    path.write_bytes(GOOD.encode() + b'\n{"messages": "\xff"}\n')
    with pytest.raises(ConversationError, match=r"chat\.jsonl:2: not UTF-8"):
        read_conversations(path)


def test_a_bad_row_of_a_json_array_is_named_by_row(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([chat("hello"), chat()]), encoding="utf-8")
    with pytest.raises(ConversationError, match=r"chat\.json: row 2: the conversation has no messages"):
        read_conversations(path)


def test_numbers_that_fit_no_common_type_are_one_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("a", score=2**60), chat("a", score=0.5)])
    with pytest.raises(ConversationError, match="a label has values that fit no common type"):
        read_conversations(path)


def test_a_label_of_two_types_is_one_error_naming_it(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("a", score=1)] * 1500 + [chat("a", score="high")])
    with pytest.raises(ConversationError, match=r"chat\.jsonl:1501: label 'score' is text here but a number"):
        read_conversations(path)


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("chat.jsonl", b"", "empty"),
        ("chat.jsonl", b"\n\n", "empty"),
        ("chat.json", b"[]", "empty"),
        ("chat.csv", b"conversation_id,speaker,text\n", "empty"),
        ("chat.json", b'[{"messages": [', "malformed JSON"),
        ("chat.json", b'[{"messages": "\xff"}]', "not UTF-8"),
        ("chat.jsonl.gz", gzip.compress(GOOD.encode() * 50)[:-9], "cut off"),
        ("chat.jsonl.gz", GOOD.encode(), "not a gzip file"),
        ("chat.parquet", GOOD.encode(), "Parquet"),
        ("chat.docx", GOOD.encode(), "unknown ending '.docx'"),
        ("chat.jsonl", b'{"utterance_list": 1}\n', "could not detect the format: found the columns or keys utt"),
        ("chat.txt", b"just a line\n", "could not detect the format: found 'just a line"),
        ("chat.csv", b"who,what\na,b\n", "found the columns or keys what, who"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConversationError) as caught:
        read_conversations(tmp_path / name)
    assert caught.value.where.startswith(str(tmp_path / name))
    assert problem in caught.value.problem


def test_a_quote_that_is_never_closed_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text(
        'conversation_id,speaker,text\n1,user,hello\n2,user,"never closed\n3,user,"fine"\n', encoding="utf-8"
    )
    with pytest.raises(ConversationError, match=r"chat\.csv:3: malformed table, most likely a quote"):
        read_conversations(path)


def test_messages_that_call_tools_may_say_nothing(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "search"}}]}
    row = {"messages": [{"role": "user", "content": "find it"}, call, {"role": "tool", "content": "found"}]}
    messages = read_conversations(write_jsonl(tmp_path / "chat.jsonl", [row]))[0]["messages"]
    assert [message["content"] for message in messages] == ["find it", "", "found"]


def test_an_unknown_format_and_unknown_paths_are_errors_that_help(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"known are auto, chat, .*table"):
        read_conversations(tmp_path, format="chatt")
    for nothing in (tmp_path / "missing.jsonl", tmp_path, str(tmp_path / "*.jsonl")):
        with pytest.raises(ConversationError, match="found no conversations"):
            read_conversations(nothing)
    with pytest.raises(ConversationError, match="no path"):
        read_conversations([])
    with pytest.raises(ValueError, match="on_error"):
        read_conversations(tmp_path, on_error="ignore")  # type: ignore[arg-type]


def test_skipping_keeps_the_rest_and_reports_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("good", id="a"), *[chat()] * 25, chat("good", id="b")])
    for _ in range(2):  # the second reading comes from the cache
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="turnwise"):
            conversations = read_conversations(path, on_error="skip")
        assert list(conversations["id"]) == ["a", "b"]
        assert "skipped 25 bad rows, kept 2 conversations" in caplog.text
        assert f"{path}:2: the conversation has no messages" in caplog.text
        assert f"{path}:21: " in caplog.text
        assert f"{path}:22: " not in caplog.text
        assert "... and 5 more" in caplog.text


def test_skipping_leaves_out_whole_files_and_keeps_what_came_before_damage(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [chat("good", id="a")])
    (tmp_path / "b.jsonl").write_text("")
    write_jsonl(tmp_path / "c.jsonl", [{"schema": 1}])
    (tmp_path / "d.json").write_text(json.dumps([chat("good", id="d"), chat("cut")])[:-9])
    assert list(read_conversations(tmp_path, on_error="skip")["id"]) == ["a", "d"]


def test_skipping_everything_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat(), chat()])
    with pytest.raises(ConversationError, match=r"none of its 2 rows .*chat\.jsonl:1: "):
        read_conversations(path, on_error="skip")


def test_merging_joins_neighbours_of_one_role() -> None:
    messages = [
        {"role": "a", "content": "one", "intent": "x"},
        {"role": "a", "content": "two", "intent": "y"},
        {"role": "b", "content": "three", "intent": None},
        {"role": "a", "content": "four", "intent": None},
    ]
    conversations = datasets.Dataset.from_list([{"id": "c", "messages": messages, "topic": "t"}])
    merged = merge_consecutive_messages(conversations, separator=" / ")
    assert merged[0] == {
        "id": "c",
        "messages": [{**messages[0], "content": "one / two"}, messages[2], messages[3]],
        "topic": "t",
    }


def test_merging_leaves_a_story_of_one_role_as_it_is() -> None:
    story = {"id": "s", "messages": [{"role": "narrator", "content": text} for text in ("Once .", "Then .", "End .")]}
    talk = {"id": "t", "messages": [*story["messages"], {"role": "reader", "content": "Why ?"}]}
    merged = merge_consecutive_messages(datasets.Dataset.from_list([story, talk]))
    assert merged[0] == story
    assert [message["content"] for message in merged[1]["messages"]] == ["Once . Then . End .", "Why ?"]


def test_dropping_empty_messages_and_short_conversations() -> None:
    rows = [chat("  hello ", " \n", "bye", id="a"), chat(" ", "", id="b"), chat("one", id="c")]
    kept = drop_empty_messages(datasets.Dataset.from_list(rows))
    assert [[message["content"] for message in row["messages"]] for row in kept] == [["hello", "bye"], ["one"]]
    assert list(keep_long_enough(kept)["id"]) == ["a"]
    assert list(keep_long_enough(kept, min_turns=1)["id"]) == ["a", "c"]
    with pytest.raises(ValueError, match="min_turns"):
        keep_long_enough(kept, min_turns=0)


def test_cleaning_works_in_a_chain_after_reading(tmp_path: Path) -> None:
    rows = [chat("a", " ", "b", "c", id="joined"), chat("a", "b", id="kept"), chat("a", " ", id="short")]
    conversations = read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))
    cleaned = keep_long_enough(merge_consecutive_messages(drop_empty_messages(conversations)))
    contents = {row["id"]: [message["content"] for message in row["messages"]] for row in cleaned}
    assert contents == {"joined": ["a b", "c"], "kept": ["a", "b"]}


def test_splits_depend_on_the_id_only() -> None:
    rows = [chat("hello", "hi", id=f"conversation-{i}") for i in range(2000)]
    whole = split_conversations(datasets.Dataset.from_list(rows))
    part = split_conversations(datasets.Dataset.from_list(rows[::-3]))
    ids = {name: set(split["id"]) for name, split in whole.items()}
    assert sum(map(len, ids.values())) == len(set.union(*ids.values())) == 2000
    assert 0.77 < len(ids["train"]) / 2000 < 0.83
    assert 0.08 < len(ids["dev"]) / 2000 < 0.12
    for name, split in part.items():
        assert set(split["id"]) <= ids[name]
    # pinned: must never change, or published splits would
    pinned = split_conversations(datasets.Dataset.from_list(rows[:6]))
    assert {name: [identifier[-1] for identifier in split["id"]] for name, split in pinned.items()} == {
        "train": ["1", "2", "3"],
        "dev": ["0", "4", "5"],
        "test": [],
    }


def test_split_fractions_are_checked_and_may_be_zero() -> None:
    conversations = datasets.Dataset.from_list([chat("hello", id=str(i)) for i in range(50)])
    splits = split_conversations(conversations, train=0.9, dev=0.1, test=0.0)
    assert len(splits["test"]) == 0
    assert len(splits["train"]) + len(splits["dev"]) == 50
    for fractions in ((0.8, 0.1, 0.2), (1.2, -0.1, -0.1)):
        with pytest.raises(ValueError, match="add up to 1"):
            split_conversations(conversations, *fractions)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_converting_writes_chat_jsonl_that_reads_back_the_same(tmp_path: Path, name: str) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("né", "hi", id="a", topic="t"), chat("x", id="b", topic=None)])
    output = tmp_path / name
    assert convert_conversations(source, output) == 2
    assert read_conversations(output).to_list() == read_conversations(source).to_list()
    text = (gzip.decompress(output.read_bytes()) if name.endswith("gz") else output.read_bytes()).decode()
    assert [json.loads(line) for line in text.splitlines()][1] == chat("x", id="b")
    assert "né" in text


def test_converting_refuses_to_overwrite_unless_forced(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello", id="a")])
    output = write_jsonl(tmp_path / "out.jsonl", [chat("old", id="old")])
    with pytest.raises(FileExistsError):
        convert_conversations(source, output)
    assert convert_conversations(source, output, force=True) == 1
    assert read_jsonl(output) == [chat("hello", id="a")]
    with pytest.raises(ValueError, match=r"\.jsonl"):
        convert_conversations(source, tmp_path / "out.csv")


def test_converting_that_fails_midway_leaves_nothing(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello")] * 50 + [chat()])
    with pytest.raises(ConversationError):
        convert_conversations(source, tmp_path / "out" / "chat.jsonl")
    assert not any((tmp_path / "out").iterdir())
    assert convert_conversations(source, tmp_path / "out" / "chat.jsonl", on_error="skip") == 50


def test_converting_that_is_interrupted_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        yield chat("new", id="new")
        raise KeyboardInterrupt

    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello")])
    output = write_jsonl(tmp_path / "out.jsonl", [chat("old", id="old")])
    monkeypatch.setattr("turnwise.data.conversations.read_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert_conversations(source, output, force=True)
    assert read_jsonl(output) == [chat("old", id="old")]
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "out.jsonl"]  # noqa: PTH208
