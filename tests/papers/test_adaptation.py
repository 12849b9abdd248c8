import math
import shutil

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import BertForMaskedLM

import turnlens
from turnlens.papers.adaptation import Adaptation, MaskingCollator, masked_language_model, predicting_masked_only


def test_masks_at_most_so_many_tokens_and_gives_the_others_back(tiny_encoder) -> None:
    torch.manual_seed(0)
    collate = MaskingCollator(tiny_encoder, Adaptation(mask_probability=0.6, max_predictions=3))
    rows = [{"text": "i want to order a pizza thanks card flight"}, {"text": "thanks"}] * 20
    batch = collate(rows)
    predicted = batch["labels"] != -100
    assert predicted.sum(1).max() == 3
    original = tiny_encoder.tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")["input_ids"]
    assert torch.equal(batch["labels"][predicted], original[predicted])
    assert torch.equal(batch["input_ids"][~predicted], original[~predicted])
    special = torch.isin(original, torch.tensor(tiny_encoder.tokenizer.all_special_ids))
    assert not (predicted & special).any()
    # Which ones stay is random, not the first ones of each text.
    assert predicted.nonzero()[:, 1].unique().numel() > 3


def test_the_masked_language_model_shares_the_encoder(tiny_encoder) -> None:
    model = masked_language_model(tiny_encoder)
    bert = tiny_encoder.transformers_model
    assert model.bert is bert
    assert model.cls.predictions.decoder.weight is bert.embeddings.word_embeddings.weight


def test_the_prediction_head_is_that_of_the_checkpoint(tmp_path, tiny_encoder_path, monkeypatch, caplog) -> None:
    # A checkpoint of a masked language model in the cache of the Hub.
    snapshot = tmp_path / "models--acme--tiny" / "snapshots" / "1"
    shutil.copytree(tiny_encoder_path, snapshot)
    model = BertForMaskedLM.from_pretrained(snapshot)
    torch.nn.init.normal_(model.cls.predictions.bias)
    model.save_pretrained(snapshot)
    (snapshot.parent.parent / "refs").mkdir()
    (snapshot.parent.parent / "refs" / "main").write_text("1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("acme/tiny", str(snapshot)):
        encoder = SentenceTransformer(str(snapshot), device="cpu")
        encoder.transformers_model.config._name_or_path = name
        torch.testing.assert_close(masked_language_model(encoder).cls.predictions.bias, model.cls.predictions.bias)
    assert "prediction head" not in caplog.text


@pytest.mark.parametrize("place", ["gone", "there"])
def test_a_head_that_no_checkpoint_has_is_told(tmp_path, tiny_encoder_path, place, caplog) -> None:
    encoder = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    path = tiny_encoder_path if place == "there" else tmp_path / place
    encoder.transformers_model.config._name_or_path = str(path)
    masked_language_model(encoder)
    assert f"{path} has no prediction head" in caplog.text and "with a random one" in caplog.text


def test_the_head_sees_only_the_tokens_to_predict_and_loss_and_gradients_stay(tiny_encoder) -> None:
    model = masked_language_model(tiny_encoder).eval()
    batch = MaskingCollator(tiny_encoder, Adaptation(mask_probability=0.5))([{"text": "thanks"}, {"text": "a pizza"}])

    def loss_gradient_and_tokens() -> tuple[torch.Tensor, torch.Tensor, int]:
        model.zero_grad()
        output = model(**batch)
        output.loss.backward()
        gradient = model.get_input_embeddings().weight.grad.clone()
        return output.loss.detach(), gradient, output.logits[..., 0].numel()

    loss, gradient, tokens = loss_gradient_and_tokens()
    with predicting_masked_only(model):
        loss_then, gradient_then, predicted = loss_gradient_and_tokens()
    assert predicted == (batch["labels"] != -100).sum() < tokens
    torch.testing.assert_close(loss_then, loss)
    torch.testing.assert_close(gradient_then, gradient)
    assert loss_gradient_and_tokens()[2] == tokens  # afterwards the encoder is as it was


@pytest.mark.slow
def test_adaptation_learns_to_predict_and_changes_the_encoder(tiny_encoder_path, conversations) -> None:
    def loss_after(steps: int) -> float:
        encoder = turnlens.load_encoder(tiny_encoder_path, device="cpu")
        if steps:
            how = Adaptation(max_steps=steps, learning_rate=1e-3, batch_size=8)
            encoder = turnlens.train(conversations, method=how, encoder=encoder)
            assert not torch.equal(encoder.encode("hello", convert_to_tensor=True), start)
        torch.manual_seed(0)
        model = masked_language_model(encoder).eval()
        collate = MaskingCollator(encoder, Adaptation(mask_probability=0.5))
        rows = [{"text": m["content"]} for row in conversations for m in row["messages"]]
        with torch.no_grad():
            return model(**collate(rows)).loss.item()

    start = SentenceTransformer(str(tiny_encoder_path), device="cpu").encode("hello", convert_to_tensor=True)
    before, after = loss_after(0), loss_after(40)
    assert math.isfinite(after) and after < before


def test_conversations_that_say_nothing_are_an_error(tiny_encoder) -> None:
    silent = Dataset.from_list([{"id": "a", "messages": [{"role": "a", "content": " "}]}])
    for conversations in (silent, silent.select([])):
        with pytest.raises(ValueError, match="has any text"):
            turnlens.train(conversations, method="adaptation", encoder=tiny_encoder)


def test_an_adapted_encoder_is_saved(conversations, tiny_encoder_path, tmp_path) -> None:
    how = {"method": Adaptation(max_steps=2, batch_size=8, learning_rate=1e-3), "encoder": tiny_encoder_path}
    adapted = turnlens.train(conversations, **how, output=tmp_path / "model")
    saved = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    before = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    weight, its, theirs = (next(encoder.parameters()) for encoder in (adapted, saved, before))
    assert torch.equal(weight, its) and not torch.equal(weight, theirs)
    with pytest.raises(FileExistsError, match="--force"):
        turnlens.train(conversations, **how, output=tmp_path / "model")
