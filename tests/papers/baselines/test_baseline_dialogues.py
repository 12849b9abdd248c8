import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from closeness import assert_same_vectors
from turnlens.papers.baselines import Concatenation, MeanOfUtterances, PooledEncoder, TfIdf


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user" if turn % 2 == 0 else "assistant", "content": text} for turn, text in enumerate(texts)]


def test_the_mean_counts_repetitions(tiny_encoder: SentenceTransformer) -> None:
    pooled = PooledEncoder(tiny_encoder)
    thanks, pizza, card = pooled.encode_messages(["thanks", "pizza", "card"])
    vectors = MeanOfUtterances(pooled).encode_conversations([talk("thanks", "pizza", "thanks"), talk("card")])
    assert vectors.dtype == np.float32
    assert_same_vectors(vectors, np.stack([(2 * thanks + pizza) / 3, card]))


def test_concatenation_takes_whole_turns_for_as_long_as_they_fit(tiny_encoder: SentenceTransformer) -> None:
    pooled = PooledEncoder(tiny_encoder, max_length=8)  # room for six tokens between [CLS] and [SEP]
    joined = Concatenation(pooled, pooled)
    conversations = [
        talk("i want to order", "the pizza", "thanks"),  # 4 + 2, then full
        talk("i want to order", "the card order", "thanks"),  # 4, and 3 more do not fit; what follows is out too
        talk("i want to order a pizza the card", "thanks"),  # the first is too long by itself, and cut
        talk("thanks"),
    ]
    assert joined.fitting(conversations) == [2, 1, 1, 1]
    texts = ["i want to order the pizza", "i want to order", "i want to order a pizza", "thanks"]
    assert_same_vectors(joined.encode_conversations(conversations), pooled.encode_messages(texts))


def test_without_a_limit_all_turns_count(corpus: Dataset) -> None:
    model = TfIdf().fit(corpus)
    conversations = corpus["messages"][:3]
    whole = [" ".join(message["content"] for message in messages) for messages in conversations]
    assert np.array_equal(Concatenation(model).encode_conversations(conversations), model.encode_messages(whole))


def test_for_a_plain_encoder_it_is_what_turnlens_itself_does(
    tiny_encoder: SentenceTransformer, conversations: Dataset
) -> None:
    pooled = PooledEncoder(tiny_encoder)
    messages = conversations["messages"][:]
    expected = tiny_encoder.encode_conversations(messages)
    assert_same_vectors(Concatenation(pooled, pooled).encode_conversations(messages), expected)


def test_fit_reaches_what_is_inside_and_empty_dialogues_are_errors(corpus: Dataset) -> None:
    for wrapper in (MeanOfUtterances, Concatenation):
        model = wrapper(TfIdf()).fit(corpus)
        assert model.encode_conversations(corpus["messages"][:2]).any(axis=1).all()
        assert len(model.encode_conversations([])) == 0
        with pytest.raises(ValueError, match="conversation 1 has no messages"):
            model.encode_conversations([talk("hello"), []])


def test_models_with_tokens_of_speakers_are_told_who_speaks(tiny_encoder: SentenceTransformer) -> None:
    tiny_encoder.tokenizer.add_tokens(["[usr]", "[sys]"], special_tokens=True)
    tiny_encoder.transformers_model.resize_token_embeddings(len(tiny_encoder.tokenizer))
    pooled = PooledEncoder(tiny_encoder, max_length=9)  # room for seven tokens between [CLS] and [SEP]
    starts_with_assistant = [{"role": "assistant", "content": "card"}, {"role": "user", "content": "order a pizza"}]
    by_names = [{"role": "ann", "content": "card"}, {"role": "ben", "content": "thanks"}]
    vectors = Concatenation(pooled, pooled).encode_conversations(
        [starts_with_assistant, by_names, talk("i want to", "the pizza", "thanks")]
    )
    texts = ["[sys] card [usr] order a pizza", "[usr] card [sys] thanks", "[usr] i want to [sys] the pizza"]
    assert_same_vectors(vectors, pooled.encode_messages(texts))
    assert pooled.count_tokens(["[usr] i"]) == [2]
