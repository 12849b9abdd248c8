import contextlib
import gzip
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chat_cases import chat, write_jsonl
from turnlens.data import conversation_files
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError


def test_reads_chat_jsonl_with_its_labels(tmp_path: Path) -> None:
    row = chat("hello", "good day", id="a", topic="greeting", score=0.5, good=True, domains=["x", "y"])
    conversations = read_conversations(write_jsonl(tmp_path / "chat.jsonl", [row]))
    assert isinstance(conversations, datasets.Dataset)
    assert conversations.column_names == ["id", "messages", "topic", "score", "good", "domains"]
    assert conversations[0] == row


def test_missing_ids_are_file_and_row(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "support.jsonl", [chat("one"), chat("two", id=7), chat("three", id=None)])
    assert list(read_conversations(path)["id"]) == ["support-1", "7", "support-3"]


def test_ids_tell_files_of_one_name_apart(tmp_path: Path) -> None:
    for name in ("a/x/chats.jsonl", "b/x/chats.jsonl", "b/other.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(tmp_path / name, [chat("one")])
    write_jsonl(tmp_path / "other.json", [chat("one")])
    ids = list(read_conversations(tmp_path)["id"])
    assert ids == ["a/x/chats.jsonl-1", "other.jsonl-1", "b/x/chats.jsonl-1", "other.json-1"]


def test_simultaneous_readers_read_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("one")])
    write, others = conversation_files.write_arrow, []

    def meanwhile(rows: Any, target: Path) -> None:
        others.append(pool.submit(read_conversations, path))
        with contextlib.suppress(TimeoutError):
            others[-1].result(timeout=0.2)  # time enough to begin
        write(rows, target)

    monkeypatch.setattr(conversation_files, "write_arrow", meanwhile)
    with ThreadPoolExecutor() as pool:
        assert len(read_conversations(path)) == 1
        assert len(others) == 1 and len(others[0].result()) == 1


def test_late_labels_fill_the_whole_column(tmp_path: Path) -> None:
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


def test_empty_lists_are_lists_of_text(tmp_path: Path) -> None:
    rows = [chat("hello", tags=[]) for _ in range(1500)] + [chat("hello", tags=["x"])]
    tags = read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))["tags"]
    assert (tags[0], tags[1500]) == ([], ["x"])


def test_null_in_a_list_of_texts_is_left_out(tmp_path: Path) -> None:
    rows = [chat("a", domains=["bank", None]), chat("a", domains=[None]), chat("a", domains=["taxi"])]
    assert read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))["domains"][:] == [["bank"], [], ["taxi"]]


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


def test_only_changed_files_are_read_again(tmp_path: Path, own_cache: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("hello", id="a")])
    first = read_conversations(path)
    again = read_conversations(path)
    assert again.cache_files == first.cache_files
    assert Path(first.cache_files[0]["filename"]).is_relative_to(own_cache)
    write_jsonl(path, [chat("hello", id="a"), chat("new", id="b")])
    assert len(read_conversations(path)) == 2


def test_files_are_read_again_after_emptying_the_cache(tmp_path: Path, own_cache: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("hello", id="a"), chat("and you", id="b")])
    first = read_conversations(path)
    folder = Path(first.cache_files[0]["filename"]).parent
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "cache-of-map.arrow").touch()
    assert read_conversations(path)["id"] == ["a", "b"]


def test_failed_reading_leaves_nothing_in_the_cache(tmp_path: Path, own_cache: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("hello")] * 1500 + [chat()])
    with pytest.raises(ConversationError):
        read_conversations(path)
    assert not any(path.is_dir() for path in (own_cache / "turnlens").iterdir())
