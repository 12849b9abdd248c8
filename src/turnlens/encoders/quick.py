"""Vectors of a few texts without torch, which takes seconds to import: the forward pass of BERT in numpy."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController
from tokenizers import Tokenizer

from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.encoders.centre import Centre
from turnlens.encoders.reply_scores import HeadArrays
from turnlens.errors import TokenizerError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FEW = 64  # texts, which are embedded sooner than torch is loaded
WORTH_LOADING = 200_000  # tokens, which torch embeds as much sooner as it takes to load
_TOKENS_AT_ONCE = 256
_ROWS_IN_CACHE = 32  # tokens: what is computed number by number then stays in a processor's cache
# Numerator and denominator of erf(x) / x in x², to the last bit of a float32 (Eigen, XLA).
_ERF = (
    "-2.72614225801306e-10 2.77068142495902e-8 -2.10102402082508e-6 -5.69250639462346e-5 -7.34990630326855e-4 "
    "-2.95459980854025e-3 -1.60960333262415e-2",
    "-1.45660718464996e-5 -2.13374055278905e-4 -1.68282697438203e-3 -7.37332916720468e-3 -1.42647390514189e-2",
)


class QuickEncoder:
    """An encoder for queries. Threads may share it.

    Args:
        data: A file that `turnlens.encoders.quick_cache` has written.

    Attributes:
        source: Where the encoder was loaded from.
        digest: The hash of the encoder in stores.
        vectors_digest: The hash of all that vectors depend on, see `turnlens.encoders.vector_cache`.
        prompt: What is put before each text.
        max_seq_length: How many tokens of a text it reads.
        tokens_read: How many tokens of a text are read at most, also in a conversation.
        prompts: None that a reply depends on.
        centre: As of the encoder, see `turnlens.encoders.centre`.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        facts = header.pop("__metadata__")
        self._arrays = {}
        for name, entry in header.items():  # none is read before it is needed
            begin, end = entry["data_offsets"]
            array = np.frombuffer(data, "<f4", (end - begin) // 4, start + begin)
            self._arrays[name] = array.reshape(entry["shape"])
        self._tokenizer_json, settings = facts["tokenizer"], json.loads(facts["settings"])
        self.source, self.digest, self.vectors_digest, self.max_seq_length, self.tokens_read = settings["of"]
        self.prompt, self._heads, self._layers, self._epsilon, self._scales = settings["how"]
        self.prompts: dict[str, str] = {}
        self.centre = {pooling: Centre(**self._under(f"centre.{pooling}.")) for pooling in settings["centre"]}
        head = self._under("head.")
        self.reply_head = HeadArrays(**head) if head else None
        self._tokenizer = Tokenizer.from_str(self._tokenizer_json)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_seq_length)

    def _under(self, start: str) -> dict[str, FloatArray]:
        return {name.removeprefix(start): array for name, array in self._arrays.items() if name.startswith(start)}

    @cached_property
    def _counting(self) -> Tokenizer:
        tokenizer = Tokenizer.from_str(self._tokenizer_json)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def get_embedding_dimension(self) -> int:
        """The length of its vectors."""
        return int(self._arrays["words"].shape[1])

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens that it has vectors for."""
        return len(self._arrays["words"])

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(self._counting.encode(text, add_special_tokens=False))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens that it reads of each text."""
        return list(map(len, self._tokenizer.encode_batch(list(texts), add_special_tokens=False)))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text as they are read, after the prompt."""
        return [row.ids for row in self._tokenizer.encode_batch([self.prompt + text for text in texts])]

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """The vectors of texts, float32 (texts, dim)."""
        return self.embed(self.tokenize(texts))

    def embed(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        """The vectors of token ids, float32 (rows, dim)."""
        ends = np.cumsum([len(row) for row in rows])
        split = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(ends // _TOKENS_AT_ONCE)) + 1)
        parts = [[rows[row] for row in part] for part in split]
        # Products are small: threads of the library would wait for each other most of the time.
        with _libraries().limit(limits=1, user_api="blas"):
            if len(parts) == 1:
                vectors = self._forward(parts[0])
            else:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    vectors = np.concatenate(list(pool.map(self._forward, parts)))
        if "projection.weight" in self._arrays:
            vectors = self._dense(unit_vectors(vectors), "projection")
        return unit_vectors(vectors) if self._scales else vectors

    def _forward(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        """The mean of the last layer's tokens of each row (rows, dim). Rows follow each other, so nothing is padded."""
        arrays, counts = self._arrays, np.array([len(row) for row in rows])
        starts = np.cumsum(counts) - counts
        places = np.concatenate([np.arange(count) for count in counts])
        ids = np.concatenate(rows)
        if ids.max() >= len(arrays["words"]):
            raise TokenizerError(int(ids.max()), len(arrays["words"]))
        tokens = arrays["words"][ids] + arrays["positions"][places]  # (tokens, dim)
        tokens = self._normed(tokens, "embedded")
        for layer in map(str, range(self._layers)):
            mixed = np.concatenate(
                [
                    _attention(states.reshape(len(states), 3, self._heads, -1).transpose(1, 2, 0, 3))
                    for states in np.split(self._dense(tokens, layer + "mix"), starts[1:])
                ]
            )
            tokens = self._normed(tokens + self._dense(mixed, layer + "out"), layer + "first")
            inner = self._dense(tokens, layer + "up")
            for start in range(0, len(inner), _ROWS_IN_CACHE):
                rows_in_cache = inner[start : start + _ROWS_IN_CACHE]
                rows_in_cache[:] = _gelu(rows_in_cache)
            tokens = self._normed(tokens + self._dense(inner, layer + "down"), layer + "last")
        return np.add.reduceat(tokens, starts) / counts[:, None].astype(np.float32)

    def _dense(self, states: FloatArray, name: str) -> FloatArray:
        return states @ self._arrays[f"{name}.weight"] + self._arrays[f"{name}.bias"]

    def _normed(self, states: FloatArray, name: str) -> FloatArray:
        states = states - states.mean(1, keepdims=True)
        variance = np.einsum("td,td->t", states, states)[:, None] / states.shape[1]
        states *= self._arrays[f"{name}.weight"] / np.sqrt(variance + np.float32(self._epsilon))
        return states + self._arrays[f"{name}.bias"]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _attention(states: FloatArray) -> FloatArray:
    """Queries, keys and values (3, heads, tokens, dim / heads) of one row to (tokens, dim)."""
    queries, keys, values = states
    scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(np.float32(keys.shape[2]))
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    return (weights @ values).transpose(1, 0, 2).reshape(keys.shape[1], -1)


def _gelu(states: FloatArray) -> FloatArray:
    """X (1 + erf(x / √2)) / 2."""
    scaled = np.clip(states * np.float32(0.5**0.5), -4, 4)
    square = scaled * scaled
    above, below = (np.zeros_like(square) for _ in _ERF)
    for sums, numbers in zip((above, below), _ERF):
        for number in map(np.float32, numbers.split()):
            sums *= square
            sums += number
    above *= scaled
    above /= below
    above += 1
    above *= states
    above *= np.float32(0.5)
    return above


def head_of(encoder: SentenceTransformer | QuickEncoder) -> HeadArrays | None:
    """The weights of an encoder's reply head; ``None`` if it has none."""
    head = getattr(encoder, "reply_head", None)
    return head if head is None or isinstance(head, HeadArrays) else head.arrays()
