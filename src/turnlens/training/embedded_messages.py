"""The vectors of messages as a reply head learns from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch.nn.functional import normalize

from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.collators.texts import text_key
from turnlens.training.losses.composed import ComposedSettings, composed_loss, composed_ranks


@dataclass(frozen=True)
class EmbeddedMessages:
    """The embedded messages of conversations, with the messages of one conversation in a row.

    Attributes:
        vectors: The vector of each message, of length 1 (messages, dim).
        speaker: A number for each role (messages,).
        text_key: Equal for equal texts (messages,).
        starts: Where each conversation starts, followed by the number of messages (conversations + 1,).
        teacher: If there is a teacher, its vectors of the turns before each message and of the message itself, of
            length 1 (messages, its dim) each.
    """

    vectors: Tensor
    speaker: Tensor
    text_key: Tensor
    starts: Tensor
    teacher: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, table: pa.Table) -> EmbeddedMessages:
        """The messages in a table from `embed_messages` or `embed_taught` of `turnlens.encoders`, without empty ones.

        Raises:
            ValueError: Columns are missing, or fewer than two conversations have two messages or more.
        """
        missing = [name for name in ("id", "role", "text", "vector") if name not in table.column_names]
        if missing:
            raise ValueError(
                f"the vectors have no column {' and '.join(missing)}: expected what turnlens embed writes for messages"
            )
        table = table.filter(pc.not_equal(pc.utf8_trim_whitespace(table["text"]), ""))
        ids = np.asarray(table["id"].dictionary_encode().combine_chunks().indices)
        starts = np.flatnonzero(np.diff(ids, prepend=-1, append=-1))
        if (np.diff(starts) > 1).sum() < 2:
            raise ValueError("training a reply head needs at least 2 conversations of 2 messages or more")
        return cls(
            _units(table, "vector"),
            torch.from_numpy(np.asarray(table["role"].dictionary_encode().combine_chunks().indices).astype(np.int64)),
            torch.tensor([text_key(text) for text in table["text"].to_pylist()]),
            torch.from_numpy(starts),
            (_units(table, "teacher_context"), _units(table, "teacher_response"))
            if "teacher_context" in table.column_names
            else None,
        )

    @property
    def conversations(self) -> int:
        """How many conversations there are."""
        return len(self.starts) - 1

    def loss(self, head: ReplyHead, chosen: Tensor, settings: ComposedSettings) -> tuple[Tensor, int]:
        """The loss on some conversations, and the number of turns over which it is the mean."""
        rows, turns = self._turns(chosen)
        teacher = None if self.teacher is None else (self.teacher[0][rows], self.teacher[1][rows])
        return composed_loss(head, **turns, settings=settings, teacher=teacher), len(rows) - len(chosen)

    def ranks(self, head: ReplyHead, chosen: Tensor) -> Tensor:
        """The rank of each message of some conversations, but their first, among those of the others of them."""
        return composed_ranks(head, **self._turns(chosen)[1])

    def _turns(self, chosen: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The rows of the messages of some conversations, and what losses and ranks are told of them."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        rows = torch.cat(
            [torch.arange(int(self.starts[index]), int(self.starts[index + 1])) for index in chosen.tolist()]
        )
        return rows, {
            "vectors": self.vectors[rows],
            "speaker": self.speaker[rows],
            "conversation": torch.arange(len(chosen)).repeat_interleave(lengths),
            "text_key": self.text_key[rows],
        }


def _units(table: pa.Table, name: str) -> Tensor:
    """A column of vectors, of length 1 (messages, dim)."""
    flat = np.array(table[name].combine_chunks().flatten(), dtype=np.float32)  # a copy, for torch
    return normalize(torch.from_numpy(flat.reshape(len(table), -1)), dim=1)
