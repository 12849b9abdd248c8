from __future__ import annotations

import json
import socket

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

from closeness import assert_same_vectors, rounding

pytest.importorskip("model2vec", reason="needs the extra static")
pytest.importorskip("skeletoken", reason="needs the extra static")

import turnwise
from turnwise.encoders.contexts import encode_contexts
from turnwise.encoders.identity import encoder_source, weights_digest
from turnwise.encoders.loading import load_encoder
from turnwise.encoders.message_pooling import message_tokens

TEXTS = ["i want to order a pizza", "cancel my card", "thanks", "order a pizza i want to"]


@pytest.fixture
def static(tiny_encoder, monkeypatch) -> SentenceTransformer:
    monkeypatch.setattr(socket.socket, "connect", None)  # nothing is asked of any hub
    return turnwise.distill(tiny_encoder, dimensions=16)


def test_it_is_a_stock_encoder_that_averages_tokens(tiny_encoder, tmp_path) -> None:
    turnwise.distill(tiny_encoder, dimensions=16, output=tmp_path / "static")
    stock = SentenceTransformer(str(tmp_path / "static"), device="cpu")
    assert isinstance(stock[0], StaticEmbedding) and (tmp_path / "static" / "model.safetensors").is_file()
    assert not [path for path in (tmp_path / "static").rglob("*") if path.suffix in (".bin", ".pkl", ".pt")]
    vectors = stock.encode(TEXTS)
    assert vectors.shape == (4, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=rounding())
    assert_same_vectors(vectors[0], vectors[3])  # the order of words is lost
    assert vectors[0] @ vectors[1] < 0.999
    record = json.loads((tmp_path / "static" / "training.json").read_text())
    assert record["method"] == "static" and record["weights"] == weights_digest(tiny_encoder)
    assert str(tmp_path) not in (tmp_path / "static" / "README.md").read_text()


def test_it_embeds_whatever_other_encoders_embed(tiny_encoder, tmp_path, conversations) -> None:
    static = turnwise.distill(tiny_encoder, dimensions=16, output=tmp_path / "static")
    loaded = load_encoder(tmp_path / "static", device="cpu")
    assert encoder_source(loaded) == str(tmp_path / "static")
    assert_same_vectors(loaded.encode_messages(TEXTS), static.encode(TEXTS))
    assert message_tokens(loaded, ["cancel my card", ""]).tolist() == [3, 0]
    talks = conversations["messages"][:]
    joined = [" ".join(message["content"] for message in messages) for messages in talks]
    assert_same_vectors(loaded.encode_conversations(talks), static.encode(joined))
    assert loaded.encode_conversations(talks, pooling="messages").shape == (5, 16)
    assert encode_contexts(loaded, [["my card", "thanks"], ["yes"]]).shape == (2, 16)
    with pytest.raises(ValueError, match="'interlocutor' needs a transformer: use 'mean' or 'messages'"):
        loaded.encode_conversations(talks, pooling="interlocutor")


def test_the_teacher_stays_as_it_is(tiny_encoder) -> None:
    before = weights_digest(tiny_encoder), tiny_encoder.encode(TEXTS)
    turnwise.distill(tiny_encoder)
    assert weights_digest(tiny_encoder) == before[0]
    np.testing.assert_array_equal(tiny_encoder.encode(TEXTS), before[1])


def test_what_cannot_be_distilled_is_refused(static, tiny_encoder) -> None:
    with pytest.raises(ValueError, match="contains no transformer"):
        turnwise.distill(static)
    tiny_encoder[1] = Pooling(32, "max")
    with pytest.raises(ValueError, match="pools by 'max': model2vec can distill 'mean', 'cls', 'lasttoken'"):
        turnwise.distill(tiny_encoder)
