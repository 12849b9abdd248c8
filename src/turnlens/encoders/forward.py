"""The forward pass of an encoder, in slices of texts or of rendered conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from turnlens.encoders.rendering import TokenRows
from turnlens.encoders.transformer import added_modules

# Padded tokens per slice. Small enough to stay in a processor's cache, large enough to keep a GPU busy.
_TOKENS_PER_SLICE = {"cpu": 2048, "cuda": 32768}


def slice_budget(device: torch.device) -> int:
    """Return the number of padded tokens in a slice that suits the device."""
    return _TOKENS_PER_SLICE.get(device.type, 8192)


@dataclass(frozen=True)
class TokenSlice:
    """The token embeddings of some rows of a batch.

    Attributes:
        rows: Their row numbers in the batch (rows,).
        tokens: Token embeddings, float32, zero where padded (rows, tokens, dim).
        mask: 1 for tokens, 0 for padding (rows, tokens).
    """

    rows: Tensor
    tokens: Tensor
    mask: Tensor

    def means(self) -> Tensor:
        """The mean-pooled embeddings (rows, dim)."""
        return self.tokens.sum(1) / self.mask.sum(1, keepdim=True).clamp(min=1)


def encode_sliced(
    model: nn.Module,
    input_ids: Tensor,
    attention_mask: Tensor,
    tokens_per_slice: int | None = None,
    further: Mapping[str, Tensor] | None = None,
) -> Iterator[TokenSlice]:
    """Run the encoder on right-padded rows, sorted by length and cut into slices with little padding.

    Args:
        model: A SentenceTransformer, possibly wrapped for distributed training.
        input_ids: Token ids (rows, length).
        attention_mask: 1 for tokens, 0 for padding (rows, length).
        tokens_per_slice: At most this many padded tokens in a slice; by default what suits the device.
        further: Other inputs of the encoder, by name (rows, length).

    Yields:
        Slices that together hold every row once. Each is computed only when it is asked for, so that without gradients
        only one slice is in memory at a time.
    """
    budget = tokens_per_slice or slice_budget(input_ids.device)
    lengths = attention_mask.sum(1)
    order = lengths.argsort(stable=True)
    for rows in slice_rows(order, lengths[order].tolist(), budget):
        length = int(lengths[rows].max())
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **(further or {})}
        features = {name: tensor[rows, :length] for name, tensor in inputs.items()}
        mask = features["attention_mask"].float()
        tokens = model(features)["token_embeddings"].float() * mask.unsqueeze(-1)  # (rows, length, dim)
        yield TokenSlice(rows, tokens, mask)


def full_precision(device: torch.device) -> torch.autocast:
    """Inside the block, compute in the precision of the inputs, even if a trainer runs the encoder in bfloat16.

    The losses compare cosines that differ in the third digit, which bfloat16 does not have.
    """
    return torch.autocast(device.type, enabled=False)


def slice_rows(order: Tensor, lengths: list[int], budget: int, most: int | None = None) -> list[Tensor]:
    """Cut rows sorted by length into runs of at most ``budget`` padded tokens (one row at least) and ``most`` rows."""
    runs, start = [], 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or (end + 1 - start) * lengths[end] > budget or end - start == most:
            runs.append(order[start:end])
            start = end
    return runs


def sliced_means(slices: Iterable[TokenSlice]) -> Tensor:
    """Mean-pooled embeddings of all rows, in the order of the batch (rows, dim)."""
    rows, means = zip(*((piece.rows, piece.means()) for piece in slices))
    return torch.cat(means)[torch.cat(rows).argsort()]


def take(values: Tensor, rows: Tensor, dim: int = 0) -> Tensor:
    """Entries of a tensor by their numbers, as by indexing, but with gradients summed in a fixed order.

    When an entry is taken twice, the backward pass of indexing sums its gradients in whatever order the threads finish,
    so that no two runs are alike. Here, on processors, they are summed in the order of ``rows``.

    Args:
        values: What to take from.
        rows: Numbers of the entries. A negative number stands for no entry and gives an arbitrary one (any shape).
        dim: The dimension to take from; the result has the shape of ``rows`` in its place.
    """
    return values.index_select(dim, rows.flatten().clamp(min=0)).unflatten(dim, rows.shape)


class Rows(NamedTuple):
    """Token rows of conversations as tensors, padded on the right.

    Attributes:
        input_ids: Token ids (rows, length).
        attention_mask: 1 for tokens, 0 for padding (rows, length).
        speaker: See `TokenRows`; -1 for padding (rows, length).
        turn: As ``speaker``.
    """

    input_ids: Tensor
    attention_mask: Tensor
    speaker: Tensor
    turn: Tensor


def padded(rows: TokenRows, pad: int | None = None) -> Rows:
    """Token rows as tensors; ``pad`` is the id of the padding token."""
    return Rows(
        pad_right(rows.ids, pad or 0),
        pad_right([[1] * len(row) for row in rows.ids], 0),
        pad_right(rows.speaker, -1),
        pad_right(rows.turn, -1),
    )


def pad_right(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    """Rows of numbers as one tensor (rows, length)."""
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=padding)


def encode_rows(model: nn.Module, rows: Mapping[str, Tensor]) -> Iterator[TokenSlice]:
    """Run an encoder on rendered conversations, with the inputs that its method has added.

    Args:
        model: An encoder, possibly wrapped for distributed training.
        rows: ``input_ids``, ``attention_mask``, ``speaker`` and ``turn`` (rows, length), see `Rows`.

    Yields:
        As `turnlens.encoders.forward.encode_sliced`.
    """
    further = {name: rows[name] for module in added_modules(model) for name in module.inputs}
    return encode_sliced(model, rows["input_ids"], rows["attention_mask"], further=further)
