"""Data larger than the disk, as docs/training.md says: one part of a stream after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset, IterableDataset, load_dataset
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise.training.recipes import DialogueCSE

RECIPE = DialogueCSE(batch_size=4, max_steps=2, max_length=16, frozen_layers=0, learning_rate=1e-3)


@pytest.fixture
def stream(tmp_path: Path) -> IterableDataset:
    path = str(tmp_path / "chats.jsonl")
    turnwise.sample_conversations(36, seed=1).select_columns(["id", "messages"]).to_json(path)
    return load_dataset("json", data_files=path, split="train", streaming=True)


def train_on_parts(stream: IterableDataset, encoder: Path, models: Path) -> SentenceTransformer:
    newest: SentenceTransformer | Path = encoder
    for number, rows in enumerate(stream.shuffle(seed=0, buffer_size=20).batch(12)):
        output = models / f"part-{number}"
        if not (output / "modules.json").is_file():
            turnwise.train(RECIPE, Dataset.from_dict(rows), newest, output, resume=True)
        newest = output
    return turnwise.load_encoder(newest, device="cpu")


def test_parts_of_a_stream_are_the_same_in_every_run(stream, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    whole = train_on_parts(stream, tiny_encoder_path, tmp_path / "whole")
    assert sorted(path.name for path in (tmp_path / "whole").glob("part-*")) == ["part-0", "part-1", "part-2"]
    given: list[list[str]] = []
    original = turnwise.train

    def cut_off(recipe, part, *others, **options):
        given.append(part["id"])
        if len(given) == 2:
            raise KeyboardInterrupt
        return original(recipe, part, *others, **options)

    monkeypatch.setattr(turnwise, "train", cut_off)
    with pytest.raises(KeyboardInterrupt):
        train_on_parts(stream, tiny_encoder_path, tmp_path / "cut")
    found = train_on_parts(stream, tiny_encoder_path, tmp_path / "cut")
    assert given[1] == given[2] and len({name for part in (given[0], *given[2:]) for name in part}) == 36
    assert all(torch.equal(a, b) for a, b in zip(found.state_dict().values(), whole.state_dict().values()))


def test_a_stream_itself_is_refused(stream, tiny_encoder_path) -> None:
    with pytest.raises(ValueError, match="train on one part of it after the other"):
        turnwise.train(RECIPE, stream, tiny_encoder_path)
