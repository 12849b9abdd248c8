import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from closeness import assert_same_vectors
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.messages import encode_contexts, joined_context, sums_in_context
from turnlens.encoders.rendering import make_conversational


@pytest.mark.parametrize("separate_turns", [None, True, False])
@pytest.mark.parametrize("max_length", [64, 12])
def test_their_mean_over_tokens_is_the_joined_text(
    tiny_encoder: SentenceTransformer, conversations, separate_turns, max_length
) -> None:
    if separate_turns is not None:
        make_conversational(tiny_encoder, max_length, separate_turns)
    talks = conversations["messages"][:]
    sums, counts = sums_in_context(tiny_encoder, talks)
    starts = np.cumsum([0, *map(len, talks)])[:-1]
    means = np.add.reduceat(sums, starts) / np.add.reduceat(counts, starts)[:, None]
    expected = tiny_encoder.encode_conversations(talks, pooling="mean", long="window")
    means /= np.linalg.norm(means, axis=1, keepdims=True) / np.linalg.norm(expected, axis=1, keepdims=True)
    assert_same_vectors(means, expected)


def test_each_message_is_pooled_from_its_own_tokens(tiny_encoder: SentenceTransformer) -> None:
    talk = [{"role": "a", "content": "i want a pizza"}, {"role": "b", "content": "thanks"}]
    features = tiny_encoder.preprocess(["i want a pizza thanks"])
    with torch.inference_mode():
        tokens = tiny_encoder(features)["token_embeddings"][0].numpy()  # [CLS] i want a pizza thanks [SEP]
    expected = np.stack([tokens[:5].mean(0), tokens[5:].mean(0)])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    vectors = tiny_encoder.encode_messages([talk], context="conversation")
    assert_same_vectors(vectors, expected)
    assert vectors.dtype == np.float32


def test_nothing_said(tiny_encoder: SentenceTransformer) -> None:
    talk = [{"role": "a", "content": "thanks"}, {"role": "b", "content": ""}]
    assert np.linalg.norm(tiny_encoder.encode_messages([talk], context="conversation"), axis=1).round(5).tolist() == [
        1,
        0,
    ]
    with pytest.raises(ValueError, match="empty"):
        tiny_encoder.encode_messages([[]], context="conversation")


def test_a_static_encoder_has_no_context(tiny_encoder: SentenceTransformer) -> None:
    table = StaticEmbedding(tiny_encoder.tokenizer.backend_tokenizer, embedding_dim=8)
    static = ConversationEncoder(modules=[table], device="cpu")
    with pytest.raises(ValueError, match="need a transformer"):
        static.encode_messages([[{"role": "a", "content": "thanks"}]], context="conversation")


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_the_most_recent_turn_stands_last() -> None:
    assert joined_context(["hello", "to paris", "thanks"], "[SEP]") == "hello [SEP] to paris [SEP] thanks"
    assert joined_context(["hello", "thanks"], None) == "hello\nthanks"
    assert joined_context(["hello"], "[SEP]") == "hello"


def test_joined_contexts_equal_stock_vectors_of_joined_texts(tiny_encoder) -> None:
    vectors = encode_contexts(tiny_encoder, [["hello", "thanks"], ["order"], ["hello", "thanks"]])
    expected = [unit(tiny_encoder.encode(text)) for text in ("hello [SEP] thanks", "order", "hello [SEP] thanks")]
    assert_same_vectors(vectors, expected)


def test_a_long_context_keeps_the_newest_words(tiny_encoder) -> None:
    newest = [*["card"] * 50, "my pizza"]  # with the separators more than the 64 tokens the encoder takes
    one, older_differs, newest_differs = encode_contexts(
        tiny_encoder, [["hello", *newest], ["thanks", *newest], ["hello", *newest[:-1], "my flight"]]
    )
    assert_same_vectors(one, older_differs)
    assert np.abs(one - newest_differs).max() > 1e-3
    assert tiny_encoder.tokenizer.truncation_side == "right"  # utterances still lose their last words


def test_no_contexts_give_no_rows(tiny_encoder) -> None:
    assert encode_contexts(tiny_encoder, []).shape == (0, 32)
