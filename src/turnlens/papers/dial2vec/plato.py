"""Converting PLATO checkpoints, from which dial2vec starts, to encoders of ours.

PLATO (Bao et al., ACL 2020) is BERT with four input embeddings: token, position within the turn, turn (counted from the
end) and role. The tables of tokens and positions and all layers become those of a stock BERT, and the tables of turns
and roles become its turn tables. The parts with which PLATO generates replies (latent variables, output layers) are
left out.
"""

from __future__ import annotations

import os
import pickle
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import AutoTokenizer, BertConfig, BertModel, PreTrainedTokenizerFast

from turnlens._utils.files import atomic_path, check_folder
from turnlens.encoders.rendering import make_conversational
from turnlens.papers.dial2vec.turn_tables import attach_turn_tables, tables_from

_END_OF_TURN = "[unused1]"  # ends every turn in PLATO; there is no classification token
_HEAD_WIDTH = 64

# Names in a PLATO checkpoint and in BERT; "qkv" stands for query, key and value in a single matrix.
_OF_LAYER = {
    "attn.linear_qkv": "qkv",
    "attn.linear_out": "attention.output.dense",
    "attn_norm": "attention.output.LayerNorm",
    "ff.linear_hidden.0": "intermediate.dense",
    "ff.linear_out": "output.dense",
    "ff_norm": "output.LayerNorm",
}
_TABLES = ("token", "pos", "type", "turn")


def convert_plato(
    checkpoint: str | os.PathLike[str],
    output: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str] = "bert-base-uncased",
    heads: int | None = None,
    force: bool = False,
) -> None:
    """Write a PLATO checkpoint, or one of dial2vec trained from it, as an encoder for `turnlens.load_encoder`.

    Args:
        checkpoint: A torch file of tensors by name, which is read as data only, or a safetensors file. The names are
            those of the authors' PyTorch model, perhaps with the prefix ``bert.``.
        output: The folder to write.
        tokenizer: The BERT tokenizer with the checkpoint's vocabulary: a folder or a name on the Hub.
        heads: The number of attention heads, which the weights do not show; by default one for every 64 dimensions, as
            in BERT.
        force: Overwrite the output.

    Raises:
        FileNotFoundError: There is no such checkpoint.
        FileExistsError: The output exists and ``force`` is not given.
        ValueError: The checkpoint holds something other than tensors, or other tensors than those of PLATO, or its
            vocabulary is not the tokenizer's.
    """
    check_folder(output, force)
    weights = _read(Path(checkpoint))
    config = _config(weights, heads, str(checkpoint))
    bert = BertModel(config)
    try:
        bert.load_state_dict(_bert_weights(weights, config))
    except RuntimeError as error:
        raise ValueError(f"{checkpoint}: the tensors do not make up a PLATO model: {error}") from error
    encoder = _assemble(bert, _tokenizer(str(tokenizer), config))
    tables = {"turn.weight": weights["embedder.turn_embedding.weight"]}
    tables["role.weight"] = weights["embedder.type_embedding.weight"]
    attach_turn_tables(encoder, tables_from({**tables, "from_end": torch.tensor(True)}))
    with atomic_path(output) as temporary:
        encoder.save_pretrained(str(temporary), create_model_card=False)


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint by their names in PLATO."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a PLATO checkpoint, such as PLATO.pt")
    try:
        checkpoint: Any = (
            load_file(path)
            if path.suffix == ".safetensors"
            else torch.load(path, map_location="cpu", weights_only=True)
        )
    except (pickle.UnpicklingError, SafetensorError, RuntimeError, EOFError) as error:
        raise ValueError(
            f"{path}: not a file of tensors by name, or one that holds more than tensors, which is not read since it "
            f"could run code: {error}"
        ) from error
    if not isinstance(checkpoint, Mapping):
        raise ValueError(f"{path}: expected tensors by name, got {type(checkpoint).__name__}")
    # The authors' trainer puts "bert." before the names, and training in several processes puts "module." before them.
    return {re.sub(r"^(module\.)?(bert\.)?", "", str(name)): tensor for name, tensor in checkpoint.items()}


def _config(weights: Mapping[str, Tensor], heads: int | None, place: str) -> BertConfig:
    """BERT's configuration, derived from the shapes of the weights."""
    layers = 1 + max((int(match[1]) for name in weights if (match := re.match(r"layers\.(\d+)\.", name))), default=-1)
    names = [f"embedder.{table}_embedding.weight" for table in _TABLES]
    modules = ["embed_layer_norm", *(f"layers.{layer}.{part}" for layer in range(layers) for part in _OF_LAYER)]
    names += [f"{module}.{kind}" for module in modules for kind in ("weight", "bias")]
    missing = [name for name in names if not isinstance(weights.get(name), Tensor)]
    if missing or not layers:
        expected = ", ".join(missing[:3]) or "layers.0.attn.linear_qkv.weight"
        got = ", ".join(sorted(weights)[:3]) or "nothing"
        raise ValueError(f"{place}: not a PLATO checkpoint: expected tensors named {expected} …, got {got} …")
    token, position, role, turn = (weights[name] for name in names[: len(_TABLES)])
    width = token.shape[-1]
    if any(table.ndim != 2 or table.shape[1] != width for table in (token, position, role, turn)):
        raise ValueError(f"{place}: expected the four input tables to be of shape (rows, {width})")
    heads = heads or max(1, width // _HEAD_WIDTH)
    if width % heads:
        raise ValueError(f"heads must divide the width of {width}, got {heads}")
    return BertConfig(
        vocab_size=len(token),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=len(weights["layers.0.ff.linear_hidden.0.weight"]),
        max_position_embeddings=len(position),
        type_vocab_size=1,  # a table of roles comes with the turn tables
        layer_norm_eps=1e-6,
    )


def _bert_weights(weights: Mapping[str, Tensor], config: BertConfig) -> dict[str, Tensor]:
    """The same weights by their names in BERT."""
    renamed = {
        "embeddings.word_embeddings.weight": weights["embedder.token_embedding.weight"],
        "embeddings.position_embeddings.weight": weights["embedder.pos_embedding.weight"],
        "embeddings.token_type_embeddings.weight": torch.zeros(1, config.hidden_size),
        # It is not used, but the library gives every BERT one, with random values if the file has none.
        "pooler.dense.weight": torch.zeros(config.hidden_size, config.hidden_size),
        "pooler.dense.bias": torch.zeros(config.hidden_size),
    }
    for kind in ("weight", "bias"):
        renamed[f"embeddings.LayerNorm.{kind}"] = weights[f"embed_layer_norm.{kind}"]
        for layer in range(config.num_hidden_layers):
            for part, name in _OF_LAYER.items():
                tensor = weights[f"layers.{layer}.{part}.{kind}"]
                if name == "qkv":
                    parts = zip(("query", "key", "value"), tensor.chunk(3))
                    renamed |= {
                        f"encoder.layer.{layer}.attention.self.{projection}.{kind}": part for projection, part in parts
                    }
                else:
                    renamed[f"encoder.layer.{layer}.{name}.{kind}"] = tensor
    return renamed


def _tokenizer(source: str, config: BertConfig) -> PreTrainedTokenizerFast:
    """BERT's tokenizer with other special tokens: a turn ends with a token of its own, and none precedes it."""
    try:
        bert = AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot load the tokenizer {source!r}: {error}") from error
    backend, vocabulary = bert.backend_tokenizer, bert.get_vocab()
    if _END_OF_TURN not in vocabulary or len(vocabulary) > config.vocab_size:
        raise ValueError(
            f"the tokenizer {source!r} is not that of the checkpoint: expected {_END_OF_TURN} among at most "
            f"{config.vocab_size} tokens, got {len(vocabulary)} tokens"
        )
    backend.post_processor = TemplateProcessing(
        single=f"$A {_END_OF_TURN}", special_tokens=[(_END_OF_TURN, vocabulary[_END_OF_TURN])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        sep_token=_END_OF_TURN,
        pad_token=bert.pad_token,
        unk_token=bert.unk_token,
        mask_token=bert.mask_token,
        model_max_length=config.max_position_embeddings,
    )


def _assemble(bert: BertModel, tokenizer: PreTrainedTokenizerFast) -> SentenceTransformer:
    """A conversational encoder with mean pooling."""
    with tempfile.TemporaryDirectory() as folder:  # the library's module is made from files
        bert.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        transformer = Transformer(folder)
    encoder = SentenceTransformer(modules=[transformer, Pooling(bert.config.hidden_size, "mean")], device="cpu")
    return make_conversational(encoder, bert.config.max_position_embeddings)
