"""Encoders without torch give the vectors of those with it, and leave what they cannot compute to it."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import RobertaConfig, RobertaModel

import turnlens
from closeness import assert_same_vectors
from turnlens.encoders.centre import Centre
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.messages import encode_contexts, message_tokens
from turnlens.encoders.onnx_encoder import OnnxEncoder
from turnlens.encoders.rendering import make_conversational
from turnlens.encoders.reply_head import ReplyHead
from turnlens.store import ConversationStore
from turnlens.store.store_encoder import StoreEncoder

TEXTS = ["cancel my card", "", "Hello, how are YOU?", "my card " * 200, *(f"order {number}" for number in range(40))]
TALK = [{"role": "a", "content": "my card is gone"}, {"role": "b", "content": "which card?"}]

Change = Callable[[ConversationEncoder], object]


def pooled_by_first_token(encoder: ConversationEncoder) -> None:
    encoder[1] = Pooling(32, "cls")


def projected(encoder: ConversationEncoder) -> None:
    encoder.append(Normalize())
    encoder.append(Dense(32, 16))
    encoder.append(Dense(16, 8, bias=False, activation_function=torch.nn.Identity()))
    encoder.append(Normalize())


def prompted(encoder: ConversationEncoder) -> None:
    encoder.prompts, encoder.default_prompt_name = {"query": "i want: "}, "query"


def shortened(encoder: ConversationEncoder) -> None:
    encoder.max_seq_length = 7


def with_parts(encoder: ConversationEncoder) -> None:
    random = np.random.default_rng(0)
    encoder.reply_head = ReplyHead(32, turns=3)
    encoder.reply_head.candidate.data += 0.1
    mean, weight = random.normal(size=(2, 32)).astype(np.float32)
    encoder.centre = {"messages": Centre(mean, np.eye(32, dtype=np.float32), weight)}


CHANGES: dict[str, Change] = {
    "as it is": lambda encoder: None,
    "first token": pooled_by_first_token,
    "projected": projected,
    "prompt": prompted,
    "limit": shortened,
    "head and centre": with_parts,
    "conversational": lambda encoder: make_conversational(encoder, max_length=40),
    "plain text": lambda encoder: make_conversational(encoder, separate_turns=False),
}


def saved(encoder: ConversationEncoder, folder: Path) -> tuple[OnnxEncoder, ConversationEncoder]:
    """An encoder after it was saved: without torch, and with it."""
    encoder.save(str(folder), create_model_card=False)
    without = turnlens.load_encoder(folder)
    assert isinstance(without, OnnxEncoder)
    loaded = ConversationEncoder(str(folder), device="cpu")
    loaded.register_forward_pre_hook(lambda module, inputs: None)  # its passes stay in torch, also those of many texts
    return without, loaded


def assert_same_encoder(one: OnnxEncoder, other: ConversationEncoder, talks: list) -> None:
    """All vectors of two encoders are the same, and so are their hashes."""
    assert_same_vectors(one.encode_messages(TEXTS), other.encode_messages(TEXTS))
    assert_same_vectors(encode_contexts(one, [TEXTS[:4], ["hello"]]), encode_contexts(other, [TEXTS[:4], ["hello"]]))
    for context in ("history", "conversation"):
        vectors = [encoder.encode_messages(talks, context=context) for encoder in (one, other)]
        assert_same_vectors(*vectors)
    for pooling in ("mean", "messages", "interlocutor", "speaker:user"):
        for long in ("truncate", "window"):
            vectors = [encoder.encode_conversations(talks, pooling=pooling, long=long) for encoder in (one, other)]
            assert_same_vectors(*vectors)
    np.testing.assert_array_equal(message_tokens(one, TEXTS), message_tokens(other, TEXTS))
    assert StoreEncoder(one, "messages").digest() == StoreEncoder(other, "messages").digest()
    assert one.get_embedding_dimension() == other.get_embedding_dimension()


def test_what_is_saved_has_the_same_vectors(tiny_encoder_path: Path, tmp_path: Path, conversations: Dataset) -> None:
    talks = [talk for talk in conversations["messages"] if any(message["role"] == "user" for message in talk)]
    talks.append([{"role": "user", "content": "my card is lost and i want to cancel it " * 5} for _ in range(6)])
    for name, change in CHANGES.items():
        encoder = ConversationEncoder(str(tiny_encoder_path), device="cpu")
        change(encoder)
        try:
            assert_same_encoder(*saved(encoder, tmp_path / name), talks)
        except AssertionError as error:
            raise AssertionError(name) from error


def test_many_texts_of_a_trained_encoder_need_no_torch(tiny_encoder: ConversationEncoder) -> None:
    passes: list[int] = []
    many = [f"please order {number} pizza" for number in range(2000)]
    vectors = tiny_encoder.encode_messages(many)
    tiny_encoder.register_forward_pre_hook(lambda module, inputs: passes.append(1))
    assert_same_vectors(vectors, tiny_encoder.encode_messages(many))
    assert passes


def test_training_changes_the_vectors_of_many_texts(tiny_encoder: ConversationEncoder) -> None:
    many = [f"please order {number} pizza" for number in range(2000)]
    before = tiny_encoder.encode_messages(many)
    tiny_encoder.transformers_model.embeddings.word_embeddings.weight.data[:, 0] += 1
    assert np.abs(tiny_encoder.encode_messages(many) - before).max() > 0.01


def test_roberta_counts_positions_from_its_padding(tiny_encoder_path: Path, tmp_path: Path) -> None:
    tiny = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64, "num_attention_heads": 4}
    config = RobertaConfig(vocab_size=80, max_position_embeddings=66, pad_token_id=0, type_vocab_size=1, **sizes)
    torch.manual_seed(0)
    RobertaModel(config).save_pretrained(tmp_path / "roberta")
    tiny.tokenizer.save_pretrained(tmp_path / "roberta")
    encoder = SentenceTransformer(modules=[Transformer(str(tmp_path / "roberta")), Pooling(32, "mean")], device="cpu")
    one, other = saved(ConversationEncoder.of(encoder), tmp_path / "encoder")
    assert_same_vectors(one.encode_messages(TEXTS[:3]), other.encode_messages(TEXTS[:3]))
    assert one.positions == other.positions == 65


def test_other_encoders_are_loaded_with_torch(tiny_encoder_path: Path, tmp_path: Path) -> None:
    changes: list[Change] = [
        lambda encoder: encoder.__setitem__(1, Pooling(32, "max")),
        lambda encoder: encoder.__setitem__(1, Pooling(32, "mean", include_prompt=False)),
        lambda encoder: encoder.append(Dense(32, 32, use_residual=True)),
        lambda encoder: encoder[0].auto_model.config.__setattr__("hidden_act", "relu"),
        lambda encoder: encoder.bfloat16(),
    ]
    for row, change in enumerate(changes):
        encoder = ConversationEncoder(str(tiny_encoder_path), device="cpu")
        change(encoder)
        encoder.save(str(tmp_path / f"{row}"), create_model_card=False)
        assert isinstance(turnlens.load_encoder(tmp_path / f"{row}"), ConversationEncoder)


def test_an_encoder_without_torch_is_loaded_again_to_be_trained(
    tiny_encoder_path: Path, conversations: Dataset
) -> None:
    encoder = turnlens.load_encoder(tiny_encoder_path)
    trained = turnlens.train(conversations, method="in-context", encoder=encoder, settings={"max_steps": 1})
    assert isinstance(trained, SentenceTransformer)


def test_half_precision_needs_torch(tiny_encoder_path: Path) -> None:
    with pytest.raises(ValueError, match="dtype='bfloat16' needs torch: load the encoder with device='cpu'"):
        turnlens.load_encoder(tiny_encoder_path).encode_messages(["my card"], dtype="bfloat16")


def test_threads_share_an_encoder(tiny_encoder_path: Path) -> None:
    encoder = turnlens.load_encoder(tiny_encoder_path)
    encoder.limit_threads(1)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: encoder.encode_messages(TEXTS), range(8)):
            assert_same_vectors(vectors, encoder.encode_messages(TEXTS))


def test_stores_may_be_opened_with_torch_or_without(tiny_encoder: ConversationEncoder, tmp_path: Path) -> None:
    with_parts(tiny_encoder)
    without, loaded = saved(tiny_encoder, tmp_path / "model")
    chats = [{"id": str(row), "messages": TALK} for row in range(3)]
    ConversationStore.create(tmp_path / "store", chats, encoder=loaded)
    stores = [ConversationStore.open(tmp_path / "store", encoder=encoder) for encoder in (without, loaded)]
    for search in (
        lambda store: store.search_messages("which card"),
        lambda store: store.search_conversations(TALK),
        lambda store: store.next_replies(TALK),
    ):
        scores = [[hit.score for hit in search(store)] for store in stores]
        np.testing.assert_allclose(*scores, atol=1e-5)


def test_vectors_are_those_of_the_published_encoder() -> None:
    """Computed once by sentence-transformers with torch: the first numbers of the vectors of two texts."""
    expected = json.loads((Path(__file__).parent / "published_vectors.json").read_text())
    encoder = turnlens.load_encoder("sentence-transformers/all-MiniLM-L6-v2")
    vectors = encoder.encode_messages(list(expected))
    np.testing.assert_allclose(vectors[:, :8], list(expected.values()), rtol=0, atol=5e-6)


@pytest.mark.slow
def test_embedding_searching_and_replying_import_no_torch(tiny_encoder_path: Path) -> None:
    code = (
        "import sys, turnlens.store.store_encoder, turnlens.encoders.reply_model, turnlens.store.conversation_store;"
        f"import turnlens; turnlens.load_encoder({str(tiny_encoder_path)!r}).encode_messages(['my card']);"
        "print({'torch', 'transformers', 'sentence_transformers', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"
