"""Static encoders: a vector for each token, looked up and averaged, distilled from a transformer by model2vec.

A hundred times faster than the transformer and blind to the order of words: for a first pass over very large logs.

Tulkens and van Dongen, Model2Vec: Fast State-of-the-Art Static Embeddings, 2024, doi:10.5281/zenodo.17270888.
"""

from __future__ import annotations

import copy
import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

from turnwise._utils.files import atomic_path, check_folder, only_writer
from turnwise._utils.optional import require
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.identity import encoder_source, weights_digest
from turnwise.encoders.inference import inference
from turnwise.encoders.loading import as_encoder
from turnwise.encoders.transformer import transformer_of

_POOLINGS = {"mean": "mean", "cls": "first", "lasttoken": "last"}  # sentence-transformers' names to model2vec's

_CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, turnwise, model2vec, static-embeddings]
---

# Static encoder distilled with turnwise and model2vec

```python
from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("path/to/this/folder")
embeddings = encoder.encode(["where is my parcel", "i want to speak to a human"])
```

Distilled from: {teacher}
"""


def distill(
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    *,
    dimensions: int = 256,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> ConversationEncoder:
    """Make a static encoder from the vectors that a transformer gives to the single tokens of its vocabulary.

    No data is needed. The vectors are reduced to their principal components, and frequent tokens weigh less.

    Args:
        encoder: The teacher, which is not changed, or its name or path; ``None`` is the default encoder. Modules after
            its pooling (dense layers) are left out.
        dimensions: Length of the vectors. If the teacher's token embeddings are shorter, their length is used.
        output: A folder to write the static encoder to, with a model card and what it was distilled from.
        force: Overwrite the output.

    Returns:
        An encoder made of a ``StaticEmbedding``, whose vectors have length 1.

    Raises:
        FileExistsError: The output exists and ``force`` is not given.
        ImportError: The extra ``static`` is missing.
        ValueError: The encoder is not a transformer, or pools in a way that model2vec does not know.
    """
    if output is not None:
        check_folder(output, force)
    model2vec = require("model2vec.distill", "static")
    encoder = as_encoder(encoder)
    with only_writer(output) if output is not None else nullcontext():
        static = _distilled(model2vec, encoder, dimensions)
        if output is not None:
            _save(static, encoder, output)
    return static


def _distilled(model2vec: Any, encoder: SentenceTransformer, dimensions: int) -> ConversationEncoder:
    transformer, mode = transformer_of(encoder), _pooling_mode(encoder)
    student = copy.deepcopy(transformer)
    student.name_or_path = os.curdir  # an existing path: for a name, model2vec would ask the Hub for the language
    with inference(encoder.device):
        static = model2vec.distill_from_model(
            student,
            copy.deepcopy(encoder.tokenizer),
            device=str(encoder.device),
            pca_dims=min(dimensions, transformer.config.hidden_size),
            quantize_to="float32",
            pooling=_POOLINGS[mode],
        )
    weights = np.ones(len(static.embedding)) if static.weights is None else static.weights
    table = np.ascontiguousarray(static.embedding * weights[:, None], dtype=np.float32)
    return ConversationEncoder(modules=[StaticEmbedding(static.tokenizer, table), Normalize()], device="cpu")


def _save(static: SentenceTransformer, teacher: SentenceTransformer, output: str | os.PathLike[str]) -> None:
    name = "/".join(Path(encoder_source(teacher)).parts[-2:])  # the rest of the path may be private
    with atomic_path(output) as temporary:
        static.save_pretrained(str(temporary), create_model_card=False)
        record = {"method": "static", "encoder": name, "weights": weights_digest(teacher)}
        (temporary / "training.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
        (temporary / "README.md").write_text(_CARD.format(teacher=name), encoding="utf-8")


def _pooling_mode(encoder: SentenceTransformer) -> str:
    modes = [module.pooling_mode for module in encoder if isinstance(module, Pooling)]
    mode = modes[0] if modes else "mean"
    if mode not in _POOLINGS:
        raise ValueError(f"the encoder pools by {mode!r}: model2vec can distill {', '.join(map(repr, _POOLINGS))}")
    return str(mode)
