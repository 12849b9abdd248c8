import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors
from turnlens.encoders.embed import embed_messages, write_embeddings
from turnlens.encoders.loading import encoder_source, weights_digest
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.reply_model import ReplyModel
from turnlens.evaluation import TaskEvaluator
from turnlens.training.recipes import ReplyHeadRecipe
from turnlens.training.reply_head import EmbeddedMessages, fit_reply_head

RECIPE = ReplyHeadRecipe(batch_size=8, epochs=3, context_turns=4)
train = partial(turnlens.train, method=RECIPE)


@pytest.fixture
def corpus() -> Dataset:
    return turnlens.sample_conversations(40, seed=1).select_columns(["id", "messages"])


def weights(encoder: SentenceTransformer) -> dict[str, torch.Tensor]:
    head = encoder.reply_head
    assert head is not None
    return head.state_dict()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(weight, other[name]) for name, weight in one.items())


def test_a_head_beside_an_encoder_that_stays(tiny_encoder, tiny_encoder_path, corpus, tmp_path: Path) -> None:
    before = {name: weight.clone() for name, weight in tiny_encoder.state_dict().items()}
    trained = train(corpus, encoder=tiny_encoder, output=tmp_path / "model")
    assert same(before, trained.state_dict())
    assert same(weights(trained), weights(turnlens.load_encoder(tmp_path / "model", device="cpu")))
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert_same_vectors(stock.encode(["my card"]), tiny_encoder.encode(["my card"]))
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    assert record["level"] == "reply" and len(record["loss"]) == 3
    card = (tmp_path / "model" / "README.md").read_text()
    assert "turnlens.ReplyModel" in card and "prompt_name" not in card
    assert not list(tmp_path.glob("model.*"))  # nothing of the way is left


def test_the_last_batch_may_have_fewer_negatives(tiny_encoder) -> None:
    rows = turnlens.sample_conversations(65, seed=1)
    recipe = ReplyHeadRecipe(batch_size=64, epochs=2, negatives=9, held_out=0.0)  # 64 conversations, and 1
    trained = turnlens.train(rows, method=recipe, encoder=tiny_encoder)
    assert all(weight.isfinite().all() for weight in weights(trained).values())


@pytest.mark.parametrize("setting", ["bf16", "max_length", "gradient_accumulation_steps", "checkpoint_steps"])
def test_settings_of_running_an_encoder_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=f"reply-head has no setting '{setting}': leave it out, or choose from"):
        turnlens.training.get_recipe("reply-head", settings={setting: 2})
    with pytest.raises(TypeError, match=setting):
        ReplyHeadRecipe(**{setting: 2})


def test_the_same_seed_gives_the_same_head(tiny_encoder_path, corpus) -> None:
    one, other = (weights(train(corpus, encoder=str(tiny_encoder_path))) for _ in range(2))
    assert same(one, other)


def test_half_interpolation_lies_between_start_and_trained_head(tiny_encoder, corpus) -> None:
    table = embed_messages(tiny_encoder, corpus)
    learned, half = (fit_reply_head(table, replace(RECIPE, interpolation=share))[0] for share in (1.0, 0.5))
    start = ReplyHead(tiny_encoder.get_embedding_dimension(), RECIPE.context_turns).state_dict()
    for name, weight in half.state_dict().items():
        torch.testing.assert_close(weight, (start[name] + learned.state_dict()[name]) / 2)
    assert not same(half.state_dict(), learned.state_dict())


def test_held_out_conversations_select_the_interpolation(tiny_encoder, corpus) -> None:
    """With far too high a learning rate, the way back is better."""
    table, recipe = embed_messages(tiny_encoder, corpus), replace(RECIPE, learning_rate=0.3, held_out=0.5)
    messages = EmbeddedMessages.of(table)
    held_out = torch.randperm(40, generator=torch.Generator().manual_seed(recipe.seed))[:20]
    chosen, history = fit_reply_head(table, recipe)
    share = history[-1]["interpolation"]
    assert share < 1
    assert same(chosen.state_dict(), fit_reply_head(table, replace(recipe, interpolation=share))[0].state_dict())
    far, near = (fit_reply_head(table, replace(recipe, interpolation=part))[0] for part in (1.0, 0.1))
    ranks = [sum(messages.ranks(head, part).sum() for part in held_out.split(8)) for head in (chosen, far, near)]
    assert ranks[0] <= min(ranks)
    _, history = fit_reply_head(table, replace(recipe, held_out=0.0))
    assert history[-1]["interpolation"] == 1


def test_without_a_map_candidates_keep_their_vectors(tiny_encoder, corpus) -> None:
    table = embed_messages(tiny_encoder, corpus)
    for maps in (True, False):
        tiny_encoder.reply_head, _ = fit_reply_head(table, replace(RECIPE, map_candidates=maps))
        assert tiny_encoder.reply_head.context.any()
        assert ReplyModel(tiny_encoder).own_candidates == maps


def test_it_learns_what_follows_what(tiny_encoder) -> None:
    """Each conversation stays with one word, but that the answer to "pizza" is always "thanks"."""
    rows = []
    for number in range(60):
        word = ("card", "order", "flight", "cancel")[number % 4]
        texts = [f"{word} {number % 7}", "pizza", "thanks", f"my {word}"]
        messages = [{"role": "ab"[turn % 2], "content": text} for turn, text in enumerate(texts)]
        rows.append({"id": str(number), "messages": messages})
    table = embed_messages(tiny_encoder, Dataset.from_list(rows))
    _, history = fit_reply_head(table, ReplyHeadRecipe(batch_size=10, epochs=20, held_out=0.2))
    assert history[-1]["held_out"] < history[0]["held_out"]
    assert min(log["held_out"] for log in history) < 0.8 * history[0]["held_out"]


def test_vectors_that_are_already_there(tiny_encoder, corpus, tmp_path: Path) -> None:
    what = {"encoder": encoder_source(tiny_encoder), "weights": weights_digest(tiny_encoder)}
    path = tmp_path / "vectors.parquet"
    write_embeddings(partial(embed_messages, tiny_encoder), what, corpus, path)
    from_vectors = weights(train(path, encoder=tiny_encoder))
    assert same(from_vectors, weights(train(corpus, encoder=tiny_encoder)))
    other = SentenceTransformer(modules=list(tiny_encoder), device="cpu")
    with torch.no_grad():
        next(other.parameters()).add_(1.0)
    with pytest.raises(ValueError, match="give the encoder that made them"):
        train(path, encoder=other)


@pytest.mark.slow
def test_embedding_goes_on_where_it_was_cut_off(tiny_encoder_path, corpus, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("turnlens.encoders.embed._CONVERSATIONS_IN_PART", 10)
    original, calls = embed_messages, []

    def cut_off(encoder, rows):
        calls.append(len(rows))
        if len(calls) == 3:
            raise RuntimeError("power cut")
        return original(encoder, rows)

    monkeypatch.setattr("turnlens.training.reply_head.embed_messages", cut_off)
    path = str(tiny_encoder_path)
    with pytest.raises(RuntimeError, match="power cut"):
        train(corpus, encoder=path, output=tmp_path / "model")
    with pytest.raises(FileExistsError, match="--resume"):
        train(corpus, encoder=path, output=tmp_path / "model")
    trained = train(corpus, encoder=path, output=tmp_path / "model", resume=True)
    assert calls == [10, 10, 10, 10, 10]  # the first two parts are not embedded again
    whole = weights(train(corpus, encoder=path))  # in one part, so padded otherwise: all but the last bits
    for name, weight in weights(trained).items():
        torch.testing.assert_close(weight, whole[name], atol=1e-4, rtol=0)


def test_finished_vectors_are_taken_for_the_same_conversations_only(
    tiny_encoder_path, corpus, tmp_path, monkeypatch
) -> None:
    def cut_off(*arguments):
        raise RuntimeError("power cut")

    path, output = str(tiny_encoder_path), tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr("turnlens.training.reply_head.fit_reply_head", cut_off)
        with pytest.raises(RuntimeError, match="power cut"):
            train(corpus, encoder=path, output=output)
    with pytest.raises(ValueError, match=r"other settings, start over with --force \(conversations: was 40 .* is 30 "):
        train(corpus.select(range(30)), encoder=path, output=output, resume=True)
    monkeypatch.setattr("turnlens.training.reply_head.write_embeddings", cut_off)  # nothing is embedded again
    trained = train(corpus, encoder=path, output=output, resume=True)
    assert same(weights(trained), weights(train(corpus, encoder=path)))


def test_too_few_conversations(tiny_encoder) -> None:
    said = [{"role": "a", "content": "hello"}, {"role": "b", "content": "yes"}]
    for rows in ([{"id": "a", "messages": said}], [{"id": str(n), "messages": said[:1]} for n in range(5)]):
        with pytest.raises(ValueError, match="at least 2"):
            train(Dataset.from_list(rows), encoder=tiny_encoder)


def test_no_validation_beside_the_conversations_held_out(tiny_encoder, corpus) -> None:
    evaluator = TaskEvaluator("next-message", corpus)
    with pytest.raises(ValueError, match="held out"):
        train(corpus, encoder=tiny_encoder, evaluator=evaluator)
