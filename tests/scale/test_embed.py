"""Embedding in Python, into a table or a file."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors


def test_messages_become_a_table(conversations: Dataset, tiny_encoder: SentenceTransformer) -> None:
    table = turnlens.embed(conversations, encoder=tiny_encoder).to_pandas()
    assert table.columns.tolist() == ["id", "turn", "role", "text", "vector"]
    assert table["text"].tolist() == [m["content"] for row in conversations for m in row["messages"]]
    assert_same_vectors(np.stack(table["vector"]), tiny_encoder.encode(table["text"].tolist()))


def test_conversations_become_a_table(conversations: Dataset, tiny_encoder: SentenceTransformer) -> None:
    table = turnlens.embed(conversations, encoder=tiny_encoder, level="conversation", pooling="messages")
    assert table.column_names == ["id", "vector"] and table["id"].to_pylist() == conversations["id"][:]


def test_a_file_holds_the_same_table(conversations: Dataset, tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    output = tmp_path / "vectors.parquet"
    count = turnlens.embed(conversations, encoder=tiny_encoder, output=output)
    table = turnlens.embed(conversations, encoder=tiny_encoder)
    assert count == len(table) and pq.read_table(output).equals(table)
    with pytest.raises(FileExistsError, match="--force"):
        turnlens.embed(conversations, encoder=tiny_encoder, output=output)
    assert turnlens.embed(conversations, encoder=tiny_encoder, output=output, force=True) == count


@pytest.mark.parametrize(("name", "problem"), [("chats.npy", "also read"), ("chats.txt", "expected a name ending in")])
def test_an_output_that_cannot_be_is_refused(
    name: str, problem: str, conversations: Dataset, tiny_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    conversations.to_json(str(tmp_path / "chats.jsonl"))
    with pytest.raises(ValueError, match=problem):
        turnlens.embed(tmp_path / "chats.jsonl", encoder=tiny_encoder, output=tmp_path / name)


def test_an_unknown_level_is_refused(conversations: Dataset) -> None:
    with pytest.raises(ValueError, match="level is 'word'"):
        turnlens.embed(conversations, level="word")
