from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from closeness import assert_same_vectors
from threads import torch_threads
from turnwise.encoders.embed import embed_messages, write_embeddings
from turnwise.evaluation import TaskEvaluator
from turnwise.papers.joined_contexts import JoinedContextCollator
from turnwise.papers.tried.taught_collator import TaughtCollator
from turnwise.papers.tried.unified_recipe import Unified
from turnwise.training import stages
from turnwise.training.recipes import ReplyHeadRecipe

RECIPE = Unified(batch_size=4, max_steps=6, checkpoint_steps=2, context_turns=4)


@pytest.fixture
def corpus() -> Dataset:
    return turnwise.sample_conversations(30, seed=1).select_columns(["id", "messages"])


def weights(encoder: SentenceTransformer) -> dict[str, torch.Tensor]:
    head = encoder.reply_head
    assert head is not None
    return {**encoder.state_dict(), **head.state_dict()}


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, weight in one.items():
        torch.testing.assert_close(weight, other[name], atol=1e-6, rtol=0)


def test_the_last_batch_may_have_fewer_negatives_than_asked_for(tiny_encoder, corpus) -> None:
    recipe = turnwise.papers.Unified(batch_size=29, epochs=1, negatives=9, context_turns=4)  # 29 conversations, and 1
    trained = turnwise.train(corpus, method=recipe, encoder=tiny_encoder)
    assert all(weight.isfinite().all() for weight in weights(trained).values())


def test_encoder_and_head_learn_and_are_saved(tiny_encoder, tiny_encoder_path, corpus, tmp_path: Path) -> None:
    before = {name: weight.clone() for name, weight in tiny_encoder.state_dict().items()}
    trained = turnwise.train(corpus, method=RECIPE, encoder=tiny_encoder, output=tmp_path / "model")
    assert any(not torch.equal(weight, before[name]) for name, weight in trained.state_dict().items())
    loaded = turnwise.load_encoder(tmp_path / "model", device="cpu")
    assert_same(weights(trained), weights(loaded))
    assert weights(loaded)["context"].abs().sum() > 0
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert_same_vectors(stock.encode(["my card"]), loaded.encode(["my card"]))


def test_a_stopped_run_ends_where_a_whole_one_does(tiny_encoder_path, corpus, tmp_path: Path, monkeypatch) -> None:
    original = stages.interpolate_weights

    def power_cut(*arguments):
        raise RuntimeError("power cut")

    path = str(tiny_encoder_path)
    whole = turnwise.train(corpus, method=RECIPE, encoder=path, output=tmp_path / "whole")
    monkeypatch.setattr(stages, "interpolate_weights", power_cut)
    with pytest.raises(RuntimeError, match="power cut"):
        turnwise.train(corpus, method=RECIPE, encoder=path, output=tmp_path / "cut")
    for folder in (tmp_path / "cut.run" / "training").glob("checkpoint-6"):
        (folder / "loss.safetensors").unlink()  # as if it had not been finished
    monkeypatch.setattr(stages, "interpolate_weights", original)
    resumed = turnwise.train(corpus, method=RECIPE, encoder=path, output=tmp_path / "cut", resume=True)
    assert_same(weights(whole), weights(resumed))


@pytest.fixture
def four_threads() -> Iterator[None]:
    """They finish in any order, which must not be the order in which gradients are added."""
    with torch_threads(4):
        yield


def test_with_a_teacher_a_resumed_run_is_the_same_to_the_last_bit(
    tiny_encoder_path, corpus, four_threads, tmp_path: Path, monkeypatch
) -> None:
    """Cut in the second epoch, when what was kept of the teacher in the first one is lost."""
    path, original, batches = str(tiny_encoder_path), TaughtCollator.__call__, []

    def collate(self: TaughtCollator, rows: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batches.append(rows)
        if len(batches) == 6:
            raise RuntimeError("power cut")
        return original(self, rows)

    recipe = Unified(batch_size=10, max_steps=9, checkpoint_steps=2, teacher=path)  # three epochs
    whole = turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "whole")
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power cut"):
        patch.setattr(TaughtCollator, "__call__", collate)
        turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "cut")
    assert (tmp_path / "cut.run" / "training" / "checkpoint-4").is_dir()
    expected, found = (
        weights(whole),
        weights(turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "cut", resume=True)),
    )
    assert all(torch.equal(weight, found[name]) for name, weight in expected.items())


def test_every_conversation_goes_through_the_teacher_once(tiny_encoder_path, corpus, monkeypatch) -> None:
    original, read = JoinedContextCollator.__call__, []

    def collate(self: JoinedContextCollator, rows: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        read.extend(row["messages"][0]["content"] for row in rows)
        return original(self, rows)

    monkeypatch.setattr(JoinedContextCollator, "__call__", collate)
    corpus = corpus.map(lambda row, number: {"messages": numbered(row["messages"], number)}, with_indices=True)
    path = str(tiny_encoder_path)
    turnwise.train(corpus, method=Unified(batch_size=10, epochs=3, teacher=path), encoder=path)
    assert sorted(read) == sorted(messages[0]["content"] for messages in corpus["messages"])


def numbered(messages: list[dict[str, str]], number: int) -> list[dict[str, str]]:
    """Messages whose first one no other conversation has."""
    return [{**messages[0], "content": f"order {number}"}, *messages[1:]]


def test_the_head_of_the_encoder_learns_further(tiny_encoder, corpus) -> None:
    with_head = turnwise.train(
        corpus, method=ReplyHeadRecipe(batch_size=8, epochs=2, context_turns=4), encoder=tiny_encoder
    )
    start = {name: weight.clone() for name, weight in weights(with_head).items()}
    trained = weights(turnwise.train(corpus, method=Unified(batch_size=4, max_steps=2), encoder=with_head))
    assert trained["context"].shape == start["context"].shape and trained["recency"].shape == (2, 4)
    assert not torch.equal(trained["context"], start["context"])
    assert (trained["context"] - start["context"]).abs().max() < 0.01  # two steps, no new start


def test_the_best_step_brings_its_head(tiny_encoder_path, corpus, tmp_path: Path) -> None:
    """What the evaluator measured at the best step is what the model returned has."""
    evaluator = TaskEvaluator("next-message", turnwise.sample_conversations(20, seed=2))
    recipe = Unified(batch_size=4, max_steps=6, checkpoint_steps=2, interpolation=1.0, learning_rate=1e-2)
    trained = turnwise.train(
        corpus, method=recipe, encoder=str(tiny_encoder_path), output=tmp_path / "model", evaluator=evaluator
    )
    best = json.loads((tmp_path / "model" / "training.json").read_text())["evaluations"]["best"]
    assert evaluator(trained)[evaluator.primary_metric] == pytest.approx(best)


def test_a_teacher_changes_what_is_learned(tiny_encoder_path, corpus, tmp_path: Path) -> None:
    path = str(tiny_encoder_path)
    taught = turnwise.train(corpus, method=Unified(batch_size=4, max_steps=3, teacher=path), encoder=path)
    untaught = turnwise.train(corpus, method=Unified(batch_size=4, max_steps=3), encoder=path)
    assert not torch.equal(weights(taught)["context"], weights(untaught)["context"])


def test_a_head_alone_with_a_teacher(tiny_encoder_path, corpus, tmp_path: Path) -> None:
    path = str(tiny_encoder_path)
    recipe = ReplyHeadRecipe(batch_size=8, epochs=2, teacher=path)
    taught = turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "model")
    untaught = turnwise.train(corpus, method=ReplyHeadRecipe(batch_size=8, epochs=2), encoder=path)
    assert not torch.equal(weights(taught)["context"], weights(untaught)["context"])


def test_a_teacher_needs_texts(tiny_encoder_path, corpus, tmp_path: Path) -> None:
    encoder = turnwise.load_encoder(tiny_encoder_path)
    write_embeddings(partial(embed_messages, encoder), {}, corpus, tmp_path / "vectors.parquet")
    with pytest.raises(ValueError, match="give the conversations"):
        turnwise.train(
            tmp_path / "vectors.parquet", method=ReplyHeadRecipe(teacher=str(tiny_encoder_path)), encoder=encoder
        )


@pytest.mark.parametrize("settings", [{"batch_size": 1}, {"head_learning_rate": 0.0}, {"recency_learning_rate": -1.0}])
def test_settings_out_of_range(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Unified(**settings)
