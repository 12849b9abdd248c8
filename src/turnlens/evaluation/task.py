"""Evaluation tasks, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from turnlens.data.messages import Conversations
from turnlens.evaluation.figures import LOWER_IS_BETTER
from turnlens.evaluation.levels import Encoder, Level
from turnlens.evaluation.load_settings import LoadSettings


class Result(Protocol):
    """The figures of a task, which scoring returns. Values of single queries are attributes of their own."""

    def summary(self) -> dict[str, object]:
        """The figures, ready for JSON."""
        ...


@dataclass(frozen=True)
class Task:
    """One evaluation task.

    Args:
        name: Its name, words joined by hyphens.
        level: What it embeds: messages, whole conversations (its data is then ``LabelledConversations``), or the
            messages of sequences (``Sequences``).
        metric: The main one among the figures it reports.
        description: What it asks of an encoder.
        citation: The address, or BibTeX, of the paper that defines it.
        measure: Scores: ``measure(encode, data, seed)`` on messages, ``measure(embedded, seed)`` on the others.
        released_file: Name of the file in which the authors of the paper published its data; "" if they did not.
        read: Reads that file.
        build: Builds the data from conversations; None where people must annotate it.
    """

    name: str
    level: Level
    metric: str
    description: str
    citation: str
    measure: Callable[..., Result]
    released_file: str = ""
    read: Callable[[Path, LoadSettings], Any] | None = None
    build: Callable[[Conversations, LoadSettings], Any] | None = None

    @property
    def key(self) -> str:
        """The name as a Python and JSON key."""
        return self.name.replace("-", "_")

    @property
    def data_key(self) -> str:
        """A key that is the same for all tasks that share their data and its embedding."""
        return self.level.name if self.level.shares_data else self.name

    @property
    def greater_is_better(self) -> bool:
        """Whether a higher main figure is better."""
        return self.metric not in LOWER_IS_BETTER

    def score(self, encoder: Encoder, data: Any, seed: int = 0, pooling: str = "mean") -> Result:
        """Embed and score.

        Args:
            encoder: See ``evaluate``.
            data: From ``load_task``.
            seed: Seed of the bootstrap, of clusterings and of candidates.
            pooling: See ``evaluate``.
        """
        return self.measure(*self.level.embed(encoder, data, pooling), seed)
