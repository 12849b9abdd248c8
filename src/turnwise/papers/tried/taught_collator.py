"""Batches for learning from a teacher: the inputs of the encoder, and the teacher's vectors of the same turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from turnwise.collators.texts import Row, TextCollator
from turnwise.papers.tried.teacher_vectors import TeacherVectors


@dataclass(frozen=True)
class TaughtCollator:
    """Collates turns with their speakers and, if there is a teacher, its vectors of turns and contexts.

    Attributes:
        utterances: The collator that makes the inputs of the encoder.
        teacher: The teacher's vectors. The teacher runs on the encoder's device, in the process that collates.
    """

    utterances: TextCollator
    teacher: TeacherVectors | None = None

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __call__(self, conversations: Sequence[Row]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            What `TextCollator` returns; ``messages_speaker``, a number for each speaker of a conversation
            (turns,); and with a teacher ``messages_teacher_context`` and ``messages_teacher_response``, its vectors of
            each turn's joined context, arbitrary where nothing precedes it, and of each turn, of length 1
            (turns, its dim) each.
        """
        speakers = [speaker for row in conversations for speaker in _speakers(row)]
        batch = {**self.utterances(conversations), "messages_speaker": torch.tensor(speakers)}
        if self.teacher is not None:
            contexts, responses = self.teacher(conversations, self.utterances.encoder.device)
            batch |= {"messages_teacher_context": contexts, "messages_teacher_response": responses}
        return batch


def _speakers(row: Row) -> list[int]:
    """The number of each turn's speaker, in the order in which they first speak."""
    names = {name: number for number, name in enumerate(dict.fromkeys(turn["role"] for turn in row["messages"]))}
    return [names[turn["role"]] for turn in row["messages"]]
