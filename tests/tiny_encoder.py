"""A tiny, randomly initialised encoder on disk, like any other; the scripts of `fuzz/` and `benchmarks/` use it too."""

from __future__ import annotations

import string
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import BertConfig, BertModel, BertTokenizerFast


def save_tiny_encoder(folder: Path) -> Path:
    """Save it below a folder, the same in every run, and return its path."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary += ["i", "want", "to", "the", "a", "my", "is", "card", "order", "pizza", "flight", "cancel", "thanks"]
    vocabulary += [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), *string.digits]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=64)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"))
    encoder = SentenceTransformer(modules=[transformer, Pooling(32, "mean")], device="cpu")
    encoder.save_pretrained(str(folder / "encoder"), create_model_card=False)
    return folder / "encoder"
