"""Batches for learning from a teacher: what the encoder reads, and what the teacher reads of the same conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from turnwise.collators.utterances import Row, UtteranceCollator


@dataclass(frozen=True)
class TaughtCollator:
    """The turns for an encoder, with their speakers, and if there is a teacher, turns and joined contexts for it.

    Attributes:
        utterances: Makes what the encoder reads.
        teacher: Makes what the teacher reads.
    """

    utterances: UtteranceCollator
    teacher: UtteranceCollator | None = None

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __call__(self, conversations: Sequence[Row]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            What `UtteranceCollator` returns; ``messages_speaker``, a number for each speaker of a conversation
            (turns,); and ``messages_teacher_…``, what it returns for the teacher, the token ids as
            ``messages_teacher_tokens``.
        """
        speakers = [speaker for row in conversations for speaker in _speakers(row)]
        batch = {**self.utterances(conversations), "messages_speaker": torch.tensor(speakers)}
        if self.teacher is not None:
            taught = self.teacher(conversations)
            batch |= {name.replace("messages_", "messages_teacher_", 1): tensor for name, tensor in taught.items()}
            # By its name the trainer would take it for a second text to encode.
            batch["messages_teacher_tokens"] = batch.pop("messages_teacher_input_ids")
        return batch


def _speakers(row: Row) -> list[int]:
    """The number of each turn's speaker, in the order in which they first speak."""
    names = {name: number for number, name in enumerate(dict.fromkeys(turn["role"] for turn in row["messages"]))}
    return [names[turn["role"]] for turn in row["messages"]]
