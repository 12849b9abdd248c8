"""Vectors that are moved a little, each batch in its own way: what passes with them does not depend on a processor."""

import functools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

SCALE = 1e-6
"""The relative distance by which vectors are moved: some twenty roundings of float32, see ``closeness.py``."""


def noisy_states(forward: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The forward pass of a transformer without torch, whose states are moved as those of `noisy`."""

    @functools.wraps(forward)
    def moved(self: Any, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        draws = np.random.default_rng(zlib.crc32(ids.tobytes(), len(ids))).standard_normal(self.dim)
        return forward(self, ids, lengths) * (1 + SCALE * draws).astype(np.float32)

    return moved


def noisy(forward: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The forward pass of a transformer, with the embeddings of a batch's tokens moved.

    Each dimension is scaled by a factor of its own, the same for all tokens of the batch, so that their mean moves as
    far as they do. The factors come from the token ids: the same batch always moves in the same way.
    """

    @functools.wraps(forward)
    def moved(self: Any, features: dict[str, Any], **further: Any) -> dict[str, Any]:
        given = features["input_ids"] if "input_ids" in features else features["inputs_embeds"]
        seed = zlib.crc32(given.detach().cpu().numpy().tobytes(), given.shape[0])
        output = forward(self, features, **further)
        tokens = output["token_embeddings"]
        draws = torch.randn(tokens.shape[-1], generator=torch.Generator().manual_seed(seed))
        output["token_embeddings"] = tokens * (1 + SCALE * draws).to(tokens)
        return output

    return moved
