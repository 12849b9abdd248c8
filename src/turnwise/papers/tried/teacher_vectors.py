"""A teacher's vectors of conversations: each goes through the teacher once, however many epochs use it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from turnwise.collators.texts import Row
from turnwise.encoders.forward import encode_sliced, sliced_means, take
from turnwise.encoders.inference import inference
from turnwise.papers.joined_contexts import JoinedContextCollator

_MAX_BYTES = 1 << 30  # 350,000 turns with two vectors of 384 numbers each
# On a processor. The contexts of one conversation are each longer than the last: larger slices are mostly padding.
_TOKENS_PER_SLICE = 256


class TeacherVectors:
    """The vectors of a teacher, kept in memory from one epoch to the next.

    On a processor each conversation is a forward pass of its own, so that its vectors are the same to the last bit
    whichever other conversations are in the batch. So a resumed training, which has no vectors in memory, continues
    exactly like one that was not interrupted. On a GPU, where no two runs are alike anyway, all new conversations of a
    batch share one pass.

    Args:
        collator: Makes the inputs of the teacher, including joined contexts. Its encoder, pooled by the mean, is the
            teacher.
        max_bytes: Keep vectors until they take this much memory. Further conversations go through the teacher each
            time.
    """

    def __init__(self, collator: JoinedContextCollator, max_bytes: int = _MAX_BYTES) -> None:
        self._collator = collator
        self._teacher = collator.encoder.eval()
        self._kept: dict[tuple[str, ...], Tensor] = {}
        self._room = max_bytes

    def __call__(self, conversations: Sequence[Row], device: torch.device) -> tuple[Tensor, Tensor]:
        """The vectors of each turn's joined context, arbitrary where nothing precedes it, and of each turn.

        Args:
            conversations: The conversations of a batch.
            device: Where the teacher is to run.

        Returns:
            Both of length 1 and float32, on the processor (turns, the teacher's dim).
        """
        keys = [tuple(message["content"] for message in row["messages"]) for row in conversations]
        new = {key: row for key, row in zip(keys, conversations) if key not in self._kept}
        read = dict(zip(new, self._read(list(new.values()), device))) if new else {}
        contexts, turns = torch.cat([read[key] if key in read else self._kept[key] for key in keys], dim=1)
        for key, vectors in read.items():
            if vectors.nbytes <= self._room:
                self._kept[key] = vectors
                self._room -= vectors.nbytes
        return contexts, turns

    def _read(self, conversations: list[Row], device: torch.device) -> list[Tensor]:
        """The vectors of the contexts and turns of each conversation (2, its turns, dim)."""
        self._teacher.to(device)
        alone = device.type == "cpu"
        vectors: list[Tensor] = []
        with inference(device):
            for rows in [[row] for row in conversations] if alone else [conversations]:
                batch = {name: tensor.to(device) for name, tensor in self._collator(rows).items()}
                ids, mask = batch["messages_input_ids"], batch["messages_attention_mask"]
                slices = encode_sliced(self._teacher, ids, mask, _TOKENS_PER_SLICE if alone else None)
                texts = normalize(sliced_means(slices), dim=1)
                places = torch.stack([batch["messages_context_text"], batch["messages_turn_text"]])
                vectors += take(texts, places).cpu().split([len(row["messages"]) for row in rows], dim=1)
        return vectors
