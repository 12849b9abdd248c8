import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import turnlens
from closeness import assert_same_vectors
from turnlens.encoders import embed, messages
from turnlens.encoders.history import add_history
from turnlens.encoders.onnx_encoder import OnnxEncoder

from .command_line import fail, run, succeed


def test_embedding_goes_on_where_it_was_cut_off(chats, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(embed, "_CONVERSATIONS_IN_PART", 10)
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    succeed(*arguments, tmp_path / "whole.parquet")
    embedded, seen = messages.encode_messages, []

    def cut_off(*given, **options):
        seen.append(given)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return embedded(*given, **options)

    monkeypatch.setattr(messages, "encode_messages", cut_off)
    result = run(*arguments, tmp_path / "cut.parquet")
    assert result.exit_code == 130 and "--resume" in result.output
    assert not (tmp_path / "cut.parquet").exists()
    succeed(*arguments, tmp_path / "cut.parquet", "--resume")
    assert len(seen) == 4
    assert pq.read_table(tmp_path / "cut.parquet").equals(pq.read_table(tmp_path / "whole.parquet"))
    assert not (tmp_path / "cut.parquet.run").exists()


def test_a_mistake_leaves_no_unfinished_run(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output", tmp_path / "v.csv", "--level=conversation")
    assert "no speaker 'nobody'" in fail(*arguments, "--pooling", "speaker:nobody")
    succeed(*arguments, "--pooling", "mean")


def test_the_ending_says_how_vectors_are_written(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    for ending in ("parquet", "csv", "npy"):
        succeed(*arguments, tmp_path / f"v.{ending}")
    expected = pq.read_table(tmp_path / "v.parquet").to_pylist()
    others = [{name: value for name, value in row.items() if name != "vector"} for row in expected]
    with (tmp_path / "v.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["vector"]) for row in rows] == [row["vector"] for row in expected]
    assert [row["text"] for row in rows] == [row["text"] for row in expected]
    vectors = np.load(tmp_path / "v.npy", allow_pickle=False)
    np.testing.assert_array_equal(vectors, np.array([row["vector"] for row in expected], dtype=np.float32))
    assert [json.loads(line) for line in (tmp_path / "v.jsonl").read_text(encoding="utf-8").splitlines()] == others


def test_a_name_without_ending_is_a_folder_of_parts(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    assert "Wrote" in succeed(*arguments, tmp_path / "parts")
    succeed(*arguments, tmp_path / "v.parquet")
    assert pq.read_table(tmp_path / "parts").equals(pq.read_table(tmp_path / "v.parquet"))
    assert "--resume" in fail(*arguments, tmp_path / "parts")
    assert "choose a place outside" in fail("embed", tmp_path, "--output", tmp_path / "more")


@pytest.fixture
def seen(monkeypatch) -> list[str]:
    """The texts that went through an encoder."""
    texts_seen: list[str] = []
    embed_batch = OnnxEncoder.embed_batch
    monkeypatch.setattr(
        OnnxEncoder, "embed_batch", lambda self, texts, *how: texts_seen.extend(texts) or embed_batch(self, texts, *how)
    )
    return texts_seen


def test_no_text_is_embedded_twice_unless_asked(chats, tiny_encoder_path, tmp_path, seen) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    succeed(*arguments, tmp_path / "first.parquet")
    assert len(seen) == len(set(seen)) > 0
    seen.clear()
    succeed(*arguments, tmp_path / "second.parquet")
    assert not seen
    succeed(*arguments, tmp_path / "third.parquet", "--no-cache")
    assert seen
    first, *others = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("first", "second", "third"))
    assert all(table.equals(first) for table in others)


@pytest.mark.usefixtures("attention_in_bfloat16")
def test_half_precision_is_recorded(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output", tmp_path / "v.parquet")
    succeed(*arguments, "--dtype", "bfloat16")
    record = json.loads(pq.read_schema(tmp_path / "v.parquet").metadata[b"turnlens"])
    assert record["dtype"] == "bfloat16"


def test_messages_with_history_are_sums_of_vectors_that_are_there(chats, tiny_encoder_path, tmp_path, seen) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    succeed(*arguments, tmp_path / "alone.parquet")
    seen.clear()
    succeed(*arguments, tmp_path / "history.parquet", "--level", "message-with-history")
    assert not seen
    succeed(*arguments, tmp_path / "parts", "--level", "message-with-history")
    alone, history = (pq.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in ("alone", "history"))
    turns = [len(messages) for messages in turnlens.read_conversations(chats)["messages"]]
    expected = add_history(np.array([row["vector"] for row in alone]), turns)
    assert_same_vectors([row["vector"] for row in history], expected)
    assert [row["text"] for row in history] == [row["text"] for row in alone]
    parts = pq.read_table(next((tmp_path / "parts").glob("*.parquet"))).to_pylist()
    assert_same_vectors([row["vector"] for row in parts], expected)
    head = ("train", tmp_path / "history.parquet", "--encoder", tiny_encoder_path, "--method", "reply-head")
    assert "with --level message" in " ".join(run(*head, "--output", tmp_path / "head").output.split())


def test_messages_in_context(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--level", "message-in-context", "--output")
    succeed(*arguments, tmp_path / "v.parquet")
    rows = pq.read_table(tmp_path / "v.parquet").to_pylist()
    talks = turnlens.read_conversations(chats)
    vectors = turnlens.load_encoder(tiny_encoder_path).encode_messages(talks["messages"][:], context="conversation")
    assert_same_vectors([row["vector"] for row in rows], vectors)
    assert [row["text"] for row in rows] == [m["content"] for messages in talks["messages"] for m in messages]
    succeed(*arguments, tmp_path / "parts")
    parts = pq.read_table(next((tmp_path / "parts").glob("*.parquet"))).to_pylist()
    assert [row["text"] for row in parts] == [row["text"] for row in rows]
    # What comes next must not be learned from vectors that know it.
    head = ("train", tmp_path / "v.parquet", "--encoder", tiny_encoder_path, "--method", "reply-head")
    assert "with --level message" in " ".join(run(*head, "--output", tmp_path / "head").output.split())
