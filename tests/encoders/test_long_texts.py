from __future__ import annotations

import pytest
from sentence_transformers import SentenceTransformer

from turnlens.encoders.long_texts import counted_by, start_of, starts_of, tokens_read


@pytest.mark.parametrize(
    "text", ["my card is lost " * 5000, "thanks\n\n" * 9000, "pizza! " * 9000, "a" * 90 + " b" * 40_000]
)
def test_the_start_of_a_text_has_its_first_tokens(tiny_encoder: SentenceTransformer, text: str) -> None:
    (start,) = starts_of(tiny_encoder, [text])
    tokens = tokens_read(tiny_encoder)
    assert tokens is not None and len(start) < len(text) / 5 and text.startswith(start)
    whole, cut = (tiny_encoder.tokenizer(part, add_special_tokens=False)["input_ids"] for part in (text, start))
    assert cut[:tokens] == whole[:tokens] and len(cut) >= tokens


def test_texts_with_short_starts_stay_whole(tiny_encoder: SentenceTransformer) -> None:
    texts = ["short", "x" * 20_000, " " * 20_000 + "thanks", "x" * 20_000 + " thanks"]
    assert starts_of(tiny_encoder, texts) == texts


def test_at_most_longest_characters_are_read(tiny_encoder: SentenceTransformer) -> None:
    looked_at = []

    def count(start: str) -> int:
        looked_at.append(len(start))
        return counted_by(tiny_encoder)(start)

    assert start_of("x y" * 20 + "x" * 10**6, 64, count, longest=10_000) is None
    assert looked_at and max(looked_at) <= 10_000
    assert start_of("x" * 10_000, 64, count, longest=10_000) == "x" * 10_000
