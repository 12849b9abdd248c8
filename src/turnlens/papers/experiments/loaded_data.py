"""A data set as a run uses it: sampled, hashed, and its tasks loaded."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens.data.drawing import draw_conversations
from turnlens.evaluation import TASKS, load_task
from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.papers.experiments.data_sets import DataSet, MissingDataError, Splits
from turnlens.papers.experiments.digests import conversations_digest, digest, folder_digest
from turnlens.papers.experiments.method import Method
from turnlens.papers.experiments.scoring import EVALUATION_SEED
from turnlens.papers.experiments.suite import Scale, Suite


class LoadedDataSet:
    """A data set that was found, as a run uses it.

    Args:
        data: The data set.
        splits: Its conversations.
        scale: How large the run is.
        suite: Says what chooses the step of published trainings.
    """

    def __init__(self, data: DataSet, splits: Splits, scale: Scale, suite: Suite) -> None:
        self.data = data
        self.needs = splits.needs
        self.validates = suite.validates if splits.validation is not None else ""
        self.pooling = suite.pooling
        self.train = None if splits.train is None else random_subset(splits.train, scale.train)
        self.test = _sampled(splits.test, scale)
        self.test_digest = _digest(self.test)
        self.validation = None if splits.validation is None else _sampled(splits.validation, scale)
        self.queries = scale.queries
        self._tasks: dict[object, Any] = {}
        self._train_digests: dict[int | None, str] = {}

    def describe(self) -> dict[str, Any]:
        """Title and sizes, ready for JSON."""
        train = None if self.train is None else len(self.train)
        test = None if isinstance(self.test, Path) else len(self.test)
        validated = {"validates": self.validates} if self.validates else {}
        return {"title": self.data.title, "train": train, "test": test, **validated}

    def training_conversations(self, count: int | None = None, validated: bool = False) -> tuple[Dataset, str]:
        """The conversations that methods learn from, and the hash of what determines what is learned from them.

        Args:
            count: How many conversations; None means all.
            validated: Whether the validation data, if there are any, choose the step.

        Raises:
            MissingDataError: There are no conversations to learn from, or fewer than asked for.
        """
        if self.train is None:
            raise MissingDataError(self.needs)
        if count is not None and count > len(self.train):
            raise MissingDataError(f"needs {count} conversations to learn from, there are {len(self.train)}")
        train = random_subset(self.train, count)
        if count not in self._train_digests:
            self._train_digests[count] = conversations_digest(train)
        learned = self._train_digests[count]
        if validated and self.validation is not None:
            learned = digest([learned, self.validates, self.pooling, self._validation_digest])
        return train, learned

    @cached_property
    def _validation_digest(self) -> str | None:
        return None if self.validation is None else _digest(self.validation)

    @cached_property
    def evaluator(self) -> TaskEvaluator | None:
        """Chooses the step of a published training; None without validation data."""
        if self.validation is None:
            return None
        return TaskEvaluator(
            self.validates, self.validation, seed=EVALUATION_SEED, max_queries=self.queries, pooling=self.pooling
        )

    def task_names(self, method: Method) -> tuple[str, ...]:
        """The tasks that the method is measured in."""
        return tuple(name for name in self.data.tasks if method.tasks is None or name in method.tasks)

    def tasks(self, method: Method) -> dict[str, Any]:
        """The data of each task that the method is measured in; tasks that share data load it once."""
        data = {}
        for name in self.task_names(method):
            key = TASKS[name].data_key
            if key not in self._tasks:
                self._tasks[key] = load_task(name, self.test, seed=EVALUATION_SEED, max_queries=self.queries)
            data[name] = self._tasks[key]
        return data


def _sampled(data: Dataset | Path, scale: Scale) -> Dataset | Path:
    return data if isinstance(data, Path) else random_subset(data, scale.test)


def _digest(data: Dataset | Path) -> str:
    return folder_digest(data) if isinstance(data, Path) else conversations_digest(data)


def random_subset(conversations: Dataset, count: int | None) -> Dataset:
    """The first ``count`` of a random order, in their own order: a larger subset holds every smaller one."""
    return draw_conversations(conversations, count, seed=0)
