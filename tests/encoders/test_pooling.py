import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from closeness import assert_same_vectors
from turnlens.encoders.centre import Centre
from turnlens.encoders.messages import pool_messages
from turnlens.encoders.rendering import make_conversational


def tokens_of(encoder, text: str) -> np.ndarray:
    ids = encoder.tokenizer(text, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        return encoder(dict(ids))["token_embeddings"][0].numpy()


@pytest.mark.parametrize("separate_turns", [True, False])
def test_mean_equals_the_saved_models_own_encode(tiny_encoder, conversations, tmp_path, separate_turns) -> None:
    make_conversational(tiny_encoder, 64, separate_turns).append(Normalize())
    tiny_encoder.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    stock = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    talks = [[{k: m[k] for k in ("role", "content")} for m in messages] for messages in conversations["messages"]]
    assert_same_vectors(tiny_encoder.encode_conversations(talks), stock.encode(talks))


@pytest.mark.parametrize("separate_turns", [True, False])
def test_a_long_turn_is_whole_where_the_conversation_fits(tiny_encoder, separate_turns) -> None:
    make_conversational(tiny_encoder, 40, separate_turns)
    talk = [{"role": "a", "content": "i want to order a pizza " * 5}, {"role": "b", "content": "thanks"}]
    for fits in (talk, talk[:1]):
        assert_same_vectors(tiny_encoder.encode_conversations([fits]), tiny_encoder.encode([fits]))


def test_a_dialogue_models_own_limit_counts(tiny_encoder, caplog) -> None:
    make_conversational(tiny_encoder, 9)  # 64 positions
    talk = [{"role": "ab"[turn % 2], "content": "a card"} for turn in range(4)]
    vectors = tiny_encoder.encode_conversations([talk, talk[:2]])
    assert_same_vectors(vectors[0], vectors[1])
    assert "more than 9 tokens" in caplog.text


def test_interlocutor_and_speaker_pooling_equal_their_definition(tiny_encoder) -> None:
    talk = [
        {"role": "ben", "content": "pizza"},
        {"role": "anna", "content": "a card"},
        {"role": "ben", "content": "thanks"},
    ]
    make_conversational(tiny_encoder)
    tokens = tokens_of(tiny_encoder, "[CLS] pizza [SEP] a card [SEP] thanks [SEP]")
    ben, anna = tokens[[1, 2, 6, 7]].mean(0), tokens[[3, 4, 5]].mean(0)
    both = tiny_encoder.encode_conversations([talk], pooling="interlocutor")[0]
    assert_same_vectors(both, ben + anna)
    assert_same_vectors(tiny_encoder.encode_conversations([talk], pooling="speaker:anna")[0], anna)
    assert_same_vectors(tiny_encoder.encode_conversations([talk])[0], tokens.mean(0))


def test_other_encoders_read_conversations_as_plain_text(tiny_encoder) -> None:
    talk = [{"role": "a", "content": "a card"}, {"role": "b", "content": "thanks"}]
    vectors = tiny_encoder.encode_conversations([talk])[0]
    assert_same_vectors(vectors, tiny_encoder.encode("a card thanks"))
    second = tokens_of(tiny_encoder, "[CLS] a card thanks [SEP]")[3]
    assert_same_vectors(tiny_encoder.encode_conversations([talk], pooling="speaker:b")[0], second)


def test_windows_cover_long_conversations_only(tiny_encoder) -> None:
    short = [{"role": "a", "content": "hello"}, {"role": "b", "content": "a card"}]
    long = [{"role": "ab"[turn % 2], "content": f"i want to order {turn} pizza"} for turn in range(40)]
    cut = tiny_encoder.encode_conversations([short, long])
    whole = tiny_encoder.encode_conversations([short, long], long="window")
    assert_same_vectors(cut[0], whole[0])
    assert not np.allclose(cut[1], whole[1], atol=1e-3)
    changed = [*long[:-1], {"role": "b", "content": "cancel the flight"}]
    assert_same_vectors(tiny_encoder.encode_conversations([changed])[0], cut[1])
    assert not np.allclose(tiny_encoder.encode_conversations([changed], long="window")[0], whole[1], atol=1e-3)


def test_all_that_are_cut_are_counted(tiny_encoder, caplog) -> None:
    long, short = ([{"role": "a", "content": "card " * length}] for length in (80, 3))
    tiny_encoder.encode_conversations([long, short] * 200)
    assert [record.getMessage()[:24] for record in caplog.records] == ["200 of 400 conversations"]


def test_a_speaker_beyond_the_limit_is_an_error(tiny_encoder) -> None:
    talk = [{"role": "a", "content": "card " * 30} for _ in range(3)] + [{"role": "b", "content": "thanks"}]
    for others in ([], [[{"role": role, "content": "hello"} for role in "cba"]]):
        with pytest.raises(ValueError, match="conversation 0: 'b' says nothing within the encoder's limit"):
            tiny_encoder.encode_conversations([talk, *others], pooling="speaker:b")
        vectors = tiny_encoder.encode_conversations([talk, *others], pooling="speaker:b", long="window")
        assert np.linalg.norm(vectors, axis=1).min() > 0
    silent = [{"role": "a", "content": ""}]
    assert not tiny_encoder.encode_conversations([silent], pooling="interlocutor").any()


def test_windows_are_weighted_by_their_tokens(tiny_encoder) -> None:
    make_conversational(tiny_encoder, 12)
    lengths = [3, 5, 1, 9, 2]  # the fourth is longer than half a row: it comes in pieces of four
    talk = [{"role": "ab"[turn % 2], "content": "card " * length} for turn, length in enumerate(lengths)]
    windows = [
        "[CLS] card card card [SEP] card card card card card [SEP]",
        "[CLS] card card card card card [SEP] card [SEP]",
        "[CLS] card [SEP] card [SEP] card card card card",
        "[CLS] card [SEP] card card card card card card card card",
        "[CLS] card card card card card card card card card [SEP]",
        "[CLS] card card card card card [SEP] card card [SEP]",
    ]
    tokens = [tokens_of(tiny_encoder, window) for window in windows]
    vectors = tiny_encoder.encode_conversations([talk], long="window")[0]
    assert_same_vectors(vectors, np.concatenate(tokens).mean(0))


def test_windows_hold_the_end_of_a_long_message(tiny_encoder) -> None:
    message = {"role": "a", "content": "i want to order a pizza " * 30}
    other = {**message, "content": message["content"] + "cancel the flight"}
    cut = tiny_encoder.encode_conversations([[message], [other]])
    whole = tiny_encoder.encode_conversations([[message], [other]], long="window")
    assert_same_vectors(cut[0], cut[1])
    assert not np.allclose(whole[0], whole[1], atol=1e-3)


def test_order_and_number_of_conversations_do_not_matter(tiny_encoder, conversations) -> None:
    talks = conversations["messages"]
    together = tiny_encoder.encode_conversations(talks, pooling="interlocutor")
    alone = np.concatenate([tiny_encoder.encode_conversations([talk], pooling="interlocutor") for talk in talks])
    assert_same_vectors(together, alone)
    assert tiny_encoder.encode_conversations([]).shape == (0, 32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"long": "drop"}, "long must be"),
        ({"keep": "middle"}, "keep must be"),
        ({"pooling": "speaker:boss"}, "has no speaker 'boss', only user, assistant"),
    ],
)
def test_bad_settings_are_refused(tiny_encoder, conversations, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_encoder.encode_conversations(conversations["messages"][:2], **settings)


def test_a_message_without_a_text_is_named(tiny_encoder) -> None:
    talk = [{"role": "a", "content": "hello"}]
    with pytest.raises(ValueError, match=r"conversation 1, message 0: expected .*content"):
        tiny_encoder.encode_conversations([talk, [{"role": "a", "text": "hello"}]])


def test_an_empty_conversation_is_named(tiny_encoder) -> None:
    with pytest.raises(ValueError, match="conversation 1 has no messages"):
        tiny_encoder.encode_conversations([[{"role": "a", "content": "hello"}], []])


def test_an_encoder_in_half_precision_changes_little(tiny_encoder, conversations) -> None:
    encoder = make_conversational(tiny_encoder)
    full = encoder.encode_conversations(conversations["messages"])
    with torch.autocast("cpu", torch.bfloat16):
        mixed = encoder.encode_conversations(conversations["messages"])
    half = encoder.bfloat16().encode_conversations(conversations["messages"])
    for found in (mixed, half):
        assert found.dtype == np.float32
        assert (found * full).sum(1).min() > 0.999


def test_absent_speakers_are_an_error_or_zeros(tiny_encoder) -> None:
    talks = [[{"role": "a", "content": "hello"}, {"role": "b", "content": "thanks"}], [{"role": "a", "content": "bye"}]]
    with pytest.raises(ValueError, match="conversation 1 has no speaker 'b', only a"):
        tiny_encoder.encode_conversations(talks, pooling="speaker:b")
    vectors = tiny_encoder.encode_conversations(talks, pooling="speaker:b", absent="zero")
    assert_same_vectors(vectors[0], tiny_encoder.encode_conversations(talks[:1], pooling="speaker:b")[0])
    assert not vectors[1].any()
    with pytest.raises(ValueError, match="absent must be"):
        tiny_encoder.encode_conversations(talks, absent="none")


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
