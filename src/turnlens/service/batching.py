"""The queue in front of the model: rows of many requests form a batch, and requests take turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turnlens._utils.vectors import FloatArray

TokenRow = Sequence[int]


@dataclass(eq=False)
class RowsJob:
    """Token rows to embed.

    Attributes:
        rows: Their token ids.
        future: Receives the vectors (rows, dim).
    """

    rows: Sequence[TokenRow]
    future: Future[FloatArray] = field(default_factory=Future)

    def __post_init__(self) -> None:
        # Shortest first, so that the rows of a batch have similar lengths.
        self._todo = deque(sorted(range(len(self.rows)), key=lambda row: len(self.rows[row])))
        self._vectors: FloatArray | None = None
        self.tokens = sum(map(len, self.rows))  # tokens in the rows that are not taken yet

    def take(self, tokens: int, at_least: int = 0) -> list[int]:
        """Take the next rows, up to ``tokens`` tokens in all but at least ``at_least`` rows; return their numbers."""
        taken: list[int] = []
        while self._todo and (len(taken) < at_least or len(self.rows[self._todo[0]]) <= tokens):
            taken.append(self._todo.popleft())
            tokens -= len(self.rows[taken[-1]])
        self.tokens -= sum(len(self.rows[row]) for row in taken)
        return taken

    @property
    def has_more(self) -> bool:
        """Whether some rows are not taken yet."""
        return bool(self._todo)

    def put(self, taken: Sequence[int], vectors: FloatArray) -> None:
        """Add the vectors of rows that were taken; the last ones complete the job."""
        if self._vectors is None:
            self._vectors = np.empty((len(self.rows), vectors.shape[1]), np.float32)
        self._vectors[list(taken)] = vectors
        if not self._todo and self.future.set_running_or_notify_cancel():
            self.future.set_result(self._vectors)


@dataclass(eq=False)
class CallJob:
    """A call that only the thread of the model may make.

    Attributes:
        call: The function to call.
        tokens: About how many tokens it embeds.
        future: Receives what ``call`` returns.
    """

    call: Callable[[], Any]
    tokens: int
    future: Future[Any] = field(default_factory=Future)


Job = RowsJob | CallJob
Batch = list[tuple[RowsJob, list[int]]]


class JobQueue:
    """Jobs in the order of their arrival. The queue is not safe for threads by itself."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def append(self, job: Job) -> None:
        """Add a job at the end."""
        self._jobs.append(job)

    def drop_finished(self) -> int:
        """Remove the jobs that were cancelled or have failed, and return how many tokens those still had to embed."""
        kept = deque(job for job in self._jobs if not job.future.done())
        tokens = sum(job.tokens for job in self._jobs) - sum(job.tokens for job in kept)
        self._jobs = kept
        return tokens

    def take(self, tokens: int) -> CallJob | Batch:
        """Take what goes through the model next: a single call, or rows of one or more jobs.

        A job with rows left goes to the end of the queue. So a small job waits only for a slice of a large one, and not
        for all of it.

        Args:
            tokens: The most tokens in a batch; a single row may have more.
        """
        first = self._jobs[0]
        if isinstance(first, CallJob):
            self._jobs.popleft()
            return first
        batch: Batch = []
        unfinished: list[Job] = []
        while self._jobs and isinstance(job := self._jobs[0], RowsJob):
            taken = job.take(tokens, at_least=0 if batch else 1)
            if not taken:
                break
            tokens -= sum(len(job.rows[row]) for row in taken)
            batch.append((job, taken))
            self._jobs.popleft()
            if job.has_more:
                unfinished.append(job)
        self._jobs.extend(unfinished)
        return batch
