"""A cell of a table: one method on one data set with one seed, what it is made of, and its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from datasets import Dataset

from turnwise._utils.files import atomic_path
from turnwise.evaluation import TASKS, load_task
from turnwise.experiments import digests
from turnwise.experiments.methods import EVALUATION_SEED, Method
from turnwise.experiments.models import Training, resolve
from turnwise.experiments.suites import DataSet, MissingDataError, Parts, Scale, Study, Suite

Status = Literal["done", "failed", "not run"]


@dataclass(frozen=True)
class Outcome:
    """What came of a cell.

    Attributes:
        status: Whether it was run.
        reason: Why it failed, or what it needs.
        figures: Task key -> the task's figures.
        per_query: Task key, or task key/mode -> the main figure's name and its values.
        cost: Time and tokens.
    """

    status: Status
    reason: str = ""
    figures: dict[str, Any] | None = None
    per_query: dict[str, Any] | None = None
    cost: dict[str, Any] | None = None


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        data: The data set.
        method: The method.
        seed: The seed of its trainings.
        study: The study it belongs to, None in the main tables.
        value: The value of the study's setting.
    """

    data: DataSet
    method: Method
    seed: int
    study: Study | None = None
    value: float | None = None

    def trainings(self, scale: Scale) -> list[Training]:
        """The method's trainings with all settings."""
        found = []
        for number, stage in enumerate(self.method.stages, start=1):
            settings = {
                **scale.settings.get(stage.name, {}),
                **self.data.settings.get(stage.name, {}),
                **scale.everywhere,
                "seed": self.seed,
            }
            if self.study and self.study.setting != "train_conversations" and number == len(self.method.stages):
                settings[self.study.setting] = self.value
            found.append(resolve(stage, **settings))
        return found

    def shown(self) -> str:
        """What it is, in a line."""
        value = f", {self.study.name} {self.value:g}" if self.study and self.value is not None else ""
        seed = f", seed {self.seed}" if self.method.needs_seeds else ""
        return f"{self.data.name}: {self.method.title}{value}{seed}"

    def row(self, suite: Suite, scale: Scale, outcome: Outcome) -> dict[str, Any]:
        """Its place in the results, ready for JSON; the cost is left out."""
        row: dict[str, Any] = {
            "suite": suite.name,
            "data": self.data.name,
            "method": self.method.name,
            "title": self.method.title,
            "baseline": not self.method.own,
            "study": {"name": self.study.name, "value": self.value} if self.study else None,
            "seed": self.seed,
            "settings": {"trainings": [one.describe() for one in self.trainings(scale)]},
            "status": outcome.status,
        }
        if outcome.status == "done":
            return {**row, "figures": outcome.figures, "per_query": outcome.per_query}
        return {**row, "reason": outcome.reason}


def plan_cells(
    suite: Suite,
    scale: Scale,
    data: Sequence[DataSet],
    studied: Sequence[DataSet],
    methods: Mapping[str, Method],
    seeds: int,
) -> list[Cell]:
    """All cells in the order of the tables: data sets, methods, seeds; then the studies.

    Args:
        suite: The suite.
        scale: How large the run is.
        data: The data sets.
        studied: Those the studies are made on.
        methods: Methods by name.
        seeds: Number of seeds; a method that none changes has the first only.
    """

    def seeds_of(method: Method) -> range:
        return range(seeds if method.needs_seeds else 1)

    cells = [Cell(one, method, seed) for one in data for method in methods.values() for seed in seeds_of(method)]
    if scale.studies:
        cells += [
            Cell(one, methods[name], seed, study, value)
            for one in studied
            for study in suite.studies
            for name in study.methods
            if name in methods
            for value in study.values
            for seed in range(seeds)
        ]
    return cells


class Material:
    """A data set as a run uses it: sampled, hashed, and its tasks loaded.

    Args:
        data: The data set.
        parts: Its conversations.
        scale: How large the run is.
    """

    def __init__(self, data: DataSet, parts: Parts, scale: Scale) -> None:
        self.data = data
        self.needs = parts.needs
        self.train = None if parts.train is None else some(parts.train, scale.train)
        self.test = parts.test if isinstance(parts.test, Path) else some(parts.test, scale.test)
        self.test_digest = (
            digests.folder(self.test) if isinstance(self.test, Path) else digests.conversations(self.test)
        )
        self.queries = scale.queries
        self._tasks: dict[object, Any] = {}
        self._learned: dict[int | None, str | None] = {}

    def describe(self) -> dict[str, Any]:
        """Title and sizes, ready for JSON."""
        train = None if self.train is None else len(self.train)
        return {
            "title": self.data.title,
            "train": train,
            "test": None if isinstance(self.test, Path) else len(self.test),
        }

    def conversations(self, cell: Cell) -> tuple[Dataset | None, str | None]:
        """What the cell's method learns from, and its hash; nothing for methods that learn nothing.

        Raises:
            MissingDataError: There is nothing to learn from, or less than the study asks for.
        """
        if not cell.method.needs_conversations:
            return None, None
        if self.train is None:
            raise MissingDataError(self.needs)
        wanted = None
        if cell.study and cell.study.setting == "train_conversations" and cell.value is not None:
            wanted = int(cell.value)
            if wanted > len(self.train):
                raise MissingDataError(f"needs {wanted} conversations to learn from, there are {len(self.train)}")
        train = some(self.train, wanted)
        if wanted not in self._learned:
            self._learned[wanted] = digests.conversations(train)
        return train, self._learned[wanted]

    def task_names(self, method: Method) -> tuple[str, ...]:
        """The tasks that are measured."""
        return tuple(name for name in self.data.tasks if method.tasks is None or name in method.tasks)

    def tasks(self, method: Method) -> dict[str, Any]:
        """The tasks a method serves, each loaded once; those above the level of utterances share one."""
        found = {}
        for name in self.task_names(method):
            key = TASKS[name].data_key
            if key not in self._tasks:
                self._tasks[key] = load_task(name, self.test, seed=EVALUATION_SEED, max_queries=self.queries)
            found[name] = self._tasks[key]
        return found


def some(conversations: Dataset, count: int | None) -> Dataset:
    """The first so many of a random order, in their own order: a larger sample holds every smaller one."""
    if count is None or count >= len(conversations):
        return conversations
    return conversations.select(sorted(np.random.default_rng(0).permutation(len(conversations))[:count].tolist()))


def cell_key(cell: Cell, material: Material, scale: Scale, base: dict[str, Any], word_vectors: str | None) -> str:
    """A hash of everything that determines a cell's result.

    Raises:
        MissingDataError: The method needs something that is not there.
    """
    _, learned = material.conversations(cell)
    needs_vectors = cell.method.needs == "word_vectors"
    if needs_vectors and word_vectors is None:
        raise MissingDataError("needs a text file of word vectors: --word-vectors")
    model = cell.method.model
    return digests.digest(
        {
            **base,
            "method": cell.method.name,
            "trainings": [one.describe() for one in cell.trainings(scale)],
            "model": digests.folder(Path(model)) if model and Path(model).is_dir() else model,
            "seed": cell.seed,
            "learned": learned,
            "test": material.test_digest,
            "tasks": material.task_names(cell.method),
            "queries": material.queries,
            "word_vectors": digests.file_digest(word_vectors) if needs_vectors and word_vectors else None,
        }
    )


class Cells:
    """The folder of finished and failed cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self, key: str) -> Outcome | None:
        """The outcome of a cell that was done before."""
        path = self.folder / f"{key}.json"
        if not path.is_file():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["status"] != "done":
            return None
        return Outcome("done", figures=record["figures"], per_query=record["per_query"], cost=record["cost"])

    def keep(self, key: str, row: dict[str, Any], cost: dict[str, Any] | None) -> None:
        """Write a cell as it stands in the results, with its cost."""
        write_json(self.folder / f"{key}.json", {**row, "cost": cost})


# A list of numbers as json writes it with an indent; no text can look so, its line breaks are escaped.
_NUMBERS = re.compile(r"\[\n[\s\d.,eE+-]+\]")


def write_json(path: Path, value: Any) -> None:
    """Write a file as a whole or not at all; lists of numbers, one for each query, are not spread over lines."""
    text = _NUMBERS.sub(lambda found: re.sub(r"\s+", "", found[0]).replace(",", ", "), json.dumps(value, indent=1))
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")
