import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens.papers.triple_encoders.recipe import C3L, CCL
from turnlens.papers.triple_encoders.views import TOKENS, Views, token_rows, views_of
from turnlens.training.encoder_modes import learning_rows
from turnlens.training.recipes import get_recipe
from turnlens.training.train import train

SHORT = {"batch_size": 4, "max_steps": 4, "max_length": 16, "checkpoint_steps": 2, "learning_rate": 1e-3}


@pytest.fixture
def corpus() -> Dataset:
    return turnlens.sample_conversations(16, seed=1).select_columns(["id", "messages"])


@pytest.fixture
def pairs(tmp_path) -> str:
    path = tmp_path / "pairs.jsonl"
    labels = ["entailment", "neutral", "contradiction", "-"]
    rows = [
        {"premise": f"my card {n} is lost", "hypothesis": "i want a card", "label": labels[n % 4]} for n in range(20)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def words(encoder: SentenceTransformer) -> torch.Tensor:
    return encoder.transformers_model.get_input_embeddings().weight.detach()


def weights(encoder: SentenceTransformer) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in encoder.state_dict().items()}


@pytest.mark.parametrize("frozen_layers", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_only_the_new_rows_of_the_word_embeddings_learn(corpus, tiny_encoder_path, frozen_layers) -> None:
    start = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    recipe = CCL(**SHORT, frozen_layers=frozen_layers)
    recipe.prepare(start)
    vectors = train(corpus, method=recipe, encoder=tiny_encoder_path)
    new = token_rows(vectors)
    # [B1] and [B2] are for C3L.
    learned = [token for token, row in zip(TOKENS, new) if not torch.equal(words(vectors)[row], words(start)[row])]
    assert learned == ["[BEFORE]", "[AFTER]", "[E]", "[O]"]
    old = [row for row in range(len(words(start))) if row not in new]
    assert torch.equal(words(vectors)[old], words(start)[old])
    name = "0.model.encoder.layer.{}.output.dense.weight"
    moved = [not torch.equal(weights(vectors)[name.format(n)], weights(start)[name.format(n)]) for n in range(4)]
    assert moved == [n >= frozen_layers for n in range(4)]


def test_the_prefix_tokens_have_a_learning_rate_of_their_own(corpus, tiny_encoder_path) -> None:
    def moved(rate: float) -> float:
        recipe = CCL(**{**SHORT, "learning_rate": 1e-6, "max_steps": 2}, token_learning_rate=rate)
        start = SentenceTransformer(str(tiny_encoder_path), device="cpu")
        recipe.prepare(start)
        return float((words(train(corpus, method=recipe, encoder=tiny_encoder_path)) - words(start)).abs().max())

    assert moved(1e-2) > 50 * moved(1e-4)


def test_rows_learn_only_inside_the_block(tiny_encoder) -> None:
    weight = tiny_encoder.transformers_model.get_input_embeddings().weight
    weight.requires_grad = False
    with learning_rows(tiny_encoder, [3, 5]):
        (weight**2).sum().backward()
    assert weight.grad.abs().sum(1).nonzero().squeeze(1).tolist() == [3, 5]
    assert not weight.requires_grad


@pytest.mark.slow
def test_c3l_is_ccl_and_then_c3l(corpus, tiny_encoder_path, tmp_path) -> None:
    settings = {**SHORT, "max_steps": 2}
    both = train(corpus, method=C3L(**settings), encoder=tiny_encoder_path)
    assert views_of(both) == Views(triple=True, speakers=True)
    train(corpus, method=CCL(**settings), encoder=tiny_encoder_path, output=tmp_path / "ccl")
    after = train(corpus, method=C3L(**settings), encoder=tmp_path / "ccl")
    scratch = train(corpus, method=C3L(**settings, ccl_first=False), encoder=tiny_encoder_path)
    assert all(torch.equal(a, b) for a, b in zip(weights(both).values(), weights(after).values()))
    assert not all(torch.equal(a, b) for a, b in zip(weights(both).values(), weights(scratch).values()))


def test_stories_have_no_speakers(corpus, tiny_encoder_path) -> None:
    story = corpus.map(lambda row: {"messages": [{**message, "role": "text"} for message in row["messages"]]})
    encoder = train(story, method=CCL(**{**SHORT, "max_steps": 1}, speakers=False), encoder=tiny_encoder_path)
    assert views_of(encoder) == Views(triple=False, speakers=False)


def test_conversations_shorter_than_the_window_are_left_out(corpus, tiny_encoder_path) -> None:
    with pytest.raises(ValueError, match="2 conversations of 90 turns or more, got 0"):
        train(corpus, method=CCL(**SHORT, window=90), encoder=tiny_encoder_path)


@pytest.mark.slow
def test_inference_pairs_train_too(corpus, pairs, tiny_encoder_path, tmp_path) -> None:
    recipe = CCL(**SHORT, nli=pairs)
    vectors = train(corpus, method=recipe, encoder=tiny_encoder_path, output=tmp_path / "model")
    without = train(corpus, method=CCL(**SHORT), encoder=tiny_encoder_path)
    assert not all(torch.equal(a, b) for a, b in zip(weights(vectors).values(), weights(without).values()))


def test_the_model_card_shows_a_view(corpus, tiny_encoder_path, tmp_path) -> None:
    train(corpus, method=CCL(**{**SHORT, "max_steps": 1}), encoder=tiny_encoder_path, output=tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert 'prompt_name="after"' in card
    assert "Reply encoder" in card


@pytest.mark.slow
def test_the_papers_way_of_training(corpus, pairs, tiny_encoder_path, tmp_path) -> None:
    settings = {"max_steps": 4, "nli": pairs, "nli_pairs": 2, "learning_rate": 1e-3}
    start = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    for method in ("ccl", "c3l"):
        recipe = get_recipe(method, settings=settings, preset="paper")
        vectors = train(corpus, method=recipe, encoder=tiny_encoder_path, output=tmp_path / method)
        views = Views(triple=method == "c3l", speakers=True, token_order="published")
        assert views_of(vectors) == views_of(turnlens.load_encoder(tmp_path / method)) == views
        used = vectors.tokenizer("thanks")["input_ids"]
        assert not torch.equal(words(vectors)[used[1]], words(start)[used[1]])  # not the prefix tokens alone
        unused = vectors.tokenizer.mask_token_id
        assert words(vectors)[unused].norm() < words(start)[unused].norm()  # all word embeddings decay


def test_a_file_of_pairs_that_is_missing_is_noticed_before_anything_is_written(
    corpus, tiny_encoder_path, tmp_path
) -> None:
    recipe = get_recipe("c3l", settings={"nli": "pairs.jsonl"}, preset="paper")
    with pytest.raises(FileNotFoundError, match=r"pairs.jsonl: no such file .*--set nli=none"):
        train(corpus, method=recipe, encoder=tiny_encoder_path, output=tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["ccl", "c3l"])
def test_as_published_without_its_pairs_says_what_is_left_out(method, tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = get_recipe(method, preset="paper")
    assert recipe.nli is None
    assert [record.message.split(":")[0] for record in caplog.records] == ["AllNLI.tsv.gz is not in this folder"]
    Path("AllNLI.tsv.gz").touch()
    assert get_recipe(method, preset="paper").nli == "AllNLI.tsv.gz"
