"""Large batches in little memory: activations are computed again in the backward pass instead of being kept.

Only the token embeddings that the loss needs and the activations of one slice stay in memory. The gradients are the
same, to the last bit, as if everything had been kept. With contrastive losses, gradient accumulation gives other
gradients, because its batches do not see each other's negatives.

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

from turnlens.encoders.onednn import replaced_forward


@contextmanager
def recomputed_activations(encoder: SentenceTransformer, enabled: bool) -> Iterator[None]:
    """Inside the block, if enabled, passes through the transformer keep only results and are repeated for gradients."""
    if not enabled:
        yield
        return
    # Not around the whole encoder: its wrapper for several processes must not be run again in the backward pass.
    transformer = encoder[0]
    forward = transformer.forward

    def forward_again(features: dict[str, Any], **further: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(features, **further)
        return checkpoint(forward, dict(features), use_reentrant=False, **further)

    with replaced_forward(transformer, forward_again):
        yield
