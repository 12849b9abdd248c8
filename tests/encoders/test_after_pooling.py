"""A projection that an encoder has learned, in all the ways in which it embeds."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from turnlens.encoders.context_projection import ContextProjection
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.transformer import add_projection, use_mean_pooling

TEXTS = ["where is my parcel", "hi", "i cancel the order", "thanks"]
ALONE = [[{"role": "user", "content": text}] for text in TEXTS]


@pytest.fixture
def projection() -> ContextProjection:
    drawn = np.random.default_rng(0)
    matrix = np.eye(32) + drawn.normal(size=(32, 32)) / 10
    return ContextProjection(drawn.normal(size=32).astype(np.float32) / 10, matrix.astype(np.float32), 100)


def test_every_way_of_embedding_projects(tiny_encoder, projection, tmp_path) -> None:
    before = tiny_encoder.encode_messages(TEXTS)
    whole = tiny_encoder.encode_conversations(ALONE)
    add_projection(tiny_encoder, projection)
    tiny_encoder.save(str(tmp_path / "model"))
    for encoder in (tiny_encoder, ConversationEncoder(str(tmp_path / "model"), device="cpu")):
        np.testing.assert_allclose(encoder.encode_messages(TEXTS), projection(before), atol=1e-5)
        np.testing.assert_allclose(encoder.encode_conversations(ALONE), projection(whole), atol=1e-5)
        np.testing.assert_allclose(encoder.encode_messages(ALONE, context="conversation"), projection(whole), atol=1e-5)
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(stock.encode(TEXTS), projection(before), atol=1e-5)


def test_a_message_without_tokens_stays_zero_in_context(tiny_encoder, projection) -> None:
    add_projection(tiny_encoder, projection)
    talk = [{"role": "user", "content": "hi"}, {"role": "agent", "content": ""}, {"role": "user", "content": "bye"}]
    lengths = np.linalg.norm(tiny_encoder.encode_messages([talk], context="conversation"), axis=1)
    np.testing.assert_allclose(lengths, [1, 0, 1], atol=1e-5)


def test_a_training_starts_without_it(tiny_encoder, projection) -> None:
    tiny_encoder.append(Normalize())
    before = tiny_encoder.encode_messages(TEXTS)
    modules = [type(module) for module in tiny_encoder]
    add_projection(tiny_encoder, projection)
    use_mean_pooling(tiny_encoder)
    assert [type(module) for module in tiny_encoder] == modules
    np.testing.assert_allclose(tiny_encoder.encode_messages(TEXTS), before, atol=1e-6)
