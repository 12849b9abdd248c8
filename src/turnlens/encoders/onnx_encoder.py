"""The encoder that needs no torch: a folder as arrays and a tokenizer, run by ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from typing_extensions import override

from turnlens._utils.registries import PUBLISHED_PROMPTS, REPLY_MODELS
from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.encoders.centre import CENTRE_FILE, Centre, check_centre, read_centre
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.encoder_parts import EncoderParts, NeedsTorch, read_json, read_parts
from turnlens.encoders.folders import published_source
from turnlens.encoders.onnx_graph import first_position
from turnlens.encoders.rendering import TokenRows
from turnlens.encoders.reply_scores import HEAD_FILE, HeadArrays, check_head, read_head
from turnlens.encoders.tokenizing import TextTokenizer, file_tokenizer, lasting_settings
from turnlens.encoders.weight_check import DamagedEncoder, check_files, check_vocabulary, refusing_damage

_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")


class OnnxEncoder(Encoder):
    """A BERT-like encoder on processors, by ONNX Runtime. Threads may share it.

    `turnlens.load_encoder` makes it. It cannot be trained: `turnlens.train` loads the encoder again, with torch.

    Args:
        parts: The encoder as arrays.
        tokenizer: Its tokenizer.
        source: Where it was loaded from.
        prompts: See `Encoder`.
        default_prompt_name: See `Encoder`.
    """

    text_tokenizer: TextTokenizer
    tokenizing: str
    width: int
    vocabulary: int
    positions: int

    def __init__(
        self,
        parts: EncoderParts,
        tokenizer: TextTokenizer,
        source: str,
        prompts: Mapping[str, str],
        default_prompt_name: str | None = None,
        tokenizing: str = "",
    ) -> None:
        self.parts, self.source = parts, source
        self.prompts, self.default_prompt_name = dict(prompts), default_prompt_name
        self.max_seq_length = tokenizer.limit
        self.text_tokenizer, self.tokenizing = tokenizer, tokenizing
        self.width, self.vocabulary = int(parts.config["hidden_size"]), int(parts.config["vocab_size"])
        self.positions = int(parts.config["max_position_embeddings"]) - first_position(parts.config)

    @classmethod
    def load(cls, folder: Path, name: str) -> OnnxEncoder:
        """Load an encoder from its folder.

        Args:
            folder: The folder.
            name: The name it was asked for by.

        Raises:
            DamagedEncoder: See `turnlens.encoders.weight_check`.
            NeedsTorch: See `turnlens.encoders.encoder_parts.read_parts`.
            OSError, ValueError, KeyError, TypeError: Its files are no encoder.
        """
        check_files(folder, name)
        parts, place = read_parts(folder, name)
        tokenizer, tokenizing = _tokenizer(place, parts, name)
        settings = read_json(folder, "config_sentence_transformers", {})
        prompts = {"query": "", "document": "", **(settings.get("prompts") or {})}
        if REPLY_MODELS.first_of(prompts) or settings.get("truncate_dim"):
            raise NeedsTorch("is one of a paper, or cuts its vectors")
        default = settings.get("default_prompt_name")
        encoder = cls(parts, tokenizer, published_source(name), prompts, default, tokenizing)
        encoder.reply_head, encoder.centre = read_beside(folder, encoder.get_embedding_dimension())
        return encoder

    @override
    def get_embedding_dimension(self) -> int:
        sizes = [len(layer.weight) for layer in self.parts.after if layer is not None]
        return sizes[-1] if sizes else self.width

    @property
    @override
    def weights_digest(self) -> str:
        return self.parts.digest

    @override
    def limit_threads(self, threads: int) -> None:
        self.parts = replace(self.parts, threads=threads)

    @override
    def embed_rows(self, rows: Sequence[Sequence[int]], most: int | None = None) -> FloatArray:
        pooled = np.zeros((len(rows), self.width), np.float32)
        for numbers, states, lengths in self.parts.forward.slices(rows, most):
            if self.parts.pooling == "cls":
                pooled[numbers] = states[:, 0]
            else:
                inside = (np.arange(states.shape[1]) < lengths[:, None]).astype(np.float32)
                pooled[numbers] = (inside[:, None] @ states)[:, 0] / np.maximum(lengths, 1)[:, None]
        return self.after_pooling(pooled)

    @override
    def embed_batch(
        self, texts: list[str], prompt: str, batch_size: int | None, dtype: Half | None, newest: bool
    ) -> FloatArray:
        _check_precision(dtype)
        return self.embed_rows(self.text_tokenizer.rows(texts, prompt, newest), batch_size)

    @override
    def token_sums(
        self, rows: TokenRows, owners: Sequence[Sequence[int]], count: int, dtype: Half | None = None
    ) -> tuple[FloatArray, FloatArray]:
        _check_precision(dtype)
        sums, counts = np.zeros((count, self.width), np.float32), np.zeros(count, np.float32)
        for numbers, states, lengths in self.parts.forward.slices(rows.ids):
            tokens = np.concatenate([states[place, :length] for place, length in enumerate(lengths)])
            owner = np.concatenate([owners[number] for number in numbers]).astype(np.int64)
            order = owner.argsort(kind="stable")
            found, starts = np.unique(owner[order], return_index=True)
            if len(found):
                sums[found] += np.add.reduceat(tokens[order], starts)
                counts += np.bincount(owner, minlength=count)
        return sums, counts

    @override
    def after_pooling(self, vectors: FloatArray) -> FloatArray:
        for layer in self.parts.after:
            vectors = unit_vectors(vectors) if layer is None else layer(vectors)
        return vectors.astype(np.float32, copy=False)


def _check_precision(dtype: Half | None) -> None:
    if dtype is not None:
        raise ValueError(f"dtype={dtype!r} needs torch: load the encoder with device='cpu', or leave dtype out")


def read_beside(folder: Path, dim: int | None) -> tuple[HeadArrays | None, dict[str, Centre]]:
    """The reply head and the centre that were saved beside an encoder, where there are such.

    Args:
        folder: The folder.
        dim: The length of the encoder's vectors.

    Raises:
        DamagedEncoder: A file is damaged, or belongs to another encoder.
    """
    path = folder / HEAD_FILE
    with refusing_damage(str(folder)):
        try:
            head = read_head(path) if path.is_file() else None
            if head is not None:
                check_head(head, dim)
            path = folder / CENTRE_FILE
            centre = read_centre(path) if path.is_file() else {}
            check_centre(centre, dim)
        except ValueError as error:
            problem = str(error)
            raise DamagedEncoder(problem if str(path) in problem else f"{path}: {problem}") from error
    return head, centre


def _tokenizer(folder: Path, parts: EncoderParts, name: str) -> tuple[TextTokenizer, str]:
    """The tokenizer of an encoder, and all that its tokens depend on."""
    check_vocabulary(0, None, any(file for name in _VOCABULARIES for file in folder.glob(name)), name)
    if not (folder / "tokenizer.json").is_file():
        raise NeedsTorch("has no tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings = read_json(folder, "tokenizer_config", {})
    if (folder / "chat_template.jinja").is_file():
        settings["chat_template"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    if PUBLISHED_PROMPTS.first_of(added):
        raise NeedsTorch("is one of a paper")
    words = tokenizer.get_vocab_size(with_added_tokens=False)
    check_vocabulary(words, parts.config["vocab_size"], tokenizer.get_vocab_size() > len(special), name)
    limit = read_json(folder, "sentence_bert_config", {}).get("max_seq_length")
    if limit is None:
        limit = min(settings.get("model_max_length") or 512, parts.config["max_position_embeddings"])
    text_tokenizer = file_tokenizer(tokenizer, settings, int(limit))
    limits = (text_tokenizer.limit, None, text_tokenizer.template)
    return text_tokenizer, json.dumps(lasting_settings(tokenizer.to_str()), sort_keys=True) + repr(limits)
