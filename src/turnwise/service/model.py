"""The served model, which turns token rows into the same vectors as its own `encode` would."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import FloatArray
from turnwise.encoders.forward import TOKENS_PER_SLICE, slice_rows
from turnwise.encoders.identity import encoder_source
from turnwise.encoders.inference import inference
from turnwise.encoders.long_texts import counted_by, start_of, tokens_read
from turnwise.encoders.quick import QuickEncoder
from turnwise.service.batching import TokenRow
from turnwise.service.errors import Refusal

_SLICES_IN_BATCH = 2  # slices sorted by length need less padding than one batch
_TEXTS_AT_ONCE = 64
_SMALL = 512  # tokens, with which numpy is quicker than torch
_RECENT = 1024  # vectors
LONGEST_TEXT = 65_536  # characters; a text of this length must give some tens of tokens, or no model can read it
_CHARACTERS_PER_TOKEN = 16  # the most for a request; usual texts have about four


class ServedModel:
    """An encoder, with a second tokenizer for another thread.

    Args:
        encoder: The encoder. Only one thread may use it or call `embed`.
        name: What clients call it; by default its Hub name or the name of its folder.
        batch_tokens: How many tokens go through it at a time; by default what suits its device.
        quick: The same encoder for small batches on a processor.

    Raises:
        ValueError: The encoder gives vectors that are not finite.
    """

    def __init__(
        self,
        encoder: SentenceTransformer,
        name: str | None = None,
        batch_tokens: int | None = None,
        quick: QuickEncoder | None = None,
    ) -> None:
        self.encoder = encoder.eval()
        self._quick = quick if encoder.device.type == "cpu" else None
        self._recent: dict[tuple[int, ...], FloatArray] = {}
        source = encoder_source(encoder)
        if encoder.transformers_model is None:
            raise ValueError(
                f"{source} is not a transformer, and only transformers are served: embed and index accept it"
            )
        self.name = name or (Path(source).resolve().name if Path(source).exists() else source)
        self.names = {self.name, self.name.rpartition("/")[2]}
        self.batch_tokens = batch_tokens or _SLICES_IN_BATCH * TOKENS_PER_SLICE.get(encoder.device.type, 8192)
        self.vocabulary_size = len(encoder.tokenizer)
        self.limit = encoder.max_seq_length
        self._prompt = encoder.prompts.get(encoder.default_prompt_name or "")
        self._tokenizing = self._copy()
        probe = self._tokenizing.preprocess(["a probe"], prompt=self._prompt)
        self._further = {name: value for name, value in probe.items() if name == "prompt_length"}
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
        tokens = tokens_read(self.encoder) or max_tokens
        most, looked_at = _CHARACTERS_PER_TOKEN * max_tokens, 0
        count_tokens = counted_by(self._tokenizing)

        def count(start: str) -> int:
            nonlocal looked_at
            looked_at += len(start)
            if looked_at > most:
                raise Refusal(413, f"{param}: a request may have {most:,} characters to read: send less", param)
            return count_tokens(start)

        starts = []
        for text in texts:
            start = start_of(text, tokens, count, LONGEST_TEXT)
            if start is None:
                problem = f"a request may have no text of {len(text):,} characters with hardly any tokens"
                raise Refusal(413, f"{param}: {problem}: leave it out, or shorten it", param)
            starts.append(start)
        if sum(map(len, starts)) > most:
            raise Refusal(413, f"{param}: a request may have {most:,} characters to read: send less", param)
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
            features = self._tokenizing.preprocess(batch, prompt=self._prompt)
            for ids, mask in zip(features["input_ids"], features["attention_mask"]):
                rows.append(ids[mask.bool()].tolist())
                tokens += len(rows[-1])
            if max_tokens is not None and tokens > max_tokens:
                raise Refusal(413, f"{param}: a request may have {max_tokens:,} tokens, got more", param)
        return rows

    def embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        """The vectors of token rows, float32 (rows, dim). Equal rows are embedded once, and recent ones not again."""
        keys = [tuple(row) for row in rows]
        new = list(dict.fromkeys(key for key in keys if key not in self._recent))
        known = {key: self._recent[key] for key in keys if key in self._recent}
        if new:
            is_small = self._quick is not None and sum(map(len, new)) <= _SMALL
            known |= zip(new, self._quick.embed(new) if self._quick is not None and is_small else self._embed(new))
            self._recent = dict([*self._recent.items(), *known.items()][-_RECENT:])
        return np.stack([known[key] for key in keys])

    def _embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        lengths = torch.tensor([len(row) for row in rows])
        order = lengths.argsort(stable=True)
        budget = TOKENS_PER_SLICE.get(self.encoder.device.type, 8192)
        vectors: list[torch.Tensor] = []
        for numbers in slice_rows(order, lengths[order].tolist(), budget):
            features = self.encoder.tokenizer.pad(
                {"input_ids": [list(rows[row]) for row in numbers]}, return_tensors="pt"
            )
            features = {name: tensor.to(self.encoder.device) for name, tensor in features.items()}
            with inference(self.encoder.device):
                vectors.append(self.encoder({**features, **self._further})["sentence_embedding"].float())
        embedded = torch.cat(vectors)[order.argsort()][:, : self.encoder.truncate_dim]
        return embedded.cpu().numpy()

    def behind(self, run: Callable[[Callable[[], Any], int], Any]) -> SentenceTransformer:
        """A copy of the encoder for another thread. It has its own tokenizer, but computes in the thread of the model.

        Args:
            run: Runs a call in the thread of the model and returns its result. It also receives the number of tokens.
        """
        encoder = self.encoder

        def forward(features: dict[str, Any], **further: Any) -> Any:
            def run_pass() -> Any:
                with inference(encoder.device):
                    return encoder(features, **further)

            return run(run_pass, features["input_ids"].numel())

        copied = self._copy()
        copied.forward = forward  # type: ignore[method-assign, assignment]
        return copied

    def _copy(self) -> SentenceTransformer:
        """A copy that shares the weights but not the tokenizer, which two threads must not use at the same time."""
        shared = {id(tensor): tensor for tensor in [*self.encoder.parameters(), *self.encoder.buffers()]}
        return copy.deepcopy(self.encoder, shared)
