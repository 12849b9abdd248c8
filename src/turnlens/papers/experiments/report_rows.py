"""The cells of a run combined: one row for each method, over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnlens._utils.vectors import bootstrap_interval, paired_bootstrap_p
from turnlens.evaluation import find_task
from turnlens.evaluation.task import LOWER_IS_BETTER, NOT_IN_PERCENT
from turnlens.papers.experiments.results import CellRecord, Results


@dataclass(frozen=True, eq=False)
class Row:
    """One method in one task or, if the task has several ways of scoring, in one of these.

    Attributes:
        key: The method's name or, with a mode, ``"method/mode"``.
        title: What it is called.
        baseline: Whether the papers' own methods are compared with it.
        figures: The task's figures for each seed.
        values: (queries,) the main figure of each query in its unit, averaged over seeds; None where there are no
            values.
    """

    key: str
    title: str
    baseline: bool
    figures: list[dict[str, Any]]
    values: NDArray[np.float64] | None

    def mean(self, metric: str) -> float:
        """The mean over seeds."""
        return float(np.mean([figures[metric] for figures in self.figures]))

    def deviation(self, metric: str) -> float | None:
        """The standard deviation over seeds; None with one seed."""
        return float(np.std([figures[metric] for figures in self.figures], ddof=1)) if len(self.figures) > 1 else None

    def interval(self, metric: str) -> tuple[float, float] | None:
        """The 95 % interval: a bootstrap over queries, or the mean of the seeds' intervals; None without both."""
        if self.values is not None:
            return _interval(self.values.tobytes())
        if f"{metric}_interval" not in self.figures[0]:
            return None
        low, high = np.mean([figures[f"{metric}_interval"] for figures in self.figures], axis=0)
        return float(low), float(high)


def main_metric(task: str) -> str:
    """The main metric of a task, given its key."""
    return find_task(task).metric


def cells_of(results: Results, data: str | None = None, study: str | None = None) -> list[CellRecord]:
    """The cells of the tables, or those of a study; of all data sets or of one."""
    of_study = [cell for cell in results["cells"] if (cell["study"]["name"] if cell["study"] else None) == study]
    return [cell for cell in of_study if data in (None, cell["data"])]


def distinct(cells: Iterable[CellRecord], name: str) -> list[str]:
    """The values of ``"data"``, ``"method"`` and so on, in the order of the cells."""
    return list(dict.fromkeys(cell[name] for cell in cells))


def tasks_of(cells: Iterable[CellRecord]) -> list[str]:
    """Keys of the tasks that were measured."""
    return list(dict.fromkeys(task for cell in cells if cell["status"] == "done" for task in cell["figures"]))


def rows_of(cells: Iterable[CellRecord], task: str) -> list[Row]:
    """The methods measured in a task, in the order of the cells."""
    done = [cell for cell in cells if cell["status"] == "done" and task in cell["figures"]]
    return [
        row
        for method in distinct(done, "method")
        for row in _rows([cell for cell in done if cell["method"] == method], task)
    ]


def _rows(cells: Sequence[CellRecord], task: str) -> list[Row]:
    """One row from a method's cells, which differ in their seeds; or a row for each mode."""
    method, title, baseline = (cells[0][name] for name in ("method", "title", "baseline"))
    metric, figures = main_metric(task), [cell["figures"][task] for cell in cells]
    if metric in figures[0]:
        return [Row(method, title, baseline, figures, _values(cells, task, metric))]
    return [
        Row(
            f"{method}/{mode}",
            title_of(cells[0], mode),
            baseline,
            [by_mode[mode] for by_mode in figures],
            _values(cells, f"{task}/{mode}", metric),
        )
        for mode in figures[0]
    ]


def title_of(cell: CellRecord, mode: str) -> str:
    """A method's title in one mode; the mode is named only if the method has several."""
    modes = {mode for task, figures in cell["figures"].items() if main_metric(task) not in figures for mode in figures}
    return cell["title"] if modes == {mode} else f"{cell['title']}: {mode}"


def _values(cells: Sequence[CellRecord], key: str, metric: str) -> NDArray[np.float64] | None:
    if not all(key in cell["per_query"] for cell in cells):
        return None
    values = np.mean([cell["per_query"][key]["values"] for cell in cells], axis=0)
    return np.asarray(values if metric in NOT_IN_PERCENT else 100 * values)


def best_baseline(rows: Iterable[Row], metric: str) -> Row | None:
    """The best of the baselines; None where there is none."""
    baselines = [row for row in rows if row.baseline]
    choose: Callable[..., Row] = min if metric in LOWER_IS_BETTER else max
    return choose(baselines, key=lambda row: row.mean(metric)) if baselines else None


def p_value(row: Row, other: Row | None) -> float | None:
    """The two-sided p-value of a paired bootstrap over queries; None for a row and itself, or without values."""
    if other is None or row is other or row.values is None or other.values is None:
        return None
    return _paired_p(row.values.tobytes(), other.values.tobytes())


# A run rewrites its report many times, and most rows do not change in between. Keys are float64 values as bytes.


@lru_cache(maxsize=512)
def _interval(values: bytes) -> tuple[float, float]:
    return bootstrap_interval(np.frombuffer(values))


@lru_cache(maxsize=512)
def _paired_p(a: bytes, b: bytes) -> float:
    return paired_bootstrap_p(np.frombuffer(a), np.frombuffer(b))
