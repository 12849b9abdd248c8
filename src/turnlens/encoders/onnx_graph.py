"""BERT-like transformers in ONNX Runtime, without torch: a small graph, and weights that it is given by name.

The graph is written here, in the wire format of protocol buffers, from the operators that ONNX Runtime has for
transformers. It is the same for every encoder of the same layers and widths.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.errors import TokenizerError

TOKENS_PER_SLICE = 1024  # padded ones: their states stay in a processor's caches
_EMBEDDINGS = "embeddings."
_SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_FLOAT, _INT = 1, 6  # types of tensors: float32 and int32
_FUSED = "com.microsoft"  # the domain of ONNX Runtime's own operators


def is_supported(config: Mapping[str, Any]) -> bool:
    """Return whether a transformer with this ``config.json`` is one that `Forward` computes."""
    plain = not any(config.get(name) for name in ("is_decoder", "add_cross_attention", "quantization_config"))
    usual = {"hidden_act": "gelu", "position_embedding_type": "absolute"}
    is_usual = all(config.get(name, value) == value for name, value in usual.items())
    are_sizes = all(type(config.get(name)) is int for name in _SIZES)
    return config.get("model_type") in ("bert", "roberta", "xlm-roberta") and plain and is_usual and are_sizes


def first_position(config: Mapping[str, Any]) -> int:
    """The row of the table of positions that belongs to the first token: RoBERTa counts from its padding token."""
    return 0 if config["model_type"] == "bert" else int(config.get("pad_token_id", 1)) + 1


def tensor_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the tensors that a transformer with this ``config.json`` has."""
    dim, inner = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        f"{_EMBEDDINGS}word_embeddings.weight": (config["vocab_size"], dim),
        f"{_EMBEDDINGS}position_embeddings.weight": (config["max_position_embeddings"], dim),
        f"{_EMBEDDINGS}token_type_embeddings.weight": (config["type_vocab_size"], dim),
    }

    def add(name: str, *shape: int) -> None:
        shapes.update({f"{name}.weight": shape, f"{name}.bias": shape[:1]})

    add(f"{_EMBEDDINGS}LayerNorm", dim)
    for layer in range(config["num_hidden_layers"]):
        place = f"encoder.layer.{layer}."
        for part in (*_MIXED, "attention.output.dense"):
            add(place + part, dim, dim)
        add(place + "intermediate.dense", inner, dim)
        add(place + "output.dense", dim, inner)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            add(place + part, dim)
    return shapes


_MIXED = tuple(f"attention.self.{part}" for part in ("query", "key", "value"))


class Forward:
    """The forward pass of a transformer: token ids to the states of the last layer. Threads may share it.

    Args:
        config: What is in its ``config.json``.
        weights: Its tensors, of any precision, by the names of `tensor_shapes`.
        threads: Number of processor threads; 0 is one for each core.
    """

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, FloatArray], threads: int = 0) -> None:
        import onnxruntime

        graph = _Graph(config, weights)
        options = onnxruntime.SessionOptions()
        # A thread that waits by spinning takes a processor from others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.arrays.values()]
        options.add_external_initializers(list(graph.arrays), values)  # it copies them
        self._session = onnxruntime.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        self._words = len(graph.arrays["words"])
        self.dim = config["hidden_size"]

    def __call__(self, ids: np.ndarray, lengths: np.ndarray) -> FloatArray:
        """The states of tokens (rows, length, dim); those of padding mean nothing.

        Args:
            ids: Token ids, int32, padded on the right with any (rows, length).
            lengths: How many tokens each row has, int32 (rows,).

        Raises:
            TokenizerError: An id is beyond the table of words.
        """
        if ids.size and ids.max() >= self._words:
            raise TokenizerError(int(ids.max()), self._words)
        (states,) = self._session.run(["states"], {"ids": ids, "lengths": lengths})
        return states

    def slices(
        self, rows: Sequence[Sequence[int]], most: int | None = None
    ) -> Iterator[tuple[np.ndarray, FloatArray, np.ndarray]]:
        """Run rows of token ids, sorted by length, in slices of about `TOKENS_PER_SLICE`.

        Yields:
            The numbers of some rows (n,), the states of their tokens (n, length, dim), and how many each has (n,).
        """
        lengths = np.array([len(row) for row in rows], np.int32)
        order = lengths.argsort(kind="stable")
        start = 0
        for end in range(1, len(order) + 1):
            if end == len(order) or (end + 1 - start) * lengths[order[end]] > TOKENS_PER_SLICE or end - start == most:
                numbers = order[start:end]
                ids = np.zeros((len(numbers), max(1, lengths[numbers[-1]])), np.int32)
                for place, number in enumerate(numbers):
                    ids[place, : lengths[number]] = rows[number]
                yield numbers, self(ids, lengths[numbers]), lengths[numbers]
                start = end


class _Graph:
    """The operators of a transformer, and the arrays they read."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, FloatArray]) -> None:
        self.arrays: dict[str, FloatArray] = {}
        self._weights, self._nodes = weights, bytearray()
        self._norm = {"epsilon": float(config.get("layer_norm_eps", 1e-12))}
        positions = weights[f"{_EMBEDDINGS}position_embeddings.weight"][first_position(config) :].astype(np.float32)
        types = weights[f"{_EMBEDDINGS}token_type_embeddings.weight"][0]  # all tokens of a text are of the first type
        words = self._keep("words", weights[f"{_EMBEDDINGS}word_embeddings.weight"])
        places, norm = self._keep("positions", positions + types), self._pair(f"{_EMBEDDINGS}LayerNorm")
        self._add("EmbedLayerNormalization", ["ids", "", words, places, "", *norm], ["0", "unused"], self._norm)
        layers = config["num_hidden_layers"]
        for layer in range(layers):
            start, place = str(layer), f"encoder.layer.{layer}."
            joined = [np.concatenate([weights[f"{place}{part}.{kind}"] for part in _MIXED]) for kind in _KINDS]
            mixed = [self._keep(f"{start}.mixed.{kind}", array.T) for kind, array in zip(_KINDS, joined)]
            heads = config["num_attention_heads"]
            self._add("Attention", [start, *mixed, "lengths"], [f"{start}.attended"], {"num_heads": heads})
            self._dense(f"{place}attention.output", f"{start}.attended", start, f"{start}.middle")
            inner = self._product(f"{place}intermediate.dense", f"{start}.middle")
            self._add("BiasGelu", [inner, self._pair(f"{place}intermediate.dense")[1]], [f"{start}.inner"])
            end = "states" if layer + 1 == layers else str(layer + 1)
            self._dense(f"{place}output", f"{start}.inner", f"{start}.middle", end)

    def _dense(self, part: str, states: str, before: str, result: str) -> None:
        """A linear layer, the states from before it added, and their normalisation."""
        product, bias = self._product(f"{part}.dense", states), self._pair(f"{part}.dense")[1]
        norm = self._pair(f"{part}.LayerNorm")
        self._add("SkipLayerNormalization", [product, before, *norm, bias], [result], self._norm)

    def _product(self, part: str, states: str) -> str:
        matrix = self._keep(f"{part}.matrix", self._weights[f"{part}.weight"].T)
        self._add("MatMul", [states, matrix], [f"{part}.product"], domain="")
        return f"{part}.product"

    def _pair(self, part: str) -> list[str]:
        """The weight and the bias of a part, of which a matrix is left out."""
        names = [f"{part}.{kind}" for kind in _KINDS]
        return [self._keep(name, array) if (array := self._weights[name]).ndim == 1 else "" for name in names]

    def _keep(self, name: str, array: FloatArray) -> str:
        self.arrays[name] = np.ascontiguousarray(array, np.float32)
        return name

    def _add(
        self,
        operator: str,
        inputs: list[str],
        outputs: list[str],
        attributes: Mapping[str, float] | None = None,
        domain: str = _FUSED,
    ) -> None:
        node = b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs)
        node += _field(4, operator) + b"".join(_field(5, _attribute(*entry)) for entry in (attributes or {}).items())
        self._nodes += _field(1, node + _field(7, domain))

    def model(self) -> bytes:
        """The model, in the wire format."""
        dim = self.arrays["words"].shape[1]
        graph = bytes(self._nodes) + _field(2, "encoder")
        graph += b"".join(_field(5, _external(name, array.shape)) for name, array in self.arrays.items())
        graph += _field(11, _value("ids", _INT, "rows", "length")) + _field(11, _value("lengths", _INT, "rows"))
        graph += _field(12, _value("states", _FLOAT, "rows", "length", dim))
        versions = ("", 17), (_FUSED, 1)
        sets = b"".join(_field(8, _field(1, name) + _field(2, version)) for name, version in versions)
        return _field(1, 9) + _field(7, graph) + sets


_KINDS = ("weight", "bias")


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """A field of a message: a whole number, a float32, or a text or a message with its length before it."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _attribute(name: str, value: float) -> bytes:
    place, kind = (3, 2) if isinstance(value, int) else (2, 1)
    return _field(1, name) + _field(place, value) + _field(20, kind)


def _external(name: str, shape: Sequence[int]) -> bytes:
    """A tensor that the session is given by its name."""
    location = _field(1, "location") + _field(2, "given")
    return (
        b"".join(_field(1, size) for size in shape)
        + _field(2, _FLOAT)
        + _field(8, name)
        + _field(13, location)
        + _field(14, 1)
    )


def _value(name: str, kind: int, *sizes: int | str) -> bytes:
    """An input or an output; a size that is a text is any."""
    shape = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))
