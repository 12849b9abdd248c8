"""Plots of a run as PNG and SVG (needs the extra ``plots``): the same results give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnlens._utils.files import atomic_path
from turnlens._utils.registries import require
from turnlens.evaluation.task import LOWER_IS_BETTER
from turnlens.papers.experiments.report_rows import cells_of, distinct, main_metric, rows_of, tasks_of
from turnlens.papers.experiments.results import CellRecord, Results
from turnlens.papers.experiments.suites import find_suite

# Title -> x -> the figure for each seed.
Lines = Mapping[str, Mapping[float, Sequence[float]]]
_STYLE = {"svg.hashsalt": "turnlens", "svg.fonttype": "none"}  # no random ids, and no fonts of the machine
# Neither dates nor versions.
_METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def plot_results(results: Results, out: Path) -> list[Path]:
    """Draw everything the results have to show.

    Returns:
        The PNG files; each has an SVG file beside it.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require("matplotlib", "plots").use("Agg")
    drawn = []
    with require("matplotlib", "plots").rc_context(_STYLE):
        drawings = (_studies, _context_lengths, _alignment_uniformity)
        for name, draw in [drawing for of_kind in drawings for drawing in of_kind(results)]:
            figure, axes = require("matplotlib.pyplot", "plots").subplots(figsize=(7, 4), layout="constrained")
            draw(axes)
            for kind, metadata in _METADATA.items():
                with atomic_path(out / f"{name}.{kind}") as temporary:
                    figure.savefig(temporary, format=kind, dpi=120, metadata=metadata)
            require("matplotlib.pyplot", "plots").close(figure)
            drawn.append(out / f"{name}.png")
    return drawn


Drawing = tuple[str, Callable[[Any], None]]


def _studies(results: Results) -> Iterator[Drawing]:
    """Each study's main figure by its value."""
    for study in find_suite(results["suite"]).studies:
        for data in distinct(cells_of(results, study=study.name), "data"):
            cells = cells_of(results, data, study.name)
            for task in tasks_of(cells):
                lines = _by_value(cells, task, main_metric(task))
                labels = study.setting.replace("_", " "), f"{task.replace('_', ' ')}: {_label(main_metric(task))}"
                yield f"{study.name}-{data}-{task.replace('_', '-')}", _line_plot(lines, *labels)


def _by_value(cells: Sequence[CellRecord], task: str, metric: str) -> dict[str, dict[float, list[float]]]:
    """Title -> value of the study -> the figure for each seed."""
    lines: dict[str, dict[float, list[float]]] = {}
    for value in sorted({cell["study"]["value"] for cell in cells}):
        for row in rows_of([cell for cell in cells if cell["study"]["value"] == value], task):
            lines.setdefault(row.title, {})[value] = [figures[metric] for figures in row.figures]
    return lines


def _context_lengths(results: Results) -> Iterator[Drawing]:
    """The rank of the next utterance by the length of the context (Triple-Encoders, Figure 6)."""
    for data in distinct(results["cells"], "data"):
        rows = rows_of(cells_of(results, data), "next_message")
        lines = {
            row.title: {
                float(length): [figures["by_context_length"][length]["average_rank"] for figures in row.figures]
                for length in row.figures[0]["by_context_length"]
            }
            for row in rows
        }
        if lines:
            label = f"next utterance: {_label('average_rank')}"
            yield f"context-length-{data}", _line_plot(lines, "turns of context", label)


def _alignment_uniformity(results: Results) -> Iterator[Drawing]:
    """Adjusted alignment against uniformity (dial2vec, Figure 3): the methods, and studies as lines."""
    task, across, up = "alignment_uniformity", "uniformity", "adjusted_alignment"
    for data in distinct(results["cells"], "data"):
        points = {row.title: (row.mean(across), row.mean(up)) for row in rows_of(cells_of(results, data), task)}
        ways = {}
        for study in find_suite(results["suite"]).studies:
            cells = cells_of(results, data, study.name)
            xs, ys = _by_value(cells, task, across), _by_value(cells, task, up)
            for title in xs:
                way = [(np.mean(xs[title][value]), np.mean(ys[title][value]), f"{value:g}") for value in xs[title]]
                ways[f"{title}, by {study.setting.replace('_', ' ')}"] = way
        if points:
            yield f"alignment-uniformity-{data}", _scatter_plot(points, ways, _label(across), _label(up))


def _scatter_plot(
    points: Mapping[str, tuple[float, float]],
    ways: Mapping[str, Sequence[tuple[Any, Any, str]]],
    x_label: str,
    y_label: str,
) -> Callable[[Any], None]:
    """Named points, and lines through points that carry labels of their own."""

    def draw(axes: Any) -> None:
        for number, (name, (x, y)) in enumerate(points.items()):
            axes.plot(x, y, marker="osD^v"[number // 10 % 5], linestyle="", label=name)  # ten colours
        for name, way in ways.items():
            axes.plot([x for x, _, _ in way], [y for _, y, _ in way], marker=".", color="grey", label=name)
            for x, y, value in way:
                axes.annotate(value, (x, y), textcoords="offset points", xytext=(4, 4), fontsize=7)
        _finish(axes, x_label, y_label)

    return draw


def _line_plot(lines: Lines, x_label: str, y_label: str) -> Callable[[Any], None]:
    """Means over seeds as lines, with bands of one standard deviation."""

    def draw(axes: Any) -> None:
        for number, (name, by_x) in enumerate(lines.items()):
            xs = sorted(by_x)
            mean = np.array([np.mean(by_x[x]) for x in xs])
            deviation = np.array([np.std(by_x[x], ddof=1) if len(by_x[x]) > 1 else 0.0 for x in xs])
            (line,) = axes.plot(xs, mean, marker="osD^v"[number // 10 % 5], markersize=3, linewidth=1, label=name)
            axes.fill_between(xs, mean - deviation, mean + deviation, color=line.get_color(), alpha=0.2, linewidth=0)
        ticks = sorted({x for by_x in lines.values() for x in by_x})
        if 0 < 10 * ticks[0] <= ticks[-1]:  # temperatures, sizes
            axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.minorticks_off()
        _finish(axes, x_label, y_label)

    return draw


def _finish(axes: Any, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def _label(metric: str) -> str:
    return metric.replace("_", " ") + (" (lower is better)" if metric in LOWER_IS_BETTER else "")
