"""The cells of tables, each one method on one data set with one seed, and what determines the result of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from huggingface_hub import try_to_load_from_cache

from turnlens.papers.experiments.data_sets import DataSet, MissingDataError
from turnlens.papers.experiments.digests import digest, file_digest, folder_digest
from turnlens.papers.experiments.loaded_data import LoadedDataSet
from turnlens.papers.experiments.method import PLANNING, Method, Stage, is_published
from turnlens.papers.experiments.models import Training, resolve_stage, settings_it_has
from turnlens.papers.experiments.results import CellRecord, Outcome
from turnlens.papers.experiments.suite import Scale, Study, Suite
from turnlens.papers.generated import GeneratedCandidates
from turnlens.training.recipes import Schedule

_CHOICES = 5  # steps at which a short published training is validated


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

    @property
    def chooses_step(self) -> bool:
        """Whether validation data, if there are any, choose its step: not where a study says how many it takes."""
        published = any(is_published(stage.name) for stage in self.method.stages)
        return published and not (self.study and self.study.setting == "max_steps")

    def trainings(self, scale: Scale) -> list[Training]:
        """The method's trainings with all settings."""
        studied: dict[str, Any] = {}
        if self.study and not self.study.varies_conversations:
            studied = {**self.study.settings.get(self.method.name, {}), self.study.setting: self.value}
        last = len(self.method.stages) - 1
        return [
            self._training(stage, scale, studied if number == last else {})
            for number, stage in enumerate(self.method.stages)
        ]

    def _training(self, stage: Stage, scale: Scale, studied: Mapping[str, Any]) -> Training:
        settings = {
            **scale.settings.get(stage.name, {}),
            **self.data.settings.get(stage.name, {}),
            **settings_it_has(stage, scale.everywhere),
            "seed": self.seed,
            **studied,
        }
        if is_published(stage.name) and (steps := settings.get("max_steps")):
            settings.setdefault("checkpoint_steps", max(1, min(steps // _CHOICES, Schedule.checkpoint_steps)))
        return resolve_stage(stage, **settings)

    def training_conversations(self, loaded: LoadedDataSet) -> tuple[Dataset | None, str | None]:
        """The conversations that its method learns from, and their hash; None for a method that learns nothing.

        Raises:
            MissingDataError: There are no conversations to learn from, or fewer than the study asks for.
        """
        if not self.method.needs_conversations:
            return None, None
        varies = self.study is not None and self.study.varies_conversations
        count = int(self.value) if varies and self.value is not None else None
        return loaded.training_conversations(count, self.chooses_step)

    def describe(self) -> str:
        """A description of the cell in one line."""
        value = f", {self.study.name} {self.value:g}" if self.study and self.value is not None else ""
        seed = f", seed {self.seed}" if self.method.needs_seeds else ""
        return f"{self.data.name}: {self.method.title}{value}{seed}"

    def record(self, suite: Suite, scale: Scale, outcome: Outcome) -> CellRecord:
        """The cell as it stands in the results, ready for JSON; the cost is left out."""
        record: CellRecord = {
            "suite": suite.name,
            "data": self.data.name,
            "method": self.method.name,
            "title": self.method.title,
            "baseline": not self.method.proposed,
            "study": {"name": self.study.name, "value": self.value} if self.study else None,
            "seed": self.seed,
            "settings": {"trainings": [training.describe() for training in self.trainings(scale)]},
            "status": outcome.status,
        }
        if outcome.status == "done":
            return {**record, "figures": outcome.figures, "per_query": outcome.per_query}
        return {**record, "reason": outcome.reason}


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
        studied: Those used for the studies.
        methods: Methods by name.
        seeds: Number of seeds; a method that no seed changes has only the first.
    """

    def seeds_of(method: Method) -> range:
        return range(seeds if method.needs_seeds else 1)

    cells = [
        Cell(data_set, method, seed) for data_set in data for method in methods.values() for seed in seeds_of(method)
    ]
    if scale.studies:
        cells += [
            Cell(data_set, methods[name], seed, study, value)
            for data_set in studied
            for study in suite.studies
            if data_set.name not in study.not_on
            for name in study.methods
            if name in methods
            for value in study.values
            for seed in range(seeds)
        ]
    return cells


def running_order(plan: Sequence[Cell]) -> list[int]:
    """Places in the plan in the order in which they are run.

    Tables come before studies. On a data set, all methods are run with one seed before the next seed, so that tables
    are complete early.
    """
    data = list(dict.fromkeys(cell.data.name for cell in plan))

    def rank(place: int) -> tuple[bool, int, int]:
        cell = plan[place]
        return cell.study is not None, data.index(cell.data.name), cell.seed

    return sorted(range(len(plan)), key=rank)


def cell_key(
    cell: Cell,
    loaded: LoadedDataSet,
    scale: Scale,
    base: dict[str, Any],
    word_vectors: str | None,
    candidates: GeneratedCandidates | None = None,
) -> str:
    """A hash of everything that determines a cell's result.

    Args:
        cell: The cell.
        loaded: Its data set.
        scale: How large the run is.
        base: What identifies the encoder that all trainings start from, and the versions of the libraries.
        word_vectors: A file of word vectors, or None.
        candidates: Gives the candidates of tasks that take some.

    Raises:
        MissingDataError: The method needs something that is not there.
    """
    _, learned = cell.training_conversations(loaded)
    needs_vectors = cell.method.needs == "word_vectors"
    if needs_vectors and word_vectors is None:
        raise MissingDataError("needs a text file of word vectors: --word-vectors")
    model, tasks = cell.method.model, loaded.task_names(cell.method)
    if model and not cell.method.chosen_model and not isinstance(try_to_load_from_cache(model, "config.json"), str):
        raise MissingDataError(f"needs the weights of {model} in the Hugging Face cache: hf download {model}")
    generated = candidates if PLANNING in tasks else None
    return digest(
        {
            **base,
            "method": cell.method.name,
            "trainings": [training.describe() for training in cell.trainings(scale)],
            "model": folder_digest(Path(model)) if model and Path(model).is_dir() else model,
            "seed": cell.seed,
            "learned": learned,
            "test": loaded.test_digest,
            "tasks": tasks,
            "queries": loaded.queries,
            "word_vectors": file_digest(word_vectors) if needs_vectors and word_vectors else None,
            **({"candidates": generated.describe()} if generated is not None else {}),
        }
    )
