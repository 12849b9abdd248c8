from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from closeness import assert_same_vectors
from turnwise.papers.tried.local_to_global_recipe import LocalToGlobal

RECIPE = LocalToGlobal(batch_size=4, max_steps=6, learning_rate=1e-3)


@pytest.fixture
def corpus() -> Dataset:
    return turnwise.sample_conversations(24, seed=1).select_columns(["id", "messages"])


def test_the_model_is_a_stock_one_that_takes_conversations(tiny_encoder, corpus, conversations, tmp_path: Path) -> None:
    before = {name: weight.clone() for name, weight in tiny_encoder.state_dict().items()}
    trained = turnwise.train(corpus, method=RECIPE, encoder=tiny_encoder, output=tmp_path / "model")
    assert any(not torch.equal(weight, before[name]) for name, weight in trained.state_dict().items())
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    talks = conversations["messages"][:]
    assert_same_vectors(stock.encode(talks), trained.encode_conversations(talks))


def test_it_learns_from_a_sample_once(tiny_encoder, corpus, tmp_path: Path) -> None:
    turnwise.train(
        corpus, method=LocalToGlobal(batch_size=4, sample=8), encoder=tiny_encoder, output=tmp_path / "model"
    )
    assert json.loads((tmp_path / "model" / "training.json").read_text())["steps"] == 2
    with pytest.raises(ValueError, match="sample must be at least 2"):
        LocalToGlobal(sample=1)
