"""Vectors of what was said, without placeholders."""

from pathlib import Path

import numpy as np
import pytest

import turnlens
from turnlens import ConversationEncoder, ConversationStore
from turnlens.report.boilerplate import without_boilerplate
from turnlens.report.corpus import stored_corpus

TEXTS = ["hello [NAME]", "[PHONE] pizza please", "my card [CARD] card", "yes"]


def test_vectors_ignore_texts_embedded_beside_them(
    tmp_path: Path, tiny_encoder: ConversationEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An encoder's rounding depends on the other texts of a batch; groups of noisy messages depend on the rounding."""
    said = [vectors_of_said(tmp_path / "all", TEXTS, tiny_encoder)]
    rounded = ConversationEncoder.encode_texts
    monkeypatch.setattr(ConversationEncoder, "encode_texts", lambda *given: rounded(*given) + np.float32(1e-6))
    said.append(vectors_of_said(tmp_path / "again", TEXTS, tiny_encoder))
    said.append(vectors_of_said(tmp_path / "fewer", TEXTS[1:], tiny_encoder))
    assert (said[0][:3] == said[1][:3]).all() and (said[0][1:3] == said[2][:2]).all()


def vectors_of_said(folder: Path, texts: list[str], encoder: ConversationEncoder) -> np.ndarray:
    rows = [{"id": str(row), "messages": [{"role": "user", "content": text}]} for row, text in enumerate(texts)]
    store = ConversationStore.create(folder / "store", turnlens.read_conversations(rows), encoder=encoder)
    corpus = stored_corpus(store, folder)
    return np.array(without_boilerplate(corpus, [()] * len(corpus.texts)).vectors)
