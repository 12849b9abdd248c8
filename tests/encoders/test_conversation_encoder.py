import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors
from turnlens import ConversationEncoder
from turnlens.encoders.centre import Centre
from turnlens.encoders.history import add_history
from turnlens.encoders.loading import weights_digest
from turnlens.encoders.reply_head import ReplyHead


def test_messages_alone_and_in_both_contexts(tiny_encoder: ConversationEncoder, conversations) -> None:
    talks = conversations["messages"][:]
    texts = [message["content"] for messages in talks for message in messages]
    alone = tiny_encoder.encode_messages(texts)
    assert (tiny_encoder.encode_messages(talks) == alone).all()
    assert (tiny_encoder.encode_messages(conversations) == alone).all()
    assert (tiny_encoder.encode_messages(np.array(texts)) == alone).all()
    with_history = tiny_encoder.encode_messages(talks, context="history")
    assert (with_history == add_history(alone, [len(messages) for messages in talks])).all()
    in_context = tiny_encoder.encode_messages(talks, context="conversation")
    assert in_context.shape == alone.shape and not np.allclose(in_context, with_history, atol=0.1)


@pytest.mark.parametrize("context", [None, "history", "conversation"])
def test_no_messages_give_an_empty_array(tiny_encoder: ConversationEncoder, context) -> None:
    assert tiny_encoder.encode_messages([], context=context).shape == (0, 32)


def test_a_single_text_is_one_error(tiny_encoder: ConversationEncoder) -> None:
    with pytest.raises(ValueError, match="got the text 'hello', which is no file: give a single text in a list"):
        tiny_encoder.encode_messages("hello")


def test_what_is_no_text_is_one_error(tiny_encoder: ConversationEncoder) -> None:
    with pytest.raises(TypeError, match="texts: expected texts, got None at position 1: leave it out"):
        tiny_encoder.encode_messages(["a", None])


def test_a_context_needs_conversations(tiny_encoder: ConversationEncoder) -> None:
    with pytest.raises(ValueError, match="context='history' needs conversations, got texts: give lists of messages"):
        tiny_encoder.encode_messages(["my card"], context="history")
    with pytest.raises(ValueError, match="context must be None, 'history' or 'conversation', got 'all'"):
        tiny_encoder.encode_messages(["my card"], context="all")
    with pytest.raises(ValueError, match="are for single texts: leave them out"):
        tiny_encoder.encode_messages([], context="conversation", batch_size=2)


def test_of_wraps_the_modules_of_stock_encoders(tiny_encoder_path: Path) -> None:
    stock = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    stock.prompts, stock.default_prompt_name = {"query": "q: "}, "query"
    encoder = ConversationEncoder.of(stock)
    assert (encoder.prompts["query"], encoder.default_prompt_name) == ("q: ", "query")
    assert ConversationEncoder.of(encoder) is encoder
    encoder.reply_head = ReplyHead(32)
    with torch.no_grad():
        next(encoder.parameters()).add_(1.0)
    encoder.max_seq_length = 7
    assert ConversationEncoder.of(stock).reply_head is None
    assert torch.equal(next(stock.parameters()), next(encoder.parameters())) and stock.max_seq_length == 7
    # what stores and files of vectors remember of an encoder does not depend on its class
    assert weights_digest(stock) == weights_digest(encoder)


def test_parts_leave_it_stock_and_are_saved_and_loaded(tiny_encoder: ConversationEncoder, tmp_path) -> None:
    texts, path = ["my card", "i want a pizza"], str(tmp_path)
    before, names = tiny_encoder.encode(texts), list(tiny_encoder.state_dict())
    assert tiny_encoder.reply_head is None and tiny_encoder.centre == {}
    head = ReplyHead(32, turns=3)
    with torch.no_grad():
        head.context += 0.1
    centre = Centre(*(np.random.default_rng(0).random(shape, np.float32) for shape in (32, (32, 32), 32)))
    tiny_encoder.reply_head, tiny_encoder.centre = head, {"mean": centre}
    assert (tiny_encoder.encode(texts) == before).all() and list(tiny_encoder.state_dict()) == names
    tiny_encoder.save(path)
    assert_same_vectors(SentenceTransformer(path, device="cpu").encode(texts), before)
    loaded = (ConversationEncoder(path, device="cpu"), turnlens.load_encoder(path, device="cpu"))
    for again in (*loaded, copy.deepcopy(tiny_encoder)):
        assert again.reply_head is not None and again.reply_head.turns == 3 and list(again.centre) == ["mean"]
        assert all(
            torch.equal(weight, head.state_dict()[name]) for name, weight in again.reply_head.state_dict().items()
        )
        for part in ("mean", "stretch", "weight"):
            assert (getattr(again.centre["mean"], part) == getattr(centre, part)).all()
    tiny_encoder.reply_head, tiny_encoder.centre = None, {}
    tiny_encoder.save_pretrained(path)  # over the model that had both
    again = turnlens.load_encoder(path)
    assert again.reply_head is None and again.centre == {}


def test_a_head_that_is_not_finite(tiny_encoder: ConversationEncoder) -> None:
    head = ReplyHead(32)
    with torch.no_grad():
        head.context[0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="the reply head is not finite"):
        tiny_encoder.reply_head = head
    assert tiny_encoder.reply_head is None
