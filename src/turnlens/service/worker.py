"""The thread of the model and the queue before it: rows of many requests form a batch, and requests take turns."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.service.refusals import Refusal
from turnlens.service.served_model import ServedModel
from turnlens.service.threads import fulfil

TokenRow = Sequence[int]
_Result = TypeVar("_Result")
_LOADING_SECONDS = 5  # after this time, clients should try again while the model is loading
SHORT = 1024  # tokens; more than a query, or a few messages to embed
PIECES = 4  # of a batch; the turn of a long job is one of them, since short jobs wait for it
_MEMORY = 0.9  # the weight of earlier batches in the measured speed


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
        self.is_long = self.tokens > SHORT

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
        """True if some rows are not taken yet."""
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

    @property
    def is_long(self) -> bool:
        """True if it takes more than a moment."""
        return self.tokens > SHORT


Job = RowsJob | CallJob
Batch = list[tuple[RowsJob, list[int]]]


class JobQueue:
    """Short jobs and long ones, each in the order of their arrival. The queue is not safe for threads by itself.

    Both get every other turn. So a short job waits for a piece of one long job, however many of these there are.
    """

    def __init__(self) -> None:
        self._short: deque[Job] = deque()
        self._long: deque[Job] = deque()
        self._is_turn_of_long = False

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def append(self, job: Job) -> None:
        """Add a job at the end."""
        (self._long if job.is_long else self._short).append(job)

    def drop_finished(self) -> list[Job]:
        """Remove and return the jobs that were cancelled or have failed."""
        dropped = [job for job in (*self._short, *self._long) if job.future.done()]
        for jobs in (self._short, self._long) if dropped else ():
            kept = [job for job in jobs if not job.future.done()]
            jobs.clear()
            jobs.extend(kept)
        return dropped

    def take(self, tokens: int) -> CallJob | Batch:
        """Take what goes through the model next: a single call, or rows of one or more jobs.

        A long job with rows left goes to the end of the long ones.

        Args:
            tokens: The most tokens in a batch; a single row may have more.
        """
        is_long = bool(self._long) and (self._is_turn_of_long or not self._short)
        self._is_turn_of_long = not is_long
        jobs = self._long if is_long else self._short
        tokens = tokens // PIECES if is_long else tokens
        first = jobs[0]
        if isinstance(first, CallJob):
            jobs.popleft()
            return first
        batch: Batch = []
        unfinished: list[Job] = []
        while jobs and isinstance(job := jobs[0], RowsJob):
            taken = job.take(tokens, at_least=0 if batch else 1)
            if not taken:
                break
            tokens -= sum(len(job.rows[row]) for row in taken)
            batch.append((job, taken))
            jobs.popleft()
            if job.has_more:
                unfinished.append(job)
        jobs.extend(unfinished)
        return batch


class ModelWorker:
    """Runs everything that needs the model in one thread, and batches the rows of many requests.

    Running one model twice at the same time is no faster.
    A task that awaits `embed` or `call` can be cancelled, which removes its work from the queue.

    Args:
        load: Loads the model. It is called in the thread, so that the service can answer meanwhile.
        queue_tokens: The most tokens of short requests, and of long ones, that may wait; others are refused.
        batch_wait: How long an idle model waits for others to join the first request, in seconds.
    """

    def __init__(self, load: Callable[[], ServedModel], queue_tokens: int, batch_wait: float) -> None:
        self.loaded: Future[ServedModel] = Future()
        self._load = load
        self._queue_tokens = queue_tokens
        self._batch_wait = batch_wait
        self._changed = threading.Condition()
        self._queue = JobQueue()
        self._stopping = False
        self._busy_since: float | None = None
        self._tokens_per_second = 1000.0  # until it is measured
        self._waiting = {False: 0, True: 0}  # tokens of short jobs and of long ones
        self._thread = threading.Thread(target=self._run, name="turnlens-model", daemon=True)

    def start(self) -> None:
        """Start the thread, which loads the model first."""
        self._thread.start()

    def stop(self, seconds: float = 60) -> None:
        """Finish waiting work, refuse new work, and end the thread, or leave it alone after this time."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)

    @property
    def tokens_waiting(self) -> int:
        """The tokens that wait for the model or are going through it."""
        return sum(self._waiting.values())

    @property
    def busy_seconds(self) -> float:
        """Seconds that the model has been working on its current batch; 0 when idle."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    async def embed(self, rows: Sequence[TokenRow]) -> FloatArray:
        """The vectors of token rows (rows, dim); ``rows`` is not empty.

        Raises:
            Refusal: The queue is full (429), the model is not loaded, or the service stops (503).
        """
        job = RowsJob(rows)
        self._append(job, admitted=False)
        return await asyncio.wrap_future(job.future)

    async def call(self, call: Callable[[], _Result], tokens: int, admitted: bool = False) -> _Result:
        """Make another call in the thread of the model.

        Args:
            call: The function to call.
            tokens: About how many tokens it embeds.
            admitted: The call continues a request that is being served already, so a full queue does not refuse it.

        Raises:
            Refusal: As for `embed`.
        """
        job = CallJob(call, tokens)
        self._append(job, admitted)
        return await asyncio.wrap_future(job.future)

    def check_room(self, is_long: bool = False) -> None:
        """Refuse a request early if the queue would refuse it anyway, before it costs anything.

        Args:
            is_long: It has more than `SHORT` tokens. Long requests leave room for the others.

        Raises:
            Refusal: As for `embed`.
        """
        with self._changed:
            self.check_loaded()
            self._check_room(1, is_long)

    def check_loaded(self) -> None:
        """Raise `Refusal` (503) unless the model is loaded and the service is not stopping."""
        if self._stopping:
            raise Refusal(503, "the service is stopping", retry_after=_LOADING_SECONDS)
        if not self.loaded.done():
            raise Refusal(503, "the model is being loaded", retry_after=_LOADING_SECONDS)
        if self.loaded.exception() is not None:
            raise Refusal(503, "the model could not be loaded: see the log of the service")

    def _check_room(self, tokens: int, is_long: bool) -> None:
        if self._is_full(tokens, is_long):
            self._drop_finished()
        if self._is_full(tokens, is_long):
            seconds = self._waiting[is_long] / self._tokens_per_second
            raise Refusal(429, "the queue is full: send less at a time, or later", retry_after=seconds)

    def _is_full(self, tokens: int, is_long: bool) -> bool:
        return 0 < self._waiting[is_long] > self._queue_tokens - tokens

    def _drop_finished(self) -> None:
        for job in self._queue.drop_finished():
            self._waiting[job.is_long] -= job.tokens

    def _append(self, job: Job, admitted: bool) -> None:
        with self._changed:
            self.check_loaded()
            if not admitted:
                self._check_room(job.tokens, job.is_long)
            self._queue.append(job)
            self._waiting[job.is_long] += job.tokens
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            model = self._load()
        except Exception as error:
            self.loaded.set_exception(error)
            return
        self.loaded.set_result(model)
        while (batch := self._next(model.batch_tokens)) is not None:
            start = time.monotonic()
            self._busy_since = start
            if isinstance(batch, CallJob):
                fulfil(batch.future, batch.call)
            else:
                _run_batch(model, batch)
            self._busy_since = None
            self._done(batch, time.monotonic() - start)

    def _next(self, batch_tokens: int) -> CallJob | Batch | None:
        """Wait for what goes through the model next; ``None`` when the service stops and nothing waits."""
        with self._changed:
            while True:
                self._drop_finished()
                if len(self._queue):
                    return self._queue.take(batch_tokens)
                if self._stopping:
                    return None
                self._changed.wait()
                # After the first request of a pause, wait briefly so that others can join its batch.
                self._changed.wait_for(
                    lambda: self._stopping or self.tokens_waiting >= batch_tokens, timeout=self._batch_wait
                )

    def _done(self, batch: CallJob | Batch, seconds: float) -> None:
        if isinstance(batch, CallJob):
            is_long, tokens = batch.is_long, batch.tokens
        else:  # rows of jobs of one kind
            is_long, tokens = batch[0][0].is_long, sum(len(job.rows[row]) for job, rows in batch for row in rows)
        with self._changed:
            self._waiting[is_long] -= tokens
            if seconds > 0:
                self._tokens_per_second = _MEMORY * self._tokens_per_second + (1 - _MEMORY) * tokens / seconds


def _run_batch(model: ServedModel, batch: Batch) -> None:
    try:
        vectors = model.embed([job.rows[row] for job, rows in batch for row in rows])
    except Exception as error:
        for job, _ in batch:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(error)
        return
    ends = np.cumsum([len(rows) for _, rows in batch])
    for (job, rows), part in zip(batch, np.split(vectors, ends[:-1])):
        job.put(rows, part)
