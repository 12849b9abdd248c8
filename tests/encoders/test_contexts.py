import numpy as np

from closeness import assert_same_vectors
from turnlens.encoders.in_context import encode_contexts, joined_context


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
