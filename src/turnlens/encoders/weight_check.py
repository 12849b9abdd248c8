"""Checks of an encoder when it is loaded: a damaged one gives vectors, too, but they mean nothing.

`ConversationEncoder` calls them for Python, commands, stores and the service. What turnlens saves has checksums of its
files. Models of others have none: their weights are compared with what their ``config.json`` describes.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from turnlens.encoders.shipped.delta import file_checksum
from turnlens.errors import TokenizerError

CHECKSUMS_FILE = "checksums.json"
_CHECKED = (".safetensors", ".json", ".txt", ".model", ".jinja")  # weights, settings, tokenizers
_UNCHECKED = (CHECKSUMS_FILE, "training.json", "trainer_state.json", "loss.safetensors")  # a training writes them later
_ADVICE = "Copy, download or train it again"
_MOST_LAYERS = 1000  # ten times the deepest in use; a layer takes a millisecond to build
_SIZES = ("_size", "_embeddings", "_positions", "_dim", "d_model", "d_ff", "n_embd")
_SMALL = 2**26  # numbers, which any machine holds
_LOCK = threading.Lock()


class DamagedEncoder(ValueError):
    """A file of an encoder is damaged or missing, or belongs to another encoder."""


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of each file that an encoder in this folder is loaded from."""
    files = (file for file in sorted(folder.rglob("*")) if file.suffix in _CHECKED and file.name not in _UNCHECKED)
    sums = {file.relative_to(folder).as_posix(): _checksum(file) for file in files if file.is_file()}
    (folder / CHECKSUMS_FILE).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")


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
    _check_files(Path(name), name)
    with _LOCK:
        original, thread = PreTrainedModel.__dict__["from_pretrained"], threading.get_ident()

        # The only way to have transformers' own account of what is missing, which knows the names of every release.
        def from_pretrained(cls: Any, path: Any, *arguments: Any, **settings: Any) -> Any:
            if threading.get_ident() != thread:
                return original.__func__(cls, path, *arguments, **settings)
            _check_settings(settings.get("config"), path, name)
            settings |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
            model, report = original.__func__(cls, path, *arguments, **settings)
            _check_report(model, report, name)
            return model

        PreTrainedModel.from_pretrained = classmethod(from_pretrained)
        try:
            yield
        finally:
            PreTrainedModel.from_pretrained = original
    _check_finite(encoder, name)
    _check_tokenizer(encoder, name)


def _checksum(file: Path) -> str:
    """The SHA-256 of a file; of a tokenizer, without the state of its last call, with which trainers write it again."""
    if file.name == "tokenizer.json":
        with suppress(ValueError, RecursionError):
            settings = json.loads(file.read_bytes())
            if isinstance(settings, dict):
                lasting = {key: value for key, value in settings.items() if key not in ("truncation", "padding")}
                return hashlib.sha256(json.dumps(lasting).encode()).hexdigest()
    return file_checksum(file)


def _check_files(folder: Path, name: str) -> None:
    if not (folder / CHECKSUMS_FILE).is_file():
        return
    try:
        sums = dict(json.loads((folder / CHECKSUMS_FILE).read_text(encoding="utf-8")))
        inside = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    except (ValueError, TypeError) as error:
        raise _refused(name, f"{CHECKSUMS_FILE} is damaged") from error
    changed = [file for file, known in sums.items() if file not in inside or _checksum(inside[file]) != known]
    if changed:
        problem = f"{_listed(changed)} changed since it was saved, or missing, by {CHECKSUMS_FILE}"
        raise _refused(name, problem, f"{_ADVICE}, or delete {CHECKSUMS_FILE} if you changed it on purpose")


def _check_settings(config: Any, path: Any, name: str) -> None:
    """Refuse sizes that take minutes or all memory to build before it shows that no weights are there for them."""
    if not isinstance(config, PretrainedConfig):
        return
    text, folder = config.get_text_config(), Path(path)
    width, held = getattr(text, "hidden_size", 0), sum(file.stat().st_size for file in folder.rglob("*.safetensors"))
    limits = {"layer": _MOST_LAYERS, "group": _MOST_LAYERS}  # words in names of settings
    if folder.is_dir() and isinstance(width, int) and width > 0:  # what comes from the Hub has the size of its weights
        limits |= dict.fromkeys(_SIZES, (4 * held + _SMALL) // width)
    for key, value in text.to_dict().items():
        limit = next((limits[word] for word in limits if word in key), None)
        if limit is not None and type(value) is int and value > limit:
            raise _refused(name, f"{key} in its config.json is {value:,}, expected at most {limit:,}")


def _check_report(model: PreTrainedModel, report: dict[str, Any], name: str) -> None:
    parts = {part for part, _ in model.named_children()} - {"pooler"}
    # Sentence vectors do not pass through poolers, nor through heads of other tasks, which are outside of these parts.
    missing = [key for key in report["missing_keys"] if "pooler" not in key.split(".")]
    inside = ((key, key.removeprefix(f"{model.base_model_prefix}.")) for key in report["unexpected_keys"])
    unexpected = [key for key, place in inside if place.split(".")[0] in parts]
    shapes = [f"{key} {tuple(got)} for {tuple(expected)}" for key, got, expected in report["mismatched_keys"]]
    other = "not described by its config.json", "of another shape than in its config.json"
    told = (missing, "missing"), (unexpected, other[0]), (shapes, other[1])
    problems = [f"{_listed(keys, 'tensor')} {what}" for keys, what in told if keys]
    if problems:
        raise _refused(name, "; ".join(problems))


def _check_finite(encoder: SentenceTransformer, name: str) -> None:
    weights = {key: tensor for key, tensor in encoder.state_dict().items() if tensor.is_floating_point()}
    with np.errstate(all="ignore"):
        # A sum is not finite if one of its numbers is not, and reads each once, here in one thread.
        broken = [key for key, tensor in weights.items() if not np.isfinite(tensor.float().cpu().numpy().sum())]
    if broken:
        raise _refused(name, f"{_listed(broken, 'tensor')} not finite (NaN or infinite)")


def _check_tokenizer(encoder: SentenceTransformer, name: str) -> None:
    transformer, tokenizer = encoder.transformers_model, getattr(encoder, "tokenizer", None)
    words, rows = 0, None
    if isinstance(tokenizer, PreTrainedTokenizerBase) and transformer is not None:
        words, rows = tokenizer.vocab_size, getattr(transformer.config.get_text_config(), "vocab_size", None)
        if len(tokenizer) <= len(tokenizer.all_special_ids):
            raise _refused(name, "its tokenizer has no words, expected tokenizer.json or another vocabulary beside it")
    elif isinstance(tokenizer, Tokenizer):  # of a static encoder
        words, rows = tokenizer.get_vocab_size(False), getattr(encoder[0], "num_embeddings", None)
    if isinstance(rows, int) and words > rows:
        raise _refused(name, f"its tokenizer has {words:,} words, its table of them {rows:,} rows")
    if transformer is not None:  # words that were added may have ids beyond the table, which shows only in texts
        transformer.get_input_embeddings().register_forward_pre_hook(_refuse_ids_beyond)


def _refuse_ids_beyond(table: Any, inputs: tuple[Any, ...]) -> None:
    if inputs and inputs[0].numel() and int(inputs[0].max()) >= table.num_embeddings:
        raise TokenizerError(int(inputs[0].max()), table.num_embeddings)


def _listed(names: Collection[str], noun: str = "file") -> str:
    first = ", ".join(sorted(names)[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(names)} {noun}{'s' if len(names) > 1 else ''} ({first}) {'are' if len(names) > 1 else 'is'}"


def _refused(name: str, problem: str, advice: str = _ADVICE) -> DamagedEncoder:
    return DamagedEncoder(f"cannot load the encoder {name!r}: {problem}. {advice}.")
