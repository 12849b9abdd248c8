from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnlens
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.messages import encode_contexts
from turnlens.encoders.tokenizing import cut_texts
from turnlens.training.collators import TextCollator

LONG = ["my card is lost " * 5000, "thanks\n\n" * 9000, "pizza! " * 9000, "a" * 90 + " b" * 40_000, "卡" * 40_000]


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("text", [*LONG, "my card is lost, " * 5000 + "x" * 3000, "x" * 3000 + " is lost" * 5000])
def test_a_cut_text_has_the_tokens_that_are_read(tiny_encoder: ConversationEncoder, text: str, newest: bool) -> None:
    ids, tokens = tiny_encoder.text_tokenizer.ids, 64
    (cut,) = cut_texts(ids, [text], tokens, newest)
    assert len(cut) < len(text) / 5 and (text.endswith if newest else text.startswith)(cut)
    read, whole = ids([cut, text])
    kept = slice(-tokens, None) if newest else slice(tokens)
    assert len(read) >= tokens and read[kept] == whole[kept]


def test_texts_with_short_starts_stay_whole(tiny_encoder: ConversationEncoder) -> None:
    texts = ["short", "x" * 20_000, " " * 20_000 + "thanks", "x" * 20_000 + " thanks"]
    ids = tiny_encoder.text_tokenizer.ids
    assert cut_texts(ids, texts, 64) == texts
    assert cut_texts(ids, LONG, None) == LONG


def test_only_the_start_of_a_megabyte_is_tokenized(
    tiny_encoder: ConversationEncoder, tiny_encoder_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []
    kind: Any = type(tiny_encoder.tokenizer)
    tokenize = kind.__call__

    def recorded(self: Any, texts: Any, *args: Any, **settings: Any) -> Any:
        looked_at.extend(map(len, [texts] if isinstance(texts, str) else texts))
        return tokenize(self, texts, *args, **settings)

    monkeypatch.setattr(kind, "__call__", recorded)
    long, short = "my card is lost " * 70_000, "my card is lost " * 100
    talk = [{"role": role, "content": long} for role in ("a", "b")]
    readings: list[Callable[[], Any]] = [
        lambda: tiny_encoder.encode_messages([long]),
        lambda: tiny_encoder.encode_messages([talk], context="history"),
        lambda: tiny_encoder.encode_conversations([talk]),
        lambda: tiny_encoder.encode_conversations([talk], pooling="messages"),
        lambda: encode_contexts(tiny_encoder, [[long]]),
        lambda: TextCollator(tiny_encoder)([{"messages": talk}]),
    ]
    for reading in readings:
        looked_at.clear()
        reading()
        assert looked_at and max(looked_at) <= 10_000
    texts = [long, short, "thanks"]
    expected = tiny_encoder.encode([short, short, "thanks"])
    assert np.abs(tiny_encoder.encode_messages(texts) - expected).max() < 1e-5
    rows = turnlens.load_encoder(str(tiny_encoder_path))
    assert np.abs(rows.encode_messages(texts) - expected).max() < 1e-5


def test_a_tokenizer_of_a_file_reads_the_start(tiny_encoder_path: Path) -> None:
    looked_at: list[int] = []
    tokenizer = turnlens.load_encoder(str(tiny_encoder_path)).text_tokenizer

    def ids(texts: list[str]) -> list[list[int]]:
        looked_at.extend(map(len, texts))
        return tokenizer.ids(texts)

    recorded, long = replace(tokenizer, ids=ids), "my card is lost " * 70_000
    assert recorded.counts([long]) == tokenizer.counts([long])
    for newest in (False, True):
        assert recorded.rows([long], newest=newest) == tokenizer.rows([long], newest=newest)
    assert max(looked_at) <= 10_000
