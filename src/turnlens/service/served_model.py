"""The served model, which turns token rows into the same vectors as its own `encode` would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.rendering import longest_row
from turnlens.encoders.tokenizing import cut_texts
from turnlens.errors import TokenizerError
from turnlens.service.refusals import Refusal

if TYPE_CHECKING:
    from turnlens.service.worker import TokenRow
    from turnlens.store.store_encoder import StoreEncoder

_BATCH_TOKENS = 4096  # some slices, since those of texts sorted by length need less padding
_TEXTS_AT_ONCE = 64
_RECENT = 1024  # vectors
LONGEST_TEXT = 65_536  # characters; a text of this length must give some tens of tokens, or no model can read it
_CHARACTERS_PER_TOKEN = 16  # the most for a request; usual texts have about four


class ServedModel:
    """An encoder that several threads share.

    Args:
        embedder: The encoder. Only one thread may call `embed`.
        name: What clients call it; by default its Hub name or the name of its folder.
        batch_tokens: How many tokens go through it at a time.

    Raises:
        ValueError: The encoder gives vectors that are not finite, or is no transformer.
    """

    def __init__(self, embedder: StoreEncoder, name: str | None = None, batch_tokens: int | None = None) -> None:
        self.encoder: Encoder = embedder.encoder
        source = embedder.name
        if self.encoder.width is None:
            problem = "is not a transformer, and only transformers are served: embed and index accept it"
            raise ValueError(f"{source} {problem}")
        self._recent: dict[tuple[int, ...], FloatArray] = {}
        self._prompt = self.encoder.prompts.get(self.encoder.default_prompt_name or "", "")
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        self.name = name or (Path(source).name if Path(source).exists() else source)
        self.names = {self.name, self.name.rpartition("/")[2]}
        self.vocabulary_size = self.encoder.vocabulary
        self.limit = self.encoder.max_seq_length
        vectors = self.embed(self.tokenize(["a probe"]))
        if not np.isfinite(vectors).all():
            raise ValueError(f"{source} gives vectors that are not finite: its training has diverged, or it is damaged")
        self.dimension = vectors.shape[1]

    def starts(self, texts: Sequence[str], param: str, max_tokens: int) -> list[str]:
        """The part of each text that the model reads; long texts are examined only in part. For one thread at a time.

        Args:
            texts: The texts.
            param: The field of the request that holds them.
            max_tokens: The most tokens in a request, which limits the characters that are examined.

        Raises:
            Refusal: The texts are too long, or one is long but has hardly any tokens (413).
        """
        tokens = max(int(self.limit or max_tokens), longest_row(self.encoder))
        most, looked_at = _CHARACTERS_PER_TOKEN * max_tokens, 0
        ids = self.encoder.text_tokenizer.ids
        starts = []
        for text in texts:
            (start,) = cut_texts(ids, [text[:LONGEST_TEXT]], tokens)
            if len(start) == LONGEST_TEXT < len(text):
                problem = f"a request may have no text of {len(text):,} characters with hardly any tokens"
                raise Refusal(413, f"{param}: {problem}: leave it out, or shorten it", param)
            looked_at += len(start)
            if looked_at > most:
                raise Refusal(413, f"{param}: a request may have {most:,} characters to read: send less", param)
            starts.append(start)
        return starts

    def tokenize(self, texts: Sequence[str], param: str = "input", max_tokens: int | None = None) -> list[TokenRow]:
        """The token ids of texts as the encoder reads them, cut to its maximum length. For one thread at a time.

        Args:
            texts: The texts, none of them much longer than what the encoder reads; see `starts`.
            param: The field of the request that holds them.
            max_tokens: Most tokens.

        Raises:
            Refusal: The texts have more tokens (413).
        """
        rows: list[TokenRow] = []
        tokens = 0
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = list(texts[start : start + _TEXTS_AT_ONCE])
            rows += (new := self.encoder.token_rows(batch, self._prompt))
            if (highest := max(map(max, filter(None, new)), default=0)) >= self.vocabulary_size:
                raise Refusal(422, f"{param}: {TokenizerError(highest, self.vocabulary_size)}", param)
            tokens += sum(map(len, new))
            if max_tokens is not None and tokens > max_tokens:
                raise Refusal(413, f"{param}: a request may have {max_tokens:,} tokens, got more", param)
        return rows

    def embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        """The vectors of token rows, float32 (rows, dim). Equal rows are embedded once, and recent ones not again."""
        keys = [tuple(row) for row in rows]
        new = list(dict.fromkeys(key for key in keys if key not in self._recent))
        known = {key: self._recent[key] for key in keys if key in self._recent}
        if new:
            known |= zip(new, self.encoder.embed_rows(new))
            self._recent = dict([*self._recent.items(), *known.items()][-_RECENT:])
        return np.stack([known[key] for key in keys])
