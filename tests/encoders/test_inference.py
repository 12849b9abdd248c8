"""Vectors are those of stock ``encode``, whatever modules an encoder has."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from closeness import assert_same_vectors
from turnlens import _compat
from turnlens.encoders.inference import inference
from turnlens.encoders.messages import encode_messages
from turnlens.papers.triple_encoders.views import add_views, encode_view

TEXTS = [
    "i want to order a pizza",
    "thanks",
    "",
    "my card is lost, " * 30,  # beyond the encoder's limit
    "cancel the flight",
    *(f"{'please ' * (number % 7)}order {number}" for number in range(60)),
    "thanks",
]


def pooled(encoder: SentenceTransformer, mode: str) -> None:
    encoder[1] = Pooling(32, mode)


def projected(encoder: SentenceTransformer) -> None:
    encoder.append(Dense(32, 16))
    encoder.append(Normalize())


def prompted(encoder: SentenceTransformer) -> None:
    encoder[1] = Pooling(32, "mean", include_prompt=False)
    encoder.prompts, encoder.default_prompt_name = {"query": "i want: "}, "query"


def truncated(encoder: SentenceTransformer) -> None:
    encoder.truncate_dim = 8


def chatting(encoder: SentenceTransformer) -> None:
    encoder.tokenizer.chat_template = (
        "{{ cls_token }}{% for m in messages %}{{ m['content'] }}{{ sep_token }}{% endfor %}"
    )
    _compat.accept_messages(encoder)


CHANGES: dict[str, Callable[[SentenceTransformer], None]] = {
    "as it is": lambda encoder: None,
    **{mode: lambda encoder, mode=mode: pooled(encoder, mode) for mode in Pooling.POOLING_MODES},
    "dense and normalised": projected,
    "prompt": prompted,
    "truncated": truncated,
    "chat template": chatting,
}


@pytest.mark.parametrize("change", CHANGES)
def test_vectors_are_those_of_the_stock_method(tiny_encoder, change) -> None:
    CHANGES[change](tiny_encoder)
    vectors = encode_messages(tiny_encoder, TEXTS)
    assert vectors.dtype == np.float32
    assert_same_vectors(vectors, tiny_encoder.encode(TEXTS))


@pytest.mark.parametrize("batch_size", (1, 7))
def test_the_size_of_a_batch_changes_nothing(tiny_encoder, batch_size) -> None:
    vectors = encode_messages(tiny_encoder, TEXTS, batch_size=batch_size)
    assert_same_vectors(vectors, encode_messages(tiny_encoder, TEXTS))


def test_a_named_prompt_is_put_before_each_text(tiny_encoder) -> None:
    add_views(tiny_encoder, "ccl")
    expected = tiny_encoder.encode(TEXTS, prompt_name="after")
    assert_same_vectors(encode_view(tiny_encoder, TEXTS, "after"), expected)
    with pytest.raises(ValueError, match=r"no prompt 'nothing', only the prompts .*after"):
        encode_messages(tiny_encoder, TEXTS, prompt_name="nothing")


def test_a_static_encoder_embeds_by_its_own_method() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "card": 1, "pizza": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    encoder = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")
    np.testing.assert_array_equal(encode_messages(encoder, TEXTS), encoder.encode(TEXTS))


def test_left_padding_is_left_to_the_stock_method(tiny_encoder, monkeypatch) -> None:
    tiny_encoder.tokenizer.padding_side = "left"
    seen: list[str] = []
    encode = tiny_encoder.encode
    monkeypatch.setattr(tiny_encoder, "encode", lambda texts, **how: seen.extend(texts) or encode(texts, **how))
    assert encode_messages(tiny_encoder, TEXTS).shape == (len(TEXTS), 32)
    assert sorted(seen) == sorted(set(TEXTS))


def test_slices_hold_texts_of_similar_length_and_bounded_size(tiny_encoder, monkeypatch) -> None:
    seen: list[torch.Tensor] = []
    forward = tiny_encoder.forward
    monkeypatch.setattr(
        tiny_encoder, "forward", lambda features: seen.append(features["attention_mask"]) or forward(features)
    )
    tiny_encoder.encode_texts(TEXTS * 20, batch_size=100)
    tokens, padded = sum(int(mask.sum()) for mask in seen), sum(mask.numel() for mask in seen)
    assert all(len(mask) <= 100 and mask.numel() <= 2048 for mask in seen) and sum(map(len, seen)) == 20 * len(TEXTS)
    assert padded < 1.15 * tokens


@pytest.mark.usefixtures("attention_in_bfloat16")
def test_half_precision_is_near(tiny_encoder, conversations) -> None:
    tiny_encoder.append(Normalize())
    talks = conversations["messages"][:]
    for embed, inputs in ((tiny_encoder.encode_messages, TEXTS), (tiny_encoder.encode_conversations, talks)):
        exact, half = embed(inputs), embed(inputs, dtype="bfloat16")
        assert half.dtype == np.float32 and np.abs(half - exact).max() > 0
        assert (half * exact).sum(1).min() > 0.99
    with pytest.raises(ValueError, match="dtype must be 'bfloat16', 'float16' or None, got 'int8'"):
        encode_messages(tiny_encoder, TEXTS, dtype="int8")


@pytest.mark.usefixtures("attention_in_bfloat16")
def test_a_half_precision_encoder_gives_float32(tiny_encoder_path: Path) -> None:
    encoder = SentenceTransformer(str(tiny_encoder_path), device="cpu", model_kwargs={"dtype": torch.bfloat16})
    assert encode_messages(encoder, TEXTS).dtype == np.float32


def test_progress_counts_every_text(tiny_encoder) -> None:
    counts: list[int] = []
    tiny_encoder.encode_texts(TEXTS * 20, advance=counts.append)
    assert len(counts) > 1 and sum(counts) == 20 * len(TEXTS)


def test_gradients_are_back_after_inference(tiny_encoder) -> None:
    layer = torch.nn.Linear(3, 2)
    with inference(tiny_encoder):
        assert not layer(torch.ones(4, 3)).requires_grad
    assert layer(torch.ones(4, 3)).requires_grad
