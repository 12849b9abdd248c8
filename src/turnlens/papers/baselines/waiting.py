"""Progress bars for libraries that do all their work in one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, TaskID

from turnlens._utils.progress import progress_bar


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """A moving bar and the time elapsed, for a call that does not report its progress."""
    with progress_bar() as bar:
        bar.add_task(description, total=None)
        yield


class EpochBar:
    """A callback of gensim's training that advances a progress bar every epoch.

    Args:
        bar: The bar.
        task: Its task, with the number of epochs as its total.
    """

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self.bar = bar
        self.task = task

    def on_train_begin(self, model: object) -> None:
        """Gensim calls it; there is nothing to do."""

    def on_epoch_begin(self, model: object) -> None:
        """Gensim calls it; there is nothing to do."""

    def on_epoch_end(self, model: object) -> None:
        """Advance the bar."""
        self.bar.advance(self.task)

    def on_train_end(self, model: object) -> None:
        """Gensim calls it; there is nothing to do."""
