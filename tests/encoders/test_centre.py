from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.centre import CENTRE_FILE, add_centre, centre_of, save_centre


def test_the_centre_is_taken_away_from_whole_conversations(tiny_encoder: SentenceTransformer, conversations) -> None:
    talks = conversations["messages"][:]
    for pooling in ("mean", "messages"):
        before = unit_vectors(turnwise.encode_conversations(tiny_encoder, talks, pooling))
        centre = before.mean(0)
        add_centre(tiny_encoder, {pooling: centre})
        expected = before - centre
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        found = turnwise.encode_conversations(tiny_encoder, talks, pooling)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert found.dtype == np.float32


def test_nothing_else_is_centred(tiny_encoder: SentenceTransformer, conversations) -> None:
    talks = conversations["messages"][:]
    texts, poolings = ["my card", "thanks"], ("messages", "interlocutor")
    before = [turnwise.encode_conversations(tiny_encoder, talks, pooling) for pooling in poolings]
    vectors = turnwise.encode_utterances(tiny_encoder, texts)
    add_centre(tiny_encoder, {"mean": np.ones(32)})
    assert (turnwise.encode_utterances(tiny_encoder, texts) == vectors).all()
    for pooling, expected in zip(poolings, before):
        assert (turnwise.encode_conversations(tiny_encoder, talks, pooling) == expected).all()


def test_the_encoder_stays_stock(tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    before, names = tiny_encoder.encode("my card"), list(tiny_encoder.state_dict())
    centre = {"mean": np.linspace(-1, 1, 32, dtype=np.float32)}
    add_centre(tiny_encoder, centre)
    assert (tiny_encoder.encode("my card") == before).all() and list(tiny_encoder.state_dict()) == names
    tiny_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    save_centre(tiny_encoder, tmp_path / "model")
    assert (SentenceTransformer(str(tmp_path / "model"), device="cpu").encode("my card") == before).all()
    again = centre_of(turnwise.load_encoder(tmp_path / "model"))
    assert list(again) == ["mean"] and (again["mean"] == centre["mean"]).all()
    assert centre_of(copy.deepcopy(tiny_encoder))


def test_no_centre_where_there_is_none(tiny_encoder: SentenceTransformer, tiny_encoder_path: Path) -> None:
    assert centre_of(tiny_encoder) == centre_of(turnwise.load_encoder(tiny_encoder_path)) == {}


@pytest.mark.parametrize("mean", [np.ones(8), np.full(32, np.nan), np.ones((32, 1))])
def test_a_centre_of_other_vectors(tiny_encoder: SentenceTransformer, tmp_path: Path, mean: np.ndarray) -> None:
    with pytest.raises(ValueError, match="pooling 'mean' must be 32 finite numbers"):
        add_centre(tiny_encoder, {"mean": mean})
    tiny_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    save_file({"mean": mean}, tmp_path / "model" / CENTRE_FILE)
    with pytest.raises(ValueError, match=CENTRE_FILE):
        turnwise.load_encoder(tmp_path / "model")
