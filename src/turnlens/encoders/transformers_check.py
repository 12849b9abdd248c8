"""The checks of `turnlens.encoders.weight_check` for an encoder that sentence-transformers loads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from turnlens.encoders.transformer import state_arrays
from turnlens.encoders.weight_check import check_files, check_finite, check_settings, check_tensors, check_vocabulary
from turnlens.errors import TokenizerError

_LOCK = threading.Lock()


@contextmanager
def checked_loading(encoder: SentenceTransformer, name: str) -> Iterator[None]:
    """Check an encoder that is loaded within, before and after.

    Args:
        encoder: The encoder, which is complete at the end.
        name: Its folder, or its name on the Hub.

    Raises:
        DamagedEncoder: Files are not those of their checksums; tensors are missing, unexpected, of another shape or
            not finite; settings are absurd; or the tokenizer is missing or is for another model.
    """
    check_files(Path(name), name)
    with _LOCK:
        original, thread = PreTrainedModel.__dict__["from_pretrained"], threading.get_ident()

        # The only way to have transformers' own account of what is missing, which knows the names of every release.
        def from_pretrained(cls: Any, path: Any, *arguments: Any, **settings: Any) -> Any:
            if threading.get_ident() != thread:
                return original.__func__(cls, path, *arguments, **settings)
            config = settings.get("config")
            if isinstance(config, PretrainedConfig):
                check_settings(config.get_text_config().to_dict(), Path(path), name)
            settings |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
            model, report = original.__func__(cls, path, *arguments, **settings)
            _check_report(model, report, name)
            return model

        PreTrainedModel.from_pretrained = classmethod(from_pretrained)
        try:
            yield
        finally:
            PreTrainedModel.from_pretrained = original
    floating = {key for key, tensor in encoder.state_dict().items() if tensor.is_floating_point()}
    check_finite({key: array for key, array in state_arrays(encoder).items() if key in floating}, name)
    _check_tokenizer(encoder, name)


def _refuse_ids_beyond(table: Any, inputs: tuple[Any, ...]) -> None:
    if inputs and inputs[0].numel() and int(inputs[0].max()) >= table.num_embeddings:
        raise TokenizerError(int(inputs[0].max()), table.num_embeddings)


def _check_report(model: PreTrainedModel, report: dict[str, Any], name: str) -> None:
    # Sentence vectors do not pass through heads of other tasks, which are outside of these parts.
    parts = {part for part, _ in model.named_children()} - {"pooler"}
    inside = ((key, key.removeprefix(f"{model.base_model_prefix}.")) for key in report["unexpected_keys"])
    unexpected = [key for key, place in inside if place.split(".")[0] in parts]
    shapes = {key: (got, expected) for key, got, expected in report["mismatched_keys"]}
    check_tensors(report["missing_keys"], unexpected, shapes, name)


def _check_tokenizer(encoder: SentenceTransformer, name: str) -> None:
    transformer, tokenizer = encoder.transformers_model, getattr(encoder, "tokenizer", None)
    if isinstance(tokenizer, PreTrainedTokenizerBase) and transformer is not None:
        rows = getattr(transformer.config.get_text_config(), "vocab_size", None)
        check_vocabulary(tokenizer.vocab_size, rows, len(tokenizer) > len(tokenizer.all_special_ids), name)
        # Words that were added may have ids beyond the table, which shows only in texts.
        transformer.get_input_embeddings().register_forward_pre_hook(_refuse_ids_beyond)
    elif isinstance(tokenizer, Tokenizer):  # of a static encoder
        check_vocabulary(tokenizer.get_vocab_size(False), getattr(encoder[0], "num_embeddings", None), True, name)
