import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from closeness import assert_same_vectors
from turnlens.encoders.centre import Centre
from turnlens.encoders.messages import pool_messages


def test_hand_arithmetic() -> None:
    vectors = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
    pooled = pool_messages(vectors, np.array([3, 4, 0]), np.array([0, 2]))
    np.testing.assert_allclose(pooled, [[0.6, 0.8], [0.0, 1.0]])  # (3, 0) + (0, 4) of length 5; no token counts as one


def test_what_else_a_message_counts() -> None:
    vectors = np.array([[2.0, 0.0], [0.0, 1.0]])
    centre = Centre(np.zeros(2), np.eye(2), np.log([4.0, 3.0]))
    pooled = pool_messages(vectors, np.array([3, 3]), np.array([0]), centre)
    np.testing.assert_allclose(pooled, [[0.8, 0.6]])  # of length 1, their tokens count four and three times


def test_messages_are_weighted_by_their_tokens(tiny_encoder: SentenceTransformer, texts_read_by) -> None:
    talks = [
        [{"role": "a", "content": "i want a pizza"}, {"role": "b", "content": "thanks"}],
        [{"role": "a", "content": "thanks"}, {"role": "b", "content": "my card"}, {"role": "a", "content": "thanks"}],
    ]
    expected = []
    for talk in talks:
        units = [vector / np.linalg.norm(vector) for vector in tiny_encoder.encode([m["content"] for m in talk])]
        total = sum(len(m["content"].split()) * unit for m, unit in zip(talk, units))  # each word is one token
        expected.append(total / np.linalg.norm(total))
    seen = texts_read_by(tiny_encoder)
    vectors = tiny_encoder.encode_conversations(talks, pooling="messages")
    assert_same_vectors(vectors, expected)
    assert vectors.dtype == np.float32
    assert sorted(seen) == ["i want a pizza", "my card", "thanks"]  # each distinct message once


def test_long_messages_count_as_read(tiny_encoder: SentenceTransformer) -> None:
    tiny_encoder.max_seq_length = 10
    talk = [{"role": "a", "content": "pizza " * 50}, {"role": "b", "content": "my card"}]
    units = [vector / np.linalg.norm(vector) for vector in tiny_encoder.encode([m["content"] for m in talk])]
    expected = 10 * units[0] + 2 * units[1]
    vectors = tiny_encoder.encode_conversations([talk], pooling="messages")[0]
    assert_same_vectors(vectors, expected / np.linalg.norm(expected))


def test_nothing_and_unknown(tiny_encoder: SentenceTransformer) -> None:
    assert tiny_encoder.encode_conversations([], pooling="messages").shape == (0, 32)
    with pytest.raises(ValueError, match="'messages', 'speaker:<role>', 'interlocutor', got 'message'"):
        tiny_encoder.encode_conversations([], pooling="message")
