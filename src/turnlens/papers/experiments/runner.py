"""Running a suite: every cell once, even if the run is killed or extended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from turnlens._utils.progress import error_console
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.loading import load_encoder
from turnlens.evaluation import TASKS
from turnlens.papers.experiments.cells import Cell, cell_key, plan_cells, running_order
from turnlens.papers.experiments.data_sets import DataSet, MissingDataError
from turnlens.papers.experiments.digests import environment
from turnlens.papers.experiments.loaded_data import LoadedDataSet
from turnlens.papers.experiments.method import ScoringInputs, TaskFigures
from turnlens.papers.experiments.models import ModelFolder, Training
from turnlens.papers.experiments.report import write_report
from turnlens.papers.experiments.results import CellFolder, Outcome, Results, check_suite, write_json
from turnlens.papers.experiments.scoring import EVALUATION_SEED
from turnlens.papers.experiments.suite import Scale, Suite
from turnlens.papers.experiments.suites import chosen_data, chosen_methods, find_suite
from turnlens.papers.generated import GeneratedCandidates
from turnlens.training.recipes import Schedule

# In seconds. Computing a report's p-values takes some seconds, and so does writing the values of all queries.
_REPORT_EVERY, _RESULTS_EVERY = 60, 5
# The settings of every training, except those that a run sets itself.
_SETTINGS = tuple(field.name for field in fields(Schedule) if field.name not in ("seed", "checkpoint_steps"))


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
) -> Results:
    """Run the experiments of one paper, and write results and report in between.

    Args:
        suite: The suite, or its name in ``suites.SUITES``.
        data: The folder of the data sets; without one the sample corpus alone is used.
        encoder: The encoder to start from: a folder or a Hub name; None is the default encoder.
        out: The folder of the results. Cells that are finished there are not run again.
        methods: Names of methods; by default all. The untouched encoder is always among them.
        seeds: Number of seeds; by default 3, or 1 if ``quick``.
        quick: Few steps, small samples and no studies.
        word_vectors: A text file of word vectors.
        settings: Settings of every training, out of those that all trainings share, see ``recipes.Schedule``.
        generator: A causal language model that generates the candidates of short-term planning; by default they are
            drawn from other conversations.
        data_sets: Names of data sets; by default all that the folder has, and the sample corpus.
        studies: Whether the studies are run.

    Returns:
        What is in ``results.json``.

    Raises:
        ValueError: An unknown suite, method, data set or setting, or no seed.
    """
    suite = find_suite(suite) if isinstance(suite, str) else suite
    suite = replace(suite, data=chosen_data(suite, data_sets, data), studies=suite.studies if studies else ())
    choice = [*(["--data-sets", ",".join(data_sets)] if data_sets else []), *([] if studies else ["--no-studies"])]
    return SuiteRunner(
        suite, data, encoder, out, methods, seeds, quick, word_vectors, settings or {}, generator, choice
    ).run()


class SuiteRunner:
    """One run of a suite; the arguments are those of ``run_suite``, and options say what was chosen from the suite."""

    def __init__(
        self,
        suite: Suite,
        data: Path | None,
        encoder: str | None,
        out: Path,
        methods: Sequence[str] | None,
        seeds: int | None,
        quick: bool,
        word_vectors: str | None,
        settings: Mapping[str, Any],
        generator: str | None,
        choice: Sequence[str],
    ) -> None:
        if generator is not None and suite.level != "reply":
            raise ValueError(f"a generator is for short-term planning, which {suite.name} does not have: leave it out")
        if unknown := sorted(set(settings) - set(_SETTINGS)):
            raise ValueError(f"no setting of every training: {', '.join(unknown)}; expected {', '.join(_SETTINGS)}")
        Schedule(**settings)  # so that values out of range are reported now, and not in every row
        self.suite = suite
        self.folder = data
        self.out = out
        self.quick = quick
        self.word_vectors = word_vectors
        self.candidates = GeneratedCandidates(generator, seed=EVALUATION_SEED) if generator is not None else None
        self.scale: Scale = replace(suite.quick if quick else suite.full, everywhere=settings)
        self.methods = chosen_methods(suite, methods)
        self.seeds = seeds if seeds is not None else 1 if quick else 3
        if self.seeds < 1:
            raise ValueError(f"seeds must be 1 or more, got {self.seeds}")
        encoder = encoder or BASE_ENCODER  # the papers start from encoders that know no conversations
        self.environment = environment(load_encoder(encoder))
        self.models = ModelFolder(out / "models", encoder, self.environment)
        self.cells = CellFolder(out / "cells")
        self.loaded: dict[str, LoadedDataSet] = {}  # by name of the data set
        self.missing: dict[str, str] = {}  # title of a data set -> what it needs
        self.plan: list[Cell] = []
        self.outcomes: dict[int, Outcome] = {}  # by place in the plan
        self.command = self._command(encoder, methods, settings, generator, choice)

    def run(self) -> Results:
        """Run what is not finished.

        Raises:
            ValueError: The folder holds the results of another suite.
        """
        check_suite(self.out, self.suite.name)
        wanted = [data_set for data_set in self.suite.data if self.folder is not None or not data_set.needs_folder]
        available = [data_set for data_set in wanted if self._load(data_set)]
        studied = [data_set for data_set in available if self.loaded[data_set.name].train is not None]
        studied = [data_set for data_set in studied if data_set.needs_folder] or studied
        self.plan = plan_cells(self.suite, self.scale, available, studied, self.methods, self.seeds)
        try:
            self._run_cells()
        except KeyboardInterrupt:
            _say("The same command goes on from here.")
            if self.outcomes:
                self._write_results()
                write_report(self.out, plots=False)
            raise
        self._write_results()
        write_report(self.out)
        return self._results()

    def _load(self, data: DataSet) -> bool:
        """Load a data set, and return whether it was found."""
        try:
            splits = data.load(self.folder or Path())
        except MissingDataError as missing:
            self.missing[data.title] = str(missing)
            return False
        self.loaded[data.name] = LoadedDataSet(data, splits, self.scale, self.suite)
        return True

    def _run_cells(self) -> None:
        """Run the plan; results and report are written now and then."""
        results_written = report_written = time.monotonic()
        for number, place in enumerate(running_order(self.plan), start=1):
            cell = self.plan[place]
            _say(f"[{number}/{len(self.plan)}] {cell.describe()}")
            self.outcomes[place] = outcome = self._outcome(cell)
            if outcome.status != "done":
                _say(f"    {outcome.status}: {outcome.reason}")
            if time.monotonic() - results_written > _RESULTS_EVERY:
                self._write_results()
                results_written = time.monotonic()
                if results_written - report_written > _REPORT_EVERY:
                    write_report(self.out, plots=False)
                    report_written = time.monotonic()

    def _outcome(self, cell: Cell) -> Outcome:
        """Run a cell unless it is finished; if something goes wrong, the error is its outcome."""
        loaded = self.loaded[cell.data.name]
        try:
            key = cell_key(cell, loaded, self.scale, self.environment, self.word_vectors, self.candidates)
        except MissingDataError as missing:
            return Outcome("not run", str(missing))
        if (finished := self.cells.finished(key)) is not None:
            return finished
        try:
            outcome = self._measure(cell, loaded)
        except ImportError as missing:
            return Outcome("not run", _line(missing))
        except Exception as error:  # after any error, the other cells are run; this one is tried again next time
            outcome = Outcome("failed", f"{type(error).__name__}: {_line(error)}")
        self.cells.keep(key, cell.record(self.suite, self.scale, outcome), outcome.cost)
        return outcome

    def _measure(self, cell: Cell, loaded: LoadedDataSet) -> Outcome:
        """Train what has to be trained, and score."""
        start = time.perf_counter()
        train, learned = cell.training_conversations(loaded)
        trainings = cell.trainings(self.scale)
        tasks = loaded.tasks(cell.method)
        validation = loaded.evaluator if cell.chooses_step else None
        encoder, cost = self.models.get(trainings, train, learned, validation)
        inputs = ScoringInputs(encoder, train, cell.seed, self.word_vectors, self.candidates, self.models.encoder)
        figures = cell.method.score(inputs, tasks)
        if cell.study is not None and trainings:
            self._forget(cell, trainings, learned)
        return Outcome(
            "done",
            figures={TASKS[name].key: of_task.summary for name, of_task in figures.items()},
            per_query=_per_query(figures),
            cost={"seconds": round(time.perf_counter() - start, 1), **cost},
        )

    def _forget(self, cell: Cell, trainings: list[Training], learned: str | None) -> None:
        """Delete the model of a study's value, unless the main tables share it."""
        own = self.models.key(trainings, learned)
        of_table = replace(cell, study=None, value=None)
        _, learned_by_table = of_table.training_conversations(self.loaded[cell.data.name])
        if own != self.models.key(of_table.trainings(self.scale), learned_by_table):
            self.models.forget(own)

    def _results(self) -> Results:
        return {
            "suite": self.suite.name,
            "paper": self.suite.paper,
            "command": self.command,
            "quick": self.quick,
            "planned": len(self.plan),
            "environment": self.environment,
            "data": {name: loaded.describe() for name, loaded in self.loaded.items()},
            "missing": self.missing,
            "cells": [
                self.plan[place].record(self.suite, self.scale, self.outcomes[place]) for place in sorted(self.outcomes)
            ],
        }

    def _write_results(self) -> None:
        """Write the results and costs that there are so far, each file completely or not at all."""
        write_json(self.out / "results.json", self._results())
        costs = [self.outcomes[place].cost for place in sorted(self.outcomes)]
        write_json(self.out / "results-cost.json", {"cells": costs})

    def _command(
        self,
        encoder: str | None,
        methods: Sequence[str] | None,
        settings: Mapping[str, Any],
        generator: str | None,
        choice: Sequence[str],
    ) -> str:
        """The command that repeats this run, without the folder that it writes to."""
        parts = ["turnlens", "papers", "bench", self.suite.name]
        parts += ["--data", str(self.folder)] if self.folder is not None else []
        parts += ["--encoder", encoder] if encoder is not None else []
        parts += ["--methods", ",".join(methods)] if methods else []
        parts += ["--generator", generator] if generator is not None else []
        parts += choice
        parts += ["--seeds", str(self.seeds), *(["--quick"] if self.quick else [])]
        values = {name: "none" if value is None else json.dumps(value) for name, value in settings.items()}
        return " ".join([*parts, *(f"--set {name}={value}" for name, value in values.items())])


def _per_query(figures: Mapping[str, TaskFigures]) -> dict[str, Any]:
    """The values of all tasks, by key, with six digits, which is finer than any difference between methods."""
    return {
        key: {"metric": TASKS[name].metric, "values": np.round(values, 6).tolist()}
        for name, of_task in figures.items()
        for key, values in of_task.per_query.items()
    }


def _say(line: str) -> None:
    error_console.print(line, soft_wrap=True)


def _line(error: BaseException) -> str:
    """An error's message as one line."""
    return " ".join(str(error).split())[:500]
