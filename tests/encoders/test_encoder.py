import importlib.metadata
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling

from closeness import assert_same_vectors
from threads import torch_threads
from turnlens.encoders import loading as module
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.forward import take
from turnlens.encoders.loading import encoder_source, load_encoder, packaged_encoder
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.reply_model import ReplyModel
from turnlens.encoders.transformer import use_mean_pooling


class FakeFile:
    """An installed file as importlib.metadata describes it."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name

    def locate(self) -> Path:
        return self.path


def pretend_installed(monkeypatch, weights: Path) -> None:
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [FakeFile(weights)])


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("nothing", FileNotFoundError, "expected the folder of a saved encoder"),
        ("weights.bin", FileNotFoundError, "expected the folder of a saved encoder"),
        (".", ValueError, r"cannot load the encoder.*\n.*Give the folder of a saved encoder"),
    ],
)
def test_a_path_without_an_encoder_says_what_to_do(tmp_path, name: str, error: type[Exception], told: str) -> None:
    (tmp_path / "weights.bin").write_text("")
    with pytest.raises(error, match=told):
        load_encoder(tmp_path / name)
    with pytest.raises(ValueError, match=r"'nobody/nothing': it is not a folder[\s\S]*connect to the Hugging Face Hub"):
        load_encoder("nobody/nothing")


def test_packaged_weights_serve_without_a_hub_cache(monkeypatch, tiny_encoder_path) -> None:
    import hashlib

    weights = tiny_encoder_path / "model.safetensors"
    monkeypatch.setattr(module, "cached_folder", lambda name: None)
    monkeypatch.setattr(module, "_WEIGHTS_SHA256", hashlib.sha256(weights.read_bytes()).hexdigest())
    pretend_installed(monkeypatch, weights)
    assert load_encoder(BASE_ENCODER).get_embedding_dimension() == 32


def test_changed_packaged_weights_are_refused(monkeypatch, tmp_path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"something else")
    pretend_installed(monkeypatch, weights)
    with pytest.raises(ValueError, match="is not the published"):
        packaged_encoder()


def test_the_default_encoder_comes_with_the_package(monkeypatch) -> None:
    def not_installed(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module, "cached_folder", lambda name: None)
    monkeypatch.setattr(importlib.metadata, "files", not_installed)
    assert load_encoder().encode_messages(["Where is my parcel?"]).shape == (1, 384)


def test_the_shipped_encoder_has_learned_from_conversations() -> None:
    if packaged_encoder() is None:
        pytest.skip("the packaged encoder is not installed")
    base, shipped = load_encoder(BASE_ENCODER), load_encoder()
    texts = ["where is my parcel?", "i never got my order", "the weather is nice"]
    before, after = base.encode_messages(texts), shipped.encode_messages(texts)
    assert after[0] @ after[1] > before[0] @ before[1] and after[0] @ after[2] < after[0] @ after[1]
    assert (encoder_source(base), encoder_source(shipped)) == (BASE_ENCODER, "turnlens/encoder")
    assert base.reply_head is None and shipped.reply_head is not None
    assert not ReplyModel(shipped).own_candidates  # a store needs no second vector of each message


def test_utterances_are_embedded_once_each_and_in_order(tiny_encoder, texts_read_by) -> None:
    seen = texts_read_by(tiny_encoder)
    vectors = encode_messages(tiny_encoder, ["hello", "a card", "hello"])
    assert sorted(seen) == ["a card", "hello"]
    assert vectors.shape == (3, 32) and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert_same_vectors(vectors[1], tiny_encoder.encode("a card"))


def test_gradients_of_repeated_entries_are_deterministic() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(50, 512, generator=generator, requires_grad=True)
    rows = torch.randint(0, 50, (2000, 2), generator=generator)
    weights = torch.randn(2000, 2, 512, generator=generator)

    def gradient() -> torch.Tensor:
        (found,) = torch.autograd.grad((take(values, rows) * weights).sum(), values)
        return found

    assert torch.equal(take(values, rows), values[rows])
    assert torch.equal(take(values, rows, dim=1)[3], values[3][rows])
    with torch_threads(4):
        first = gradient()
        assert all(torch.equal(gradient(), first) for _ in range(10))
    expected = torch.zeros(50, 512).index_add(0, rows.flatten(), weights.flatten(0, 1))
    assert_same_vectors(first, expected)
    assert torch.isfinite(take(values, torch.tensor([-1]))).all()


def test_mean_pooling_drops_later_modules_except_scaling(tiny_encoder, tmp_path, caplog) -> None:
    transformer, _ = tiny_encoder
    modules = [transformer, Pooling(32, "cls"), Dense(32, 16), Normalize()]
    encoder = use_mean_pooling(SentenceTransformer(modules=modules, device="cpu"))
    assert [type(module).__name__ for module in encoder] == ["Transformer", "Pooling", "Normalize"]
    assert "Dense after pooling is left out" in caplog.text
    encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    vectors = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(["i want a pizza"])
    expected = tiny_encoder.encode(["i want a pizza"], normalize_embeddings=True)
    assert_same_vectors(vectors, expected)


def edit(path: Path, change) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


BROKEN = {
    "modules.json": [
        (lambda modules: None, ""),
        (lambda modules: [1], ""),
        (lambda modules: [{"idx": 0}], ""),
        (lambda modules: [{**modules[0], "type": "os.path"}], "not part of Sentence Transformers"),
        (lambda modules: [modules[0], {**modules[1], "path": "nowhere"}], ""),
    ],
    "config.json": [
        (lambda config: {**config, "hidden_size": 48}, "tensors .* are of another shape than in its config.json"),
        (lambda config: {**config, "hidden_size": "48"}, "hidden_size"),
        (lambda config: [], "model_type"),
    ],
    "config_sentence_transformers.json": [(lambda config: [], "")],
    "1_Pooling/config.json": [
        (lambda config: [], ""),
        (
            lambda config: {**config, "embedding_dimension": 64},
            "its pooling module is for vectors of 64 numbers, its transformer gives 32",
        ),
    ],
}


@pytest.mark.parametrize(
    ("file", "change", "message"), [(file, *case) for file, cases in BROKEN.items() for case in cases]
)
def test_files_that_do_not_fit_are_one_error(tiny_encoder_path, tmp_path, file: str, change, message: str) -> None:
    shutil.copytree(tiny_encoder_path, tmp_path / "model")
    edit(tmp_path / "model" / file, change)
    with pytest.raises(ValueError, match=f"cannot load the encoder '.*model': .*{message}"):
        load_encoder(tmp_path / "model")
