"""Checks of an encoder when it is loaded: a damaged one gives vectors, too, but they mean nothing.

Encoders are checked alike with torch and without it, for Python, commands, stores and the service. What turnlens saves
has checksums of its files. Models of others have none: their weights are compared with what their ``config.json``
describes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from turnlens.encoders.tokenizing import lasting_settings

CHECKSUMS_FILE = "checksums.json"
_CHECKED = (".safetensors", ".json", ".txt", ".model", ".jinja")  # weights, settings, tokenizers
_UNCHECKED = (CHECKSUMS_FILE, "training.json", "trainer_state.json", "loss.safetensors")  # a training writes them later
_ADVICE = "Copy, download or train it again"
_MOST_LAYERS = 1000  # ten times the deepest in use; a layer takes a millisecond to build
_LENGTHS_FILE = "sentence_bert_config.json"
_WORDS = ("word_embeddings.weight", "embed_tokens.weight")
_SIZES = ("_size", "_embeddings", "_positions", "_dim", "d_model", "d_ff", "n_embd")
_SMALL = 2**26  # numbers, which any machine holds


class DamagedEncoder(ValueError):
    """A file of an encoder is damaged or missing, or belongs to another encoder."""


def refused(name: str, problem: str, advice: str = _ADVICE) -> DamagedEncoder:
    """The error that an encoder of this name is damaged."""
    return DamagedEncoder(f"cannot load the encoder {name!r}: {problem}. {advice}.")


@contextmanager
def refusing_damage(name: str) -> Iterator[None]:
    """Inside the block, a file of weights that cannot be read means that the encoder of this name is damaged."""
    try:
        yield
    except SafetensorError as error:
        problem = f"cannot load the encoder {name!r}: a file of weights is damaged: {error}"
        raise DamagedEncoder(problem) from error


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of each file that an encoder in this folder is loaded from."""
    files = (file for file in sorted(folder.rglob("*")) if file.suffix in _CHECKED and file.name not in _UNCHECKED)
    sums = {file.relative_to(folder).as_posix(): _checksum(file) for file in files if file.is_file()}
    (folder / CHECKSUMS_FILE).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _checksum(file: Path) -> str:
    """The SHA-256 of a file; of a tokenizer, without the state of its last call, with which trainers write it again."""
    if file.name == "tokenizer.json":
        with suppress(ValueError, RecursionError, AttributeError):
            return hashlib.sha256(json.dumps(lasting_settings(file.read_bytes())).encode()).hexdigest()
    return file_checksum(file)


def check_files(folder: Path, name: str) -> None:
    """Raise `DamagedEncoder` if files are not those of their checksums."""
    if not (folder / CHECKSUMS_FILE).is_file():
        return
    try:
        sums = dict(json.loads((folder / CHECKSUMS_FILE).read_text(encoding="utf-8")))
        inside = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    except (ValueError, TypeError) as error:
        raise refused(name, f"{CHECKSUMS_FILE} is damaged") from error
    changed = [file for file, known in sums.items() if file not in inside or _checksum(inside[file]) != known]
    if changed:
        problem = f"{_listed(changed)} changed since it was saved, or missing, by {CHECKSUMS_FILE}"
        raise refused(name, problem, f"{_ADVICE}, or delete {CHECKSUMS_FILE} if you changed it on purpose")


def check_settings(config: Mapping[str, Any], folder: Path, name: str) -> None:
    """Refuse sizes that take minutes or all memory to build before it shows that no weights are there for them.

    Args:
        config: What is in the ``config.json`` of a transformer.
        folder: The folder with its weights; what comes from the Hub has the size of its weights.
        name: The name of the encoder.
    """
    width, held = config.get("hidden_size", 0), sum(file.stat().st_size for file in folder.rglob("*.safetensors"))
    limits = {"layer": _MOST_LAYERS, "group": _MOST_LAYERS}  # words in names of settings
    if folder.is_dir() and isinstance(width, int) and width > 0:
        limits |= dict.fromkeys(_SIZES, (4 * held + _SMALL) // width)
    for key, value in config.items():
        limit = next((limits[word] for word in limits if word in key), None)
        if limit is not None and type(value) is int and value > limit:
            raise refused(name, f"{key} in its config.json is {value:,}, expected at most {limit:,}")
    tokens = None
    with suppress(OSError, ValueError, AttributeError):
        tokens = json.loads((folder / _LENGTHS_FILE).read_text(encoding="utf-8")).get("max_seq_length")
    if tokens is not None and (type(tokens) is not int or tokens < 1):
        problem = f"max_seq_length in its {_LENGTHS_FILE} is {tokens!r:.20}, expected a whole number above zero"
        raise refused(name, problem)


def check_tensors(
    missing: Collection[str], unexpected: Collection[str], shapes: Mapping[str, tuple[Any, Any]], name: str
) -> None:
    """Refuse weights that are not those that a ``config.json`` describes.

    Args:
        missing: The names of tensors that it describes and that are not there.
        unexpected: Those that are there, and that it does not describe.
        shapes: Those of another shape: the shape, and the expected one.
        name: The name of the encoder.
    """
    # Sentence vectors do not pass through poolers.
    missing = [key for key in missing if "pooler" not in key.split(".")]
    others = [f"{key} {tuple(got)} for {tuple(expected)}" for key, (got, expected) in shapes.items()]
    told = (
        (missing, "missing"),
        (unexpected, "not described by its config.json"),
        (others, "of another shape than in its config.json"),
    )
    if problems := [f"{_listed(keys, 'tensor')} {what}" for keys, what in told if keys]:
        raise refused(name, "; ".join(problems))


def check_finite(weights: Mapping[str, np.ndarray], name: str) -> None:
    """Refuse weights that are not numbers, and tables of words that were never written."""
    with np.errstate(all="ignore"):
        # A sum is not finite if one of its numbers is not, and reads each once, here in one thread.
        sums = {key: array.sum() for key, array in weights.items()}
    if broken := [key for key, total in sums.items() if not np.isfinite(total)]:
        raise refused(name, f"{_listed(broken, 'tensor')} not finite (NaN or infinite)")
    words = [key for key in sums if key.endswith(_WORDS) and sums[key] == 0 and not weights[key].any()]
    if words:
        raise refused(name, f"{_listed(words, 'tensor')} all zero")


def check_vocabulary(words: int, rows: int | None, has_words: bool, name: str) -> None:
    """Refuse a tokenizer that is missing, or is for another model.

    Args:
        words: How many words it has.
        rows: How many rows the table of their embeddings has, where that is known.
        has_words: Whether it has other tokens than special ones.
        name: The name of the encoder.
    """
    if not has_words:
        raise refused(name, "its tokenizer has no words, expected tokenizer.json or another vocabulary beside it")
    if isinstance(rows, int) and words > rows:
        raise refused(name, f"its tokenizer has {words:,} words, its table of them {rows:,} rows")


def _listed(names: Collection[str], noun: str = "file") -> str:
    first = ", ".join(sorted(names)[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(names)} {noun}{'s' if len(names) > 1 else ''} ({first}) {'are' if len(names) > 1 else 'is'}"
