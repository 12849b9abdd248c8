"""Running the rows of a suite: each row, data set and seed once, even if the run is stopped or extended.

A finished row is a file in ``rows/``, and a trained encoder a folder in ``models/``, each named by a hash of everything
that determines it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from huggingface_hub import try_to_load_from_cache

import turnlens
from turnlens._utils.files import atomic_path
from turnlens._utils.progress import error_console
from turnlens.data.dataset_operations import draw_conversations
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.loading import encoder_source, load_sentence_transformer, weights_digest
from turnlens.evaluation import TASKS, load_task
from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines import SimCSE, SimCSESettings
from turnlens.papers.experiments import suite as suites
from turnlens.papers.experiments.report import Results, write_report
from turnlens.papers.experiments.scoring import EVALUATION_SEED, PLANNING, ScoringInputs
from turnlens.papers.experiments.suite import DataSet, Method, MissingDataError, Scale, Splits, Stage, Study, Suite
from turnlens.papers.generation import GeneratedCandidates
from turnlens.training.model_card import save_encoder
from turnlens.training.recipes import METHODS, Pace, Schedule, get_recipe
from turnlens.training.train import train

# Libraries whose releases may change a figure.
_LIBRARIES = ("torch", "transformers", "sentence-transformers", "numpy", "scipy", "scikit-learn", "bm25s", "gensim")
# The settings of every training, except those that a run sets itself.
_SETTINGS = tuple(field.name for field in fields(Schedule) if field.name not in ("seed", "checkpoint_steps"))
_WRITE_EVERY = 60  # seconds; a report of hundreds of rows takes some
_CHOICES = 5  # steps at which a short published training is validated


def run_suite(
    suite: Suite | str,
    data: Path | None = None,
    encoder: str | None = None,
    out: Path = Path("report"),
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    word_vectors: str | None = None,
    settings: Mapping[str, Any] | None = None,
    generator: str | None = None,
    data_sets: Sequence[str] | None = None,
    studies: bool = True,
    command: str = "",
) -> Results:
    """Run the experiments of one paper; every minute and at the end, write ``results.json`` and the report.

    The arguments are the options of ``turnlens papers bench``; ``command`` is shown in the report.

    Raises:
        ValueError: An unknown suite, method, data set or setting, no seed, or the folder has results of other settings.
    """
    suite = suites.find_suite(suite) if isinstance(suite, str) else suite
    settings, seeds = dict(settings or {}), (1 if quick else 3) if seeds is None else seeds
    if generator is not None and suite.level != "reply":
        raise ValueError(f"a generator is for short-term planning, which {suite.name} does not have: leave it out")
    if unknown := sorted(set(settings) - set(_SETTINGS)):
        raise ValueError(f"no setting of every training: {', '.join(unknown)}; expected {', '.join(_SETTINGS)}")
    Schedule(**settings)  # so that values out of range are reported now, and not in every row
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more, got {seeds}")
    suite = replace(suite, data=suites.chosen_data(suite, data_sets, data), studies=suite.studies if studies else ())
    chosen = suites.chosen_methods(suite, methods)
    run = _Run(suite, out, encoder or BASE_ENCODER, suite.quick if quick else suite.full, settings)
    run.word_vectors = word_vectors
    run.candidates = GeneratedCandidates(generator, seed=EVALUATION_SEED) if generator is not None else None
    run.results |= {"quick": quick, "settings": settings, "command": command}
    run.refuse_other_results()
    return run.run(data, chosen, seeds)


@dataclass(frozen=True)
class Training:
    """A stage with all its settings."""

    stage: Stage
    settings: Pace

    def describe(self) -> dict[str, Any]:
        """Return name and settings, ready for JSON."""
        return {"method": self.stage.name, **asdict(self.settings)}


def resolve_stage(stage: Stage, **settings: Any) -> Training:
    """Return the training of a stage; ``settings`` of the suite, the seed or a study take precedence over its own.

    Raises:
        ValueError: An unknown stage or setting, or a value out of range.
    """
    chosen = {**stage.settings, **settings}
    if stage.name in ("adapt", "adapt-paper"):  # two names, so that a suite can limit the first one alone
        return Training(stage, Adaptation(**chosen))
    if stage.name == "simcse":
        return Training(stage, SimCSESettings(**chosen))
    method, _, preset = stage.name.partition(":")
    return Training(stage, get_recipe(method, settings=chosen, preset=preset or None))


def settings_it_has(stage: Stage, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a stage has, out of those of every training: a reply head, for one, runs no encoder."""
    recipe = METHODS.get(stage.name.partition(":")[0])
    known = set(settings) if recipe is None else {field.name for field in fields(recipe)}
    return {name: value for name, value in settings.items() if name in known}


@dataclass(frozen=True)
class Cell:
    """One row on one data set with one seed, and perhaps one value of a study."""

    data: DataSet
    method: Method
    seed: int
    study: Study | None = None
    value: float | None = None

    @property
    def chooses_step(self) -> bool:
        """True if validation data, if there are any, choose its step: not where a study says how many it takes."""
        published = any(stage.is_published for stage in self.method.stages)
        return published and not (self.study and self.study.setting == "max_steps")

    def trainings(self, scale: Scale, everywhere: Mapping[str, Any] | None = None) -> list[Training]:
        """Return the row's trainings; ``everywhere`` are settings of each that has them."""
        trainings = []
        for number, stage in enumerate(self.method.stages, start=1):
            settings = {
                **scale.settings.get(stage.name, {}),
                **self.data.settings.get(stage.name, {}),
                **settings_it_has(stage, everywhere or {}),
                "seed": self.seed,
            }
            if self.study and not self.study.varies_conversations and number == len(self.method.stages):
                settings |= {**self.study.settings.get(self.method.name, {}), self.study.setting: self.value}
            if stage.is_published and (steps := settings.get("max_steps")):
                settings.setdefault("checkpoint_steps", max(1, min(steps // _CHOICES, Schedule.checkpoint_steps)))
            trainings.append(resolve_stage(stage, **settings))
        return trainings

    def __str__(self) -> str:
        """Describe the cell in one line."""
        value = f", {self.study.name} {self.value:g}" if self.study and self.value is not None else ""
        seed = f", seed {self.seed}" if self.method.needs_seeds else ""
        return f"{self.data.name}: {self.method.title}{value}{seed}"


def plan_cells(
    suite: Suite,
    scale: Scale,
    data: Sequence[DataSet],
    studied: Sequence[DataSet],
    methods: Mapping[str, Method],
    seeds: int,
) -> list[Cell]:
    """Return all cells in the order of the tables: data sets, rows, seeds; then the studies on the data ``studied``."""
    cells = [
        Cell(data_set, method, seed)
        for data_set in data
        for method in methods.values()
        for seed in range(seeds if method.needs_seeds else 1)
    ]
    return cells + [
        Cell(data_set, methods[name], seed, study, value)
        for data_set in studied
        for study in (suite.studies if scale.studies else ())
        if data_set.name not in study.not_on
        for name in study.methods
        if name in methods
        for value in study.values
        for seed in range(seeds)
    ]


class _Loaded:
    """A data set that was found: sampled, with its tasks and hashes."""

    def __init__(self, data: DataSet, splits: Splits, scale: Scale, suite: Suite) -> None:
        self.data, self.needs, self.queries, self.pooling = data, splits.needs, scale.queries, suite.pooling
        self.train = None if splits.train is None else draw_conversations(splits.train, scale.train, seed=0)
        self.test, self.validation = (
            draw_conversations(part, scale.test, seed=0) if isinstance(part, Dataset) else part
            for part in (splits.test, splits.validation)
        )
        self.validates = suite.validates if self.validation is not None else ""
        self._tasks: dict[object, Any] = {}
        self._learned: dict[int | None, str] = {}

    def describe(self) -> dict[str, Any]:
        """Return title and sizes, ready for JSON."""
        parts = {"train": self.train, "test": self.test}
        sizes = {name: len(part) if isinstance(part, Dataset) else None for name, part in parts.items()}
        return {"title": self.data.title, **sizes, "validates": self.validates}

    def conversations_of(self, cell: Cell) -> tuple[Dataset | None, str | None]:
        """Return the conversations that a cell learns from, and a hash of them and of what chooses its step.

        Raises:
            MissingDataError: There are no conversations to learn from, or fewer than the study asks for.
        """
        if not cell.method.needs_conversations:
            return None, None
        if self.train is None:
            raise MissingDataError(self.needs)
        varies = cell.study is not None and cell.study.varies_conversations
        count = int(cell.value) if varies and cell.value is not None else None
        if count is not None and count > len(self.train):
            raise MissingDataError(f"needs {count} conversations to learn from, there are {len(self.train)}")
        conversations = draw_conversations(self.train, count, seed=0)
        learned = self._learned.setdefault(count, "") or _data_digest(conversations)
        self._learned[count] = learned
        if cell.chooses_step and self.validation is not None:
            learned = digest([learned, self.validates, self.pooling, self.validation_digest])
        return conversations, learned

    @cached_property
    def test_digest(self) -> str:
        """A hash of the test data."""
        return _data_digest(self.test)

    @cached_property
    def validation_digest(self) -> str:
        """A hash of the validation data."""
        return _data_digest(self.validation)

    @cached_property
    def evaluator(self) -> TaskEvaluator | None:
        """Chooses the step of a published training; None without validation data."""
        if self.validation is None:
            return None
        queries = self.queries
        return TaskEvaluator(
            self.validates, self.validation, seed=EVALUATION_SEED, max_queries=queries, pooling=self.pooling
        )

    def task_names(self, method: Method) -> list[str]:
        """Return the tasks that the row is measured in."""
        return [name for name in self.data.tasks if method.tasks is None or name in method.tasks]

    def tasks(self, method: Method) -> dict[str, Any]:
        """Return the data of each task that the row is measured in; tasks that share data load it once."""
        for name in (names := self.task_names(method)):
            if TASKS[name].data_key not in self._tasks:
                task = load_task(name, self.test, seed=EVALUATION_SEED, max_queries=self.queries)
                self._tasks[TASKS[name].data_key] = task
        return {name: self._tasks[TASKS[name].data_key] for name in names}


class _Run:
    """One run of a suite into a folder."""

    word_vectors: str | None = None
    candidates: GeneratedCandidates | None = None

    def __init__(self, suite: Suite, out: Path, encoder: str, scale: Scale, everywhere: Mapping[str, Any]) -> None:
        self.suite, self.out, self.encoder, self.scale, self.everywhere = suite, out, encoder, scale, everywhere
        self.environment = _environment(load_sentence_transformer(encoder))
        self.results: Results = {"suite": suite.name, "paper": suite.paper, "environment": self.environment}
        self.loaded: dict[str, _Loaded] = {}  # by name of the data set

    def refuse_other_results(self) -> None:
        """Raise ``ValueError`` if the folder has results that this run would overwrite rather than continue."""
        path = self.out / "results.json"
        there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else self.results
        for name in ("suite", "quick", "settings"):
            if there.get(name) != self.results[name]:
                told = f"{self.out} holds the results of {name} {there.get(name)}"
                raise ValueError(f"{told}: name another folder, such as --output {self.suite.name}")

    def run(self, folder: Path | None, methods: Mapping[str, Method], seeds: int) -> Results:
        """Run what is not finished."""
        missing = {}
        for data in self.suite.data:
            if folder is not None or not data.needs_folder:
                try:
                    self.loaded[data.name] = _Loaded(data, data.load(folder or Path()), self.scale, self.suite)
                except MissingDataError as error:
                    missing[data.title] = str(error)
        available = [loaded.data for loaded in self.loaded.values()]
        studied = [data for data in available if self.loaded[data.name].train is not None]
        studied = [data for data in studied if data.needs_folder] or studied
        plan = plan_cells(self.suite, self.scale, available, studied, methods, seeds)
        described = {name: loaded.describe() for name, loaded in self.loaded.items()}
        self.results |= {"planned": len(plan), "data": described, "missing": missing}

        def rank(place: int) -> tuple[bool, int, int]:
            """Tables come before studies, and one seed of all rows before the next: tables are soon complete."""
            cell = plan[place]
            return cell.study is not None, available.index(cell.data), cell.seed

        records: dict[int, dict[str, Any]] = {}  # by place in the plan
        written = time.monotonic()
        try:
            for number, place in enumerate(sorted(range(len(plan)), key=rank), start=1):
                _say(f"[{number}/{len(plan)}] {plan[place]}")
                records[place] = self._describe(plan[place]) | (outcome := self._outcome(plan[place]))
                if outcome["status"] != "done":
                    _say(f"    {outcome['status']}: {outcome['reason']}")
                if time.monotonic() - written > _WRITE_EVERY:
                    self._write(records)
                    written = time.monotonic()
        finally:  # after Ctrl-C, too
            self._write(records)
        return self.results

    def _write(self, records: Mapping[int, Any]) -> None:
        self.results["cells"] = [records[place] for place in sorted(records)]
        _write_json(self.out / "results.json", self.results)
        write_report(self.results, self.out)

    def _outcome(self, cell: Cell) -> dict[str, Any]:
        """Return a cell's outcome, from its file or by running it; an error is an outcome, too."""
        try:
            path = self.out / "rows" / f"{self._key(cell)}.json"
            if path.is_file():
                kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                return kept
            outcome = self._measure(cell)
        except (MissingDataError, ImportError) as error:
            return {"status": "not run", "reason": _line(error)}
        except Exception as error:  # the other cells are run; this one is tried again next time
            return {"status": "failed", "reason": f"{type(error).__name__}: {_line(error)}"}
        _write_json(path, outcome)
        return outcome

    def _measure(self, cell: Cell) -> dict[str, Any]:
        """Train what has to be trained, and score."""
        loaded, trainings = self.loaded[cell.data.name], cell.trainings(self.scale, self.everywhere)
        conversations, learned = loaded.conversations_of(cell)
        evaluator = loaded.evaluator if cell.chooses_step else None
        encoder = self._trained(trainings, conversations, learned, evaluator)
        inputs = ScoringInputs(encoder, conversations, cell.seed, self.word_vectors, self.candidates)
        figures = cell.method.score(inputs, loaded.tasks(cell.method))
        if cell.study is not None and trainings:  # of the models of studies, those that tables share are kept
            of_table = replace(cell, study=None, value=None)
            kept = self._model(of_table.trainings(self.scale, self.everywhere), loaded.conversations_of(of_table)[1])
            if (own := self._model(trainings, learned)) != kept:
                shutil.rmtree(own, ignore_errors=True)
        per_query = {  # six digits are finer than any difference between rows
            key: np.round(values, 6).tolist() for task in figures.values() for key, values in task.per_query.items()
        }
        summaries = {TASKS[name].key: task.summary for name, task in figures.items()}
        return {"status": "done", "figures": summaries, "per_query": per_query}

    def _key(self, cell: Cell) -> str:
        """Return a hash of all that determines a cell's result; ``MissingDataError`` if it needs what is not there."""
        method, loaded = cell.method, self.loaded[cell.data.name]
        vectors = self.word_vectors if method.needs == "word_vectors" else ""
        if vectors is None:
            raise MissingDataError("needs a text file of word vectors: --word-vectors")
        model, tasks = method.model, loaded.task_names(method)
        if model and not method.chosen and not isinstance(try_to_load_from_cache(model, "config.json"), str):
            raise MissingDataError(f"needs the weights of {model} in the Hugging Face cache: hf download {model}")
        candidates = self.candidates if PLANNING in tasks else None
        return digest(
            {
                **self.environment,
                **self._describe(cell),
                "learned": loaded.conversations_of(cell)[1],
                "test": loaded.test_digest,
                "tasks": tasks,
                "queries": loaded.queries,
                "model": _data_digest(Path(model)) if model and Path(model).is_dir() else model,
                "word_vectors": _file_digest(Path(vectors)) if vectors else None,
                "candidates": candidates.describe() if candidates is not None else None,
            }
        )

    def _model(self, trainings: Sequence[Training], learned: str | None) -> Path:
        """Return the folder of the encoder after some trainings on conversations with this hash."""
        return self.out / "models" / digest([self.environment, learned, [one.describe() for one in trainings]])

    def _trained(
        self, trainings: list[Training], conversations: Any, learned: str | None, validation: TaskEvaluator | None
    ) -> ConversationEncoder:
        """Return the encoder after some trainings, one after the other; one is run only if its result is not there."""
        path: Path | str = self.encoder
        for number, training in enumerate(trainings, start=1):
            before, path = path, self._model(trainings[:number], learned)
            if path.is_dir():
                continue
            unfinished = path.with_suffix(".unfinished")
            evaluator = validation if training.stage.is_published else None
            try:
                trained = _train(training, load_sentence_transformer(before), conversations, unfinished, evaluator)
            except Exception:  # a training that failed begins again, but one that was stopped continues
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            record = {
                "turnlens": self.environment["turnlens"],
                "level": getattr(training.settings, "level", "message"),
                "recipe": training.describe(),
                "conversations": f"{len(conversations)} conversations",
                "encoder": self.environment["encoder"],
            }
            save_encoder(trained, path, record)
            shutil.rmtree(unfinished, ignore_errors=True)
        return load_sentence_transformer(path)

    def _describe(self, cell: Cell) -> dict[str, Any]:
        return {
            "data": cell.data.name,
            "method": cell.method.name,
            "title": cell.method.title,
            "study": {"name": cell.study.name, "value": cell.value} if cell.study else None,
            "seed": cell.seed,
            "trainings": [training.describe() for training in cell.trainings(self.scale, self.everywhere)],
        }


def _train(
    training: Training, encoder: ConversationEncoder, conversations: Dataset, unfinished: Path, evaluator: Any
) -> ConversationEncoder:
    """Train an encoder, from the checkpoints in ``unfinished`` if there are any; SimCSE has none."""
    if isinstance(training.settings, SimCSESettings):
        simcse = SimCSE(encoder, training.settings).fit(conversations)
        assert simcse.trained is not None  # fit has set it
        return ConversationEncoder.of(simcse.trained)
    recipe: Any = training.settings
    output, further = unfinished / "model", {"evaluator": evaluator, "resume": True, "force": True}
    return train(conversations, method=recipe, encoder=encoder, output=output, **further)


def digest(value: Any) -> str:
    """Return a short hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _data_digest(data: Any) -> str:
    """Return a hash of all that conversations hold, labels included, or of the files in a folder."""
    if isinstance(data, Path):
        files = sorted(file for file in data.rglob("*") if file.is_file())
        return digest({file.relative_to(data).as_posix(): _file_digest(file) for file in files})
    return digest([digest(row) for row in data])


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=10)).hexdigest()


def _environment(encoder: ConversationEncoder) -> dict[str, Any]:
    """Return the software, the hardware and the encoder of a run."""
    versions = {"turnlens": turnlens.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    device = encoder.device.type
    shown = torch.cuda.get_device_name(encoder.device) if device == "cuda" else f"{device}, {platform.machine()}"
    return {**versions, "encoder": encoder_source(encoder), "weights": weights_digest(encoder), "device": shown}


def _write_json(path: Path, value: Any) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value) + "\n", encoding="utf-8", newline="\n")


def _say(line: str) -> None:
    error_console.print(line, soft_wrap=True)


def _line(error: BaseException) -> str:
    """Return an error's message as one line."""
    return " ".join(str(error).split())[:500]
