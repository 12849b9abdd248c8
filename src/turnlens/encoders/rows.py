"""Token rows of whole conversations, and running an encoder on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from turnlens.encoders.added_weights import added_modules
from turnlens.encoders.forward import TokenSlice, encode_sliced


@dataclass(frozen=True)
class Rows:
    """Token rows of conversations.

    Attributes:
        input_ids: Token ids (rows, length).
        attention_mask: 1 for tokens, 0 for padding (rows, length).
        speaker: Speaker of each token, numbered by first appearance in the conversation; -1 for tokens of no speaker
            (the classification token, the end of a plain text) and padding (rows, length).
        turn: Turn of each token in the whole conversation; -1 for the same tokens (rows, length).
    """

    input_ids: Tensor
    attention_mask: Tensor
    speaker: Tensor
    turn: Tensor

    def as_dict(self) -> dict[str, Tensor]:
        """The four tensors by name, as `encode_rows` takes them."""
        names = ("input_ids", "attention_mask", "speaker", "turn")
        return {name: getattr(self, name) for name in names}


def encode_rows(model: nn.Module, rows: Mapping[str, Tensor]) -> Iterator[TokenSlice]:
    """Run an encoder on rendered conversations, with the further inputs that a method has given it.

    Args:
        model: An encoder, possibly wrapped for distributed training.
        rows: ``input_ids``, ``attention_mask``, ``speaker`` and ``turn`` (rows, length), see `Rows`.

    Yields:
        As `turnlens.encoders.forward.encode_sliced`.
    """
    further = {name: rows[name] for module in added_modules(model) for name in module.inputs}
    return encode_sliced(model, rows["input_ids"], rows["attention_mask"], further=further)
