"""An encoder as arrays: the weights of its transformer, its pooling, and what comes after that; read and run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from turnlens._utils.processes import give_back_memory
from turnlens._utils.registries import ADDED_WEIGHTS
from turnlens._utils.vectors import FloatArray
from turnlens.encoders.onnx_graph import Forward, is_supported, tensor_shapes
from turnlens.encoders.weight_check import check_finite, check_settings, check_tensors

_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}  # as older files name them
_ACTIVATIONS: dict[str, Any] = {"Identity": np.asarray, "Tanh": np.tanh}


class NeedsTorch(Exception):
    """An encoder that only torch can compute; the text says why."""


@dataclass(frozen=True)
class Dense:
    """A linear layer after the pooling.

    Attributes:
        weight: Its matrix (out, in).
        bias: (out,)
        activation: The name of the function after it.
    """

    weight: FloatArray
    bias: FloatArray
    activation: str

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Vectors (n, in) to vectors (n, out)."""
        return np.asarray(_ACTIVATIONS[self.activation](vectors @ self.weight.T + self.bias))


@dataclass(frozen=True)
class EncoderParts:
    """An encoder as arrays. Threads may share it.

    Attributes:
        config: What is in the ``config.json`` of its transformer.
        read_weights: Returns the transformer's tensors, in the precision they were saved in. They are read each time,
            so that they are not in memory beside those of the forward pass.
        pooling: ``"mean"`` or ``"cls"``.
        after: What comes after the pooling; ``None`` stands for scaling to length 1.
        threads: Number of processor threads; 0 is one for each core.
    """

    config: Mapping[str, Any]
    read_weights: Callable[[], Mapping[str, FloatArray]]
    pooling: str
    after: tuple[Dense | None, ...]
    threads: int = 0

    @cached_property
    def digest(self) -> str:
        """A hash of all that its vectors depend on but for the tokenizer."""
        layers = [layer and layer.activation for layer in self.after]
        digest = hashlib.blake2b(repr((self.pooling, layers)).encode(), digest_size=10)
        dense = [array for layer in self.after if layer for array in (layer.weight, layer.bias)]
        for name, array in [
            *sorted(self.read_weights().items()),
            *((str(row), array) for row, array in enumerate(dense)),
        ]:
            digest.update(name.encode() + np.ascontiguousarray(array, np.float32).data)
        return digest.hexdigest()

    @cached_property
    def forward(self) -> Forward:
        """The forward pass of its transformer."""
        forward = Forward(self.config, self.read_weights(), self.threads)
        give_back_memory()  # of the arrays that it was made of
        return forward


def read_parts(folder: Path, name: str) -> tuple[EncoderParts, Path]:
    """Read an encoder, and return it with the folder of its transformer.

    Raises:
        DamagedEncoder: See `turnlens.encoders.weight_check`.
        NeedsTorch: It is made of other modules, or of a transformer of another kind.
    """
    first, *modules = [
        (entry["type"].rpartition(".")[2], folder / entry["path"]) for entry in read_json(folder, "modules")
    ]
    if first[0] != "Transformer" or not modules or modules[0][0] != "Pooling":
        raise NeedsTorch("is not a transformer with a pooling")
    place = first[1]
    config, settings = read_json(place, "config"), read_json(place, "sentence_bert_config", {})
    if not is_supported(config):
        raise NeedsTorch(f"is of the kind {config.get('model_type')!r}")
    if settings.get("do_lower_case") or set(settings.get("modality_config", {})) - {"text", "message"}:
        raise NeedsTorch("prepares its texts in its own way")
    check_settings(config, place, name)
    read_weights = partial(_weights, place, config, name)
    weights = read_weights()
    parts = EncoderParts(
        config,
        read_weights,
        _pooling(modules[0][1], config["hidden_size"]),
        tuple(_layers(modules[1:], config["hidden_size"], name)),
    )
    inside = {f"0.model.{key}": array for key, array in weights.items()}
    for row, layer in enumerate(parts.after, start=2):
        if layer is not None:
            inside |= {f"{row}.linear.weight": layer.weight, f"{row}.linear.bias": layer.bias}
    check_finite(inside, name)
    return parts, place


def read_json(folder: Path, name: str, default: Any = None) -> Any:
    """The contents of a JSON file of a folder, by its name without the ending; the default if there is no such file."""
    file = folder / f"{name}.json"
    return default if default is not None and not file.is_file() else json.loads(file.read_text(encoding="utf-8"))


def _weights(folder: Path, config: Mapping[str, Any], name: str) -> dict[str, FloatArray]:
    if not (folder / "model.safetensors").is_file():
        raise NeedsTorch("has its weights in several files, or in none")
    arrays = _without_prefix(load_file(folder / "model.safetensors"))
    if any(key.startswith(f"{part}.") for key in arrays for part in ADDED_WEIGHTS):
        raise NeedsTorch("has further inputs")
    if {array.dtype for array in arrays.values()} - {np.dtype(kind) for kind in (np.float32, np.float16, np.int64)}:
        raise NeedsTorch("has weights of another precision")
    inside = {key for key in arrays if key.startswith(("embeddings.", "encoder."))} - {"embeddings.position_ids"}
    return _expected(tensor_shapes(config), arrays, inside, name)


def _expected(
    expected: Mapping[str, tuple[int, ...]], arrays: Mapping[str, FloatArray], inside: Set[str], name: str
) -> dict[str, FloatArray]:
    """The tensors of these shapes, which must be all those inside an encoder."""
    shapes = {key: (arrays[key].shape, shape) for key, shape in expected.items() if key in arrays}
    others = {key: pair for key, pair in shapes.items() if pair[0] != pair[1]}
    check_tensors(expected.keys() - arrays.keys(), inside - expected.keys(), others, name)
    return {key: arrays[key] for key in expected}


def _without_prefix(arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Tensors by their names inside the transformer; a model with heads has its own name before them."""
    prefixes = [key.partition("embeddings.")[0] for key in arrays if key.endswith(".word_embeddings.weight")]
    prefix = prefixes[0] if prefixes in (["bert."], ["roberta."]) else ""
    return {key.removeprefix(prefix): array for key, array in arrays.items()}


def _pooling(folder: Path, width: int) -> str:
    config = read_json(folder, "config")
    modes = [_POOLINGS.get(key, key) for key in config if key.startswith("pooling_mode_") and config[key]]
    length = config.get("embedding_dimension", config.get("word_embedding_dimension", width))
    if length != width:
        raise ValueError(f"its pooling module is for vectors of {length} numbers, its transformer gives {width}")
    return check_pooling(config.get("pooling_mode", modes), config.get("include_prompt", True))


def check_pooling(mode: Any, include_prompt: bool) -> str:
    """Return a way of pooling if it is one that is computed here, else raise `NeedsTorch`."""
    mode = mode[0] if isinstance(mode, list) and len(mode) == 1 else mode
    if mode not in _POOLINGS.values() or not include_prompt:
        raise NeedsTorch(f"pools its tokens in another way ({mode})")
    return str(mode)


def _layers(modules: Sequence[tuple[str, Path]], width: int, name: str) -> Iterator[Dense | None]:
    """The modules after the pooling, which gives vectors of this width."""
    for number, (kind, folder) in enumerate(modules, start=2):
        if kind == "Normalize":
            yield None
            continue
        config = read_json(folder, "config", {})
        activation = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
        check_after(kind, activation, config)
        weights = {f"{number}.{key}": array for key, array in load_file(folder / "model.safetensors").items()}
        weight, bias = f"{number}.linear.weight", f"{number}.linear.bias"
        length = config.get("out_features", len(weights.get(weight, ())))
        expected = {weight: (length, width)} | ({bias: (length,)} if config.get("bias", True) else {})
        weights = _expected(expected, weights, weights.keys(), name)
        biases = weights.get(bias, np.zeros(length)).astype(np.float32)
        yield Dense(weights[weight].astype(np.float32), biases, activation)
        width = length


def check_after(kind: str, activation: str, config: Mapping[str, Any]) -> None:
    """Raise `NeedsTorch` for a module after the pooling that is not computed here."""
    names = {config.get(key) or "sentence_embedding" for key in ("module_input_name", "module_output_name")}
    if kind != "Dense" or activation not in _ACTIVATIONS or config.get("use_residual") or len(names) > 1:
        raise NeedsTorch(f"has a module {kind} ({activation})")
