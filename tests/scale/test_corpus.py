import json
from pathlib import Path

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest

import turnlens
from closeness import assert_same_vectors
from turnlens.scale import embed as embedder
from turnlens.scale.output import MANIFEST

from .cases import contents, manifest, texts


@pytest.fixture
def embedded(monkeypatch) -> list[str]:
    """The first ids of the shards that are embedded."""
    seen: list[str] = []
    original = embedder.Embedder.embed

    def watched(self, conversations):
        seen.append(conversations[0]["id"])
        return original(self, conversations)

    monkeypatch.setattr(embedder.Embedder, "embed", watched)
    return seen


def test_parts_hold_what_one_file_holds(embed, corpus, tiny_encoder, tmp_path) -> None:
    rows = embed(tmp_path / "out")
    conversations = turnlens.read_conversations(corpus)
    table = pq.read_table(tmp_path / "out")
    expected = [message["content"] for row in conversations for message in row["messages"]]
    assert table["text"].to_pylist() == expected and rows == len(expected)
    assert list(dict.fromkeys(table["id"].to_pylist())) == conversations["id"][:]
    vectors = np.stack(table["vector"].to_numpy(zero_copy_only=False))
    assert_same_vectors(vectors, tiny_encoder.encode_messages(expected))
    listed = manifest(tmp_path / "out")
    assert listed["complete"] and listed["rows"] == rows and listed["settings"]["level"] == "message"
    assert [part["conversations"] for part in listed["parts"]] == [10, 6] * 3
    assert {part["name"] for part in listed["parts"]} | {MANIFEST} == set(contents(tmp_path / "out"))


def test_a_run_that_was_cut_off_embeds_only_what_is_missing(embed, embedded, tmp_path, monkeypatch) -> None:
    embed(tmp_path / "whole")
    del embedded[:]
    original = embedder.ShardWriter.write

    def cut_off(self, shard):
        if (shard.file, shard.number) == (1, 1):
            raise KeyboardInterrupt
        return original(self, shard)

    monkeypatch.setattr(embedder.ShardWriter, "write", cut_off)
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "cut")
    assert len(embedded) == 3 and not manifest(tmp_path / "cut")["complete"]
    monkeypatch.setattr(embedder.ShardWriter, "write", original)
    with pytest.raises(FileExistsError, match="--resume"):
        embed(tmp_path / "cut")
    embed(tmp_path / "cut", resume=True)
    assert len(embedded) == 6
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_a_damaged_part_and_half_a_file_are_made_again(embed, embedded, tmp_path) -> None:
    embed(tmp_path / "out")
    whole = contents(tmp_path / "out")
    del embedded[:]
    part = next((tmp_path / "out").glob("part-*"))
    part.write_bytes(part.read_bytes()[:100])
    (tmp_path / "out" / f".{part.name}.123").touch()
    embed(tmp_path / "out", resume=True)
    assert len(embedded) == 1 and contents(tmp_path / "out") == whole


def test_only_what_was_added_is_embedded_wherever_it_comes(embed, embedded, corpus, tmp_path) -> None:
    embed(tmp_path / "out")
    del embedded[:]
    turnlens.sample_conversations(5, seed=1).to_json(str(corpus / "a-day-before.jsonl"))
    (corpus / "day-2.jsonl").unlink()
    embed(tmp_path / "out", resume=True)
    assert len(embedded) == 1
    embed(tmp_path / "anew")
    assert contents(tmp_path / "out") == contents(tmp_path / "anew")


def test_files_of_the_same_content_are_both_there(embed, corpus, tmp_path) -> None:
    (corpus / "day-3.jsonl").write_bytes((corpus / "day-2.jsonl").read_bytes())
    embed(tmp_path / "out")
    whole = contents(tmp_path / "out")
    assert len(manifest(tmp_path / "out")["parts"]) == 8
    assert len(texts(tmp_path / "out")) == manifest(tmp_path / "out")["rows"]
    for number in (2, 3):  # the other one does not stand for a damaged one
        next((tmp_path / "out").glob(f"part-0000{number}-0000000-*")).write_bytes(b"damaged")
        embed(tmp_path / "out", resume=True)
        assert contents(tmp_path / "out") == whole


def test_other_settings_are_refused_and_forced(embed, tmp_path) -> None:
    embed(tmp_path / "out")
    with pytest.raises(ValueError, match=r"start over with --force \(.*message"):
        embed(tmp_path / "out", level="conversation", resume=True)
    assert embed(tmp_path / "out", level="conversation", force=True) == 48
    assert pq.read_table(tmp_path / "out").column_names == ["id", "vector"]


def test_a_folder_of_something_else_is_left_alone(embed, tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").touch()
    with pytest.raises(FileExistsError, match="something other than"):
        embed(tmp_path / "out", force=True)
    assert (tmp_path / "out" / "letter.txt").exists()


def test_urls_are_read_and_written(embed, corpus, tmp_path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(corpus), "/bucket/corpus", recursive=True)
    rows = embed("memory://bucket/out", "memory://bucket/corpus/*.jsonl")
    assert embed(tmp_path / "out") == rows == embed("memory://bucket/out", "memory://bucket/corpus", resume=True)
    for part in manifest(tmp_path / "out")["parts"]:
        assert memory.cat_file(f"/bucket/out/{part['name']}") == (tmp_path / "out" / part["name"]).read_bytes()
    assert embed(f"file://{tmp_path}/third", f"file://{corpus}") == rows
    memory.rm("/bucket", recursive=True)


def test_bad_rows_stop_or_are_listed_with_their_place(embed, corpus, tmp_path, caplog) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/bucket/bad.jsonl", b'{"messages": 3}\n')
    paths = [corpus, "memory://bucket/bad.jsonl"]
    with pytest.raises(turnlens.ConversationError, match=r"^memory://bucket/bad\.jsonl:1: "):
        embed(tmp_path / "out", paths)
    embed(tmp_path / "out", paths, on_error="skip", resume=True)
    assert "skipped 1 bad rows, kept 48 conversations" in caplog.text and "memory://bucket/bad.jsonl:1" in caplog.text
    with pytest.raises(turnlens.ConversationError, match="none of its 1 rows"):
        embed(tmp_path / "none", paths[1:], on_error="skip")
    memory.rm("/bucket", recursive=True)


def test_redacted_ids_of_two_files_stay_apart(embed, tmp_path) -> None:
    messages = [{"role": "user", "content": "hello"}]
    for name in ("a", "b"):
        row = {"id": f"{name}@example.org", "messages": messages}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    embed(tmp_path / "out", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], redact="emails")
    ids = pq.read_table(tmp_path / "out")["id"].to_pylist()
    assert len(set(ids)) == 2 and not any("@" in name for name in ids)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"engine": "spark"}, "expected 'local' or 'ray'"),
        ({"level": "word"}, "expected one of message, message-with-history, message-in-context, conversation"),
        ({"paths": "-"}, "standard input"),
        ({"paths": "memory://nowhere/*.jsonl"}, "no file matches"),
    ],
)
def test_mistakes_are_told(embed, tmp_path: Path, arguments, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        embed(tmp_path / "out", **arguments)
