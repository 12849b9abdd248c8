"""Vectors of queries without torch: those of the encoder itself, and only as long as its files are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers.sentence_transformer.modules import Pooling

import turnlens
from closeness import assert_same_vectors
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders import loading, quick_cache
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.quick import QuickEncoder
from turnlens.encoders.quick_cache import keep_quick, quick_encoder
from turnlens.encoders.reply_head import ReplyHead
from turnlens.store import ConversationStore, StoreError
from turnlens.store import store_encoder as store_encoder_module
from turnlens.store.open_arguments import store_encoder
from turnlens.store.store_encoder import StoreEncoder

TEXTS = ["cancel my card", "", "Hello, how are YOU?", "my card " * 200]
TALK = [{"role": "a", "content": "my card is gone"}, {"role": "b", "content": "which card?"}]

pytestmark = pytest.mark.skipif(os.environ.get("TURNLENS_TEST_NOISE") == "1", reason="noise makes other vectors")


@pytest.fixture
def folder(tiny_encoder: ConversationEncoder, tmp_path: Path) -> Path:
    tiny_encoder.reply_head = ReplyHead(32, turns=3)
    tiny_encoder.reply_head.candidate.data += 0.1
    tiny_encoder.save(str(tmp_path / "model"))
    return tmp_path / "model"


def kept(folder: Path) -> tuple[QuickEncoder, ConversationEncoder]:
    full = store_encoder(folder, "messages").encoder
    quick = quick_encoder(folder)
    assert quick is not None
    return quick, full


def test_the_vectors_are_those_of_the_encoder(folder: Path) -> None:
    quick, full = kept(folder)
    assert_same_vectors(quick.encode(TEXTS), full.encode_messages(TEXTS))
    assert_same_vectors(quick.embed(quick.tokenize(TEXTS * 70)), np.tile(full.encode_messages(TEXTS), (70, 1)))


def test_the_quick_encoder_searches_a_store_alike(folder: Path, tmp_path: Path) -> None:
    chats = [{"id": str(row), "messages": TALK} for row in range(3)]
    ConversationStore.create(tmp_path / "store", chats, encoder=turnlens.load_encoder(folder)).reindex(folder)
    with_encoder = ConversationStore.open(tmp_path / "store", encoder=turnlens.load_encoder(folder))
    by_name = ConversationStore.open(tmp_path / "store")
    assert isinstance(by_name.encoder().for_texts(1), QuickEncoder)
    for search in (
        lambda store: store.search_messages("which card"),
        lambda store: store.search_conversations(TALK),
        lambda store: store.next_replies(TALK),
    ):
        scores = [[hit.score for hit in search(store)] for store in (with_encoder, by_name)]
        np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)


def test_a_changed_encoder_folder_is_noticed(folder: Path, tmp_path: Path) -> None:
    kept(folder)
    ConversationStore.create(tmp_path / "store", [{"id": "1", "messages": TALK}], encoder=folder)
    changed = turnlens.load_encoder(folder)
    changed.transformers_model.embeddings.word_embeddings.weight.data += 0.1
    changed.save(str(folder))
    assert quick_encoder(folder) is None
    with pytest.raises(StoreError, match="holds vectors of"):
        ConversationStore.open(tmp_path / "store").search_messages("card")


def test_a_damaged_file_is_not_used(folder: Path, datasets_cache: None) -> None:
    import datasets

    kept(folder)
    for file in (datasets.config.HF_DATASETS_CACHE / "turnlens-queries").iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert quick_encoder(folder) is None


def test_other_poolings_are_left_alone(tiny_encoder: ConversationEncoder, tmp_path: Path) -> None:
    tiny_encoder[1] = Pooling(32, "cls")
    tiny_encoder.save(str(tmp_path / "model"))
    keep_quick(tmp_path / "model", tiny_encoder, "digest", "model")
    assert quick_encoder(tmp_path / "model") is None


def test_searching_and_replying_import_neither_torch_nor_datasets() -> None:
    code = (
        "import sys, turnlens.store.store_encoder, turnlens.encoders.reply_model, turnlens.store.conversation_store;"
        "print({'torch', 'datasets', 'transformers', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


def test_torch_is_loaded_for_many_messages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    texts = [f"my card {number} is gone" for number in range(100)]
    monkeypatch.setattr(store_encoder_module, "WORTH_LOADING", 1500)
    encoder, loaded = store_encoder(folder, "messages"), turnlens.load_encoder(folder)
    for batch in (texts[:50], texts[50:]):
        expected = unit_vectors(loaded.encode_messages(batch))
        np.testing.assert_allclose(encoder.messages(batch)["vector"], expected, atol=1e-6)
    assert encoder._encoder is None
    encoder.messages([text.upper() for text in texts])
    assert encoder._encoder is not None


def test_damaged_weights_are_reported_on_loading(folder: Path) -> None:
    (folder / "checksums.json").unlink()  # an encoder of others has none
    kept(folder)
    weights = folder / "model.safetensors"
    state, data = weights.stat(), bytearray(weights.read_bytes())
    data[-5] ^= 1
    weights.write_bytes(data)
    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(ValueError, match="a file of it is damaged"):
        store_encoder(folder, "messages").encoder  # noqa: B018 (loads it)
    again = store_encoder(folder, "messages")  # what was kept does not stand in the way for ever
    assert again.digest() == StoreEncoder(turnlens.load_encoder(folder), "messages").digest()


def test_nothing_is_kept_under_the_name_of_another_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_load_shipped", lambda device: turnlens.load_encoder(folder))
    store_encoder(None, "messages")
    assert quick_encoder(None) is None


def test_another_version_of_what_loads_the_encoder_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    monkeypatch.setattr(quick_cache, "version", lambda package: "99")
    assert quick_encoder(folder) is None
