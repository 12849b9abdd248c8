"""A tiny, randomly initialised encoder on disk, like any other; the scripts of `fuzz/` and `benchmarks/` use it too."""

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import BertConfig, BertModel, BertTokenizerFast

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def save_tiny_encoder(folder: Path) -> Path:
    """Save it below a folder, the same in every run, and return its path."""
    words = ["please", "want", "to", "the", "help", "my", "is", "card", "order", "pizza", "flight", "cancel", "thanks"]
    words += [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), *string.digits]
    sizes = {"hidden_size": 32, "num_hidden_layers": 4, "intermediate_size": 64}
    return save_random_encoder(folder, words, positions=64, initializer_range=0.2, **sizes)


def save_random_encoder(
    folder: Path, words: Sequence[str], positions: int, word_scale: float = 1.0, **config: Any
) -> Path:
    """Save a random BERT with mean pooling below a folder, the same in every run, and return its path.

    Args:
        folder: Where.
        words: Its word pieces, without the special ones.
        positions: The most tokens of a text.
        word_scale: What its word embeddings are multiplied by: in a trained encoder, they matter more than positions.
        config: Further settings of the BERT.
    """
    vocabulary = [*_SPECIAL, *words]
    assert len(set(vocabulary)) == len(vocabulary)  # else added tokens take the ids of others
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=positions)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(vocabulary), "max_position_embeddings": positions, "num_attention_heads": 4}
    model = BertModel(BertConfig(**sizes, **config))
    with torch.no_grad():
        model.embeddings.word_embeddings.weight *= word_scale
    model.save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"))
    encoder = SentenceTransformer(modules=[transformer, Pooling(config["hidden_size"], "mean")], device="cpu")
    encoder.save_pretrained(str(folder / "encoder"), create_model_card=False)
    return folder / "encoder"
