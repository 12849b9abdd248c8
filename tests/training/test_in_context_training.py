import json
from pathlib import Path
from typing import Literal

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors
from turnlens.data.dataset_operations import merge_runs
from turnlens.training.recipes import InContext

RECIPE = InContext(batch_size=24, max_steps=6, learning_rate=1e-3)


@pytest.fixture
def corpus() -> Dataset:
    return turnlens.sample_conversations(24, seed=1).select_columns(["id", "messages"])


@pytest.mark.slow
def test_the_model_is_a_stock_one(tiny_encoder, corpus, tmp_path: Path) -> None:
    before = {name: weight.clone() for name, weight in tiny_encoder.state_dict().items()}
    trained = turnlens.train(corpus, method=RECIPE, encoder=tiny_encoder, output=tmp_path / "model")
    assert any(not torch.equal(weight, before[name]) for name, weight in trained.state_dict().items())
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert_same_vectors(stock.encode(["my card"]), trained.encode_messages(["my card"]))


@pytest.mark.slow
@pytest.mark.parametrize("context", ["joined", "both"])
def test_messages_alone_come_to_be_alike_as_in_context(context: Literal["joined", "both"], tiny_encoder) -> None:
    """Two texts that only their conversations tell apart from the others."""
    rows = [
        {"id": f"{kind} {number}", "messages": [opening, {"role": "b", "content": f"{answer} {number}"}]}
        for kind, answer in (("card", "thanks"), ("pizza", "the order"))
        for number in range(6)
        for opening in [{"role": "a", "content": f"i want my {kind} {kind} {kind}"}]
    ]

    def nearness(encoder: SentenceTransformer) -> float:
        thanks, order = (
            encoder.encode([f"{text} {number}" for number in range(6)]) for text in ("thanks", "the order")
        )
        return float((thanks @ thanks.T).mean() + (order @ order.T).mean() - 2 * (thanks @ order.T).mean())

    before = nearness(tiny_encoder)
    recipe = InContext(batch_size=24, max_steps=20, learning_rate=1e-3, frozen_layers=0, context=context)
    assert nearness(turnlens.train(Dataset.from_list(rows), method=recipe, encoder=tiny_encoder)) > before


def test_it_learns_from_the_messages_of_a_sample(tiny_encoder, corpus, tmp_path: Path) -> None:
    messages = sum(len(merge_runs(row)) for row in corpus.select(range(2))["messages"])
    turnlens.train(
        corpus.select(range(2)),
        method=InContext(batch_size=2, sample=2),
        encoder=tiny_encoder,
        output=tmp_path / "model",
    )
    assert json.loads((tmp_path / "model" / "training.json").read_text())["steps"] == -(-messages // 2)
