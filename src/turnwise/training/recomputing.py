"""Large batches in little memory: activations are computed again in the backward pass instead of being kept.

What is left in memory of a batch are the token embeddings that the loss needs, and the activations of one slice. The
gradients are those of keeping everything, to the last bit. Gradient accumulation gives others where a loss contrasts:
its batches do not see each other's negatives.

Gao et al., Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup (GradCache), RepL4NLP 2021; Chen et
al., Training Deep Nets with Sublinear Memory Cost, 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch.utils.checkpoint import checkpoint

from turnwise.encoders.onednn import replaced_forward


@contextmanager
def recomputed_activations(encoder: SentenceTransformer, wanted: bool) -> Iterator[None]:
    """Inside the block, if wanted, each pass through the transformer keeps its result only, for a forward pass more."""
    if not wanted:
        yield
        return
    # Not around the encoder: what wraps that for several processes must not be run in the backward pass.
    transformer = encoder[0]
    forward = transformer.forward

    def forward_again(features: dict[str, Any], **further: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(features, **further)
        return checkpoint(forward, dict(features), use_reentrant=False, **further)

    with replaced_forward(transformer, forward_again):
        yield
