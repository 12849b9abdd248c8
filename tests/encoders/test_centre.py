from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.centre import CENTRE_FILE, Centre


def test_the_centre_is_taken_away_from_whole_conversations(tiny_encoder: SentenceTransformer, conversations) -> None:
    talks = conversations["messages"][:]
    for pooling in ("mean", "messages"):
        before = unit_vectors(tiny_encoder.encode_conversations(talks, pooling=pooling))
        tiny_encoder.centre = {pooling: Centre.fit(before, stretch=0)}
        expected = before - before.mean(0)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        vectors = tiny_encoder.encode_conversations(talks, pooling=pooling)
        assert_same_vectors(vectors, expected)
        assert vectors.dtype == np.float32


def test_what_is_left_is_stretched() -> None:
    vectors = np.array([[0.8, 0.6, 0.0], [0.8, -0.6, 0.0], [0.8, 0.0, 0.6], [0.8, 0.0, -0.6]])
    vectors[2:, 2] /= 6  # differ less
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centre = Centre.fit(5 * vectors, stretch=0.5)  # their length does not count
    np.testing.assert_allclose(centre.mean, units.mean(0), atol=1e-6)
    deviations = units.std(0)
    np.testing.assert_allclose(np.diag(centre.stretch), deviations, atol=1e-6)
    expected = (units - units.mean(0)) * deviations
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(centre.apply(3 * vectors), expected, atol=1e-4)


def test_nothing_else_is_centred(tiny_encoder: SentenceTransformer, conversations) -> None:
    talks = conversations["messages"][:]
    texts, poolings = ["my card", "thanks"], ("messages", "interlocutor")
    before = [tiny_encoder.encode_conversations(talks, pooling=pooling) for pooling in poolings]
    vectors = tiny_encoder.encode_messages(texts)
    tiny_encoder.centre = {"mean": Centre(np.ones(32), np.eye(32), np.zeros(32))}
    assert (tiny_encoder.encode_messages(texts) == vectors).all()
    for pooling, expected in zip(poolings, before):
        assert (tiny_encoder.encode_conversations(talks, pooling=pooling) == expected).all()


@pytest.mark.parametrize(
    ("mean", "stretch", "problem"),
    [
        (np.ones(8), np.eye(8), "for other vectors"),
        (np.ones(32), np.eye(8), "for other vectors"),
        (np.full(32, np.nan), np.eye(32), "not finite"),
    ],
)
def test_a_centre_of_other_vectors(tiny_encoder: SentenceTransformer, tmp_path: Path, mean, stretch, problem) -> None:
    with pytest.raises(ValueError, match=f"pooling 'mean' is {problem}"):
        tiny_encoder.centre = {"mean": Centre(mean, stretch, mean)}
    tiny_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    save_file({"mean.mean": mean, "mean.stretch": stretch, "mean.weight": mean}, tmp_path / "model" / CENTRE_FILE)
    with pytest.raises(ValueError, match=rf"{CENTRE_FILE}.*{problem}"):
        turnlens.load_encoder(tmp_path / "model")


def test_a_file_that_holds_something_else(tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    tiny_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    save_file({"mean": np.ones(32)}, tmp_path / "model" / CENTRE_FILE)
    with pytest.raises(ValueError, match=r"expected tensors <pooling>.mean, .* got \['mean'\]"):
        turnlens.load_encoder(tmp_path / "model")
