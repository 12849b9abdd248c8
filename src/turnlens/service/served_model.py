"""The served model, which turns token rows into the same vectors as its own `encode` would."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.long_texts import counted_by, start_of, tokens_read
from turnlens.encoders.quick import QuickEncoder
from turnlens.errors import TokenizerError
from turnlens.service.refusals import Refusal

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.conversation_encoder import ConversationEncoder
    from turnlens.service.worker import TokenRow
    from turnlens.store.store_encoder import StoreEncoder

_SLICES_IN_BATCH = 2  # slices sorted by length need less padding than one batch
_TEXTS_AT_ONCE = 64
_SMALL = 512  # tokens, with which numpy is quicker than torch
_RECENT = 1024  # vectors
LONGEST_TEXT = 65_536  # characters; a text of this length must give some tens of tokens, or no model can read it
_CHARACTERS_PER_TOKEN = 16  # the most for a request; usual texts have about four


class ServedModel:
    """An encoder, with a second tokenizer for another thread. Before `load`, it embeds only texts.

    Args:
        embedder: The encoder, perhaps with one for queries. Only one thread may use it or call `embed`.
        name: What clients call it; by default its Hub name or the name of its folder.
        batch_tokens: How many tokens go through it at a time; by default what suits its device.

    Raises:
        ValueError: The encoder gives vectors that are not finite.
    """

    def __init__(self, embedder: StoreEncoder, name: str | None = None, batch_tokens: int | None = None) -> None:
        self._embedder = embedder
        self._quick = embedder.quick
        self._loaded: ConversationEncoder | None = None
        self._has_ended_loading = threading.Event()
        self._recent: dict[tuple[int, ...], FloatArray] = {}
        self._batch_tokens = batch_tokens
        self.batch_tokens = batch_tokens or _SMALL
        if self._quick is None:
            self.load()
        self._tokenizing = self._quick or _copied(self._unused)
        source = embedder.name
        self.name = name or (Path(source).name if Path(source).exists() else source)
        self.names = {self.name, self.name.rpartition("/")[2]}
        transformer: Any = None if self._quick else self.encoder.transformers_model
        rows = self._quick.vocabulary_size if self._quick else transformer.get_input_embeddings().num_embeddings
        self.vocabulary_size = int(rows)
        self.limit = self._tokenizing.max_seq_length
        vectors = self.embed(self.tokenize(["a probe"]))
        if not np.isfinite(vectors).all():
            raise ValueError(f"{source} gives vectors that are not finite: its training has diverged, or it is damaged")
        self.dimension = vectors.shape[1]

    def load(self) -> None:
        """Load the encoder itself, which any thread may do while another embeds."""
        try:
            self._load()
        finally:
            self._has_ended_loading.set()

    def _load(self) -> None:
        from turnlens.encoders.forward import slice_budget

        encoder = self._embedder.encoder.eval()
        if encoder.transformers_model is None:
            problem = "is not a transformer, and only transformers are served: embed and index accept it"
            raise ValueError(f"{self._embedder.name} {problem}")
        self._prompt = encoder.prompts.get(encoder.default_prompt_name or "")
        probe = encoder.preprocess(["a probe"], prompt=self._prompt)
        self._further = {name: value for name, value in probe.items() if name == "prompt_length"}
        self._budget = slice_budget(encoder.device)
        self.batch_tokens = self._batch_tokens or _SLICES_IN_BATCH * self._budget
        self._unused = _copied(encoder)  # for further copies, while others use the encoder
        self._loaded = encoder
        if encoder.device.type != "cpu":
            self._quick = None

    @property
    def encoder(self) -> ConversationEncoder:
        """The encoder.

        Raises:
            Refusal: It is being loaded (503).
        """
        if self._loaded is None:
            raise Refusal(503, "the model is being loaded, until then only texts are embedded", retry_after=5)
        return self._loaded

    def encoder_for(self, mode: str | None) -> ConversationEncoder | QuickEncoder:
        """The encoder that ranks replies; the mode "joined", which joins turns to a single text, takes the full one."""
        return self.encoder if mode == "joined" or self._loaded or not self._quick else self._quick

    def starts(self, texts: Sequence[str], param: str, max_tokens: int) -> list[str]:
        """The part of each text that the model reads; long texts are examined only in part. For one thread at a time.

        Args:
            texts: The texts.
            param: The field of the request that holds them.
            max_tokens: The most tokens in a request, which limits the characters that are examined.

        Raises:
            Refusal: The texts are too long, or one is long but has hardly any tokens (413).
        """
        tokens = tokens_read(self._tokenizing) or max_tokens
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
            rows += (new := self._rows(batch))
            if (highest := max(map(max, filter(None, new)), default=0)) >= self.vocabulary_size:
                raise Refusal(422, f"{param}: {TokenizerError(highest, self.vocabulary_size)}", param)
            tokens += sum(map(len, new))
            if max_tokens is not None and tokens > max_tokens:
                raise Refusal(413, f"{param}: a request may have {max_tokens:,} tokens, got more", param)
        return rows

    def _rows(self, texts: list[str]) -> list[TokenRow]:
        if isinstance(self._tokenizing, QuickEncoder):
            return list(self._tokenizing.tokenize(texts))
        features = self._tokenizing.preprocess(texts, prompt=self._prompt)
        return [ids[mask.bool()].tolist() for ids, mask in zip(features["input_ids"], features["attention_mask"])]

    def embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        """The vectors of token rows, float32 (rows, dim). Equal rows are embedded once, and recent ones not again."""
        keys = [tuple(row) for row in rows]
        new = list(dict.fromkeys(key for key in keys if key not in self._recent))
        known = {key: self._recent[key] for key in keys if key in self._recent}
        if new:
            quick, is_small = self._quick, self._loaded is None or sum(map(len, new)) <= _SMALL
            known |= zip(new, quick.embed(new) if quick is not None and is_small else self._embed(new))
            self._recent = dict([*self._recent.items(), *known.items()][-_RECENT:])
        return np.stack([known[key] for key in keys])

    def _embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        import torch

        from turnlens.encoders.forward import slice_rows
        from turnlens.encoders.inference import inference

        encoder = self.encoder
        lengths = torch.tensor([len(row) for row in rows])
        order = lengths.argsort(stable=True)
        vectors: list[torch.Tensor] = []
        for numbers in slice_rows(order, lengths[order].tolist(), self._budget):
            features = encoder.tokenizer.pad({"input_ids": [list(rows[row]) for row in numbers]}, return_tensors="pt")
            features = {name: tensor.to(encoder.device) for name, tensor in features.items()}
            with inference(encoder.device):
                vectors.append(encoder({**features, **self._further})["sentence_embedding"].float())
        embedded = torch.cat(vectors)[order.argsort()][:, : encoder.truncate_dim]
        return embedded.cpu().numpy()

    def behind(self, run: Callable[[Callable[[], Any], int], Any]) -> SentenceTransformer:
        """A copy of the encoder for another thread. It has its own tokenizer, but computes in the thread of the model.

        Args:
            run: Runs a call in the thread of the model and returns its result. It also receives the number of tokens.
        """
        self._has_ended_loading.wait()  # changes of a store take their time anyway
        from turnlens.encoders.inference import inference

        encoder = self.encoder

        def forward(features: dict[str, Any], **further: Any) -> Any:
            def run_pass() -> Any:
                with inference(encoder.device):
                    return encoder(features, **further)

            return run(run_pass, features["input_ids"].numel())

        copied = _copied(self._unused)
        copied.forward = forward  # type: ignore[method-assign, assignment]
        return copied


def _copied(encoder: ConversationEncoder) -> ConversationEncoder:
    """A copy that shares the weights but not the tokenizer, which two threads must not use at the same time."""
    shared = {id(tensor): tensor for tensor in [*encoder.parameters(), *encoder.buffers()]}
    return copy.deepcopy(encoder, shared)
