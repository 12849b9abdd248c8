"""The suites of ``turnlens papers bench`` by name, and choosing rows of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from turnlens._utils.registries import Table
from turnlens.papers.experiments.baseline_row import baseline_row
from turnlens.papers.experiments.data_sets import DataSet
from turnlens.papers.experiments.method import Method
from turnlens.papers.experiments.papers import check_data_sets
from turnlens.papers.experiments.suite import Suite

SUITES: Table[Suite] = Table(
    {
        "dialoguecse": "turnlens.papers.dialogue_cse.table:SUITE",
        "dial2vec": "turnlens.papers.dial2vec.table:SUITE",
        "triple": "turnlens.papers.triple_encoders.table:SUITE",
    }
)

_UNTOUCHED = "untouched"  # always run
_MODEL = "hf:"


def find_suite(name: str) -> Suite:
    """The suite of that name.

    Raises:
        ValueError: There is no such suite.
    """
    if name not in SUITES:
        raise ValueError(f"unknown suite {name!r}: expected one of {', '.join(SUITES)}")
    return SUITES[name]


def chosen_data(suite: Suite, names: Sequence[str] | None, folder: Path | None) -> tuple[DataSet, ...]:
    """Data sets by name, in the order of the suite.

    Args:
        suite: The suite.
        names: Names of data sets; None means all.
        folder: Where they are.

    Raises:
        ValueError: There is no such data set, or it needs a folder and there is none.
    """
    known = {data_set.name: data_set for data_set in suite.data}
    check_data_sets(names, known)
    chosen = tuple(data_set for data_set in suite.data if not names or data_set.name in names)
    if names and folder is None and (needing := [data_set.name for data_set in chosen if data_set.needs_folder]):
        raise ValueError(f"{', '.join(needing)}: give the folder of the data sets with --data")
    return chosen


def chosen_methods(suite: Suite, names: Sequence[str] | None) -> dict[str, Method]:
    """Methods by name, in the order of the table; ``hf:NAME`` is the Hugging Face model of that name or folder.

    Args:
        suite: The suite.
        names: Names of methods; None means the whole table. The untouched encoder is always among them.

    Raises:
        ValueError: There is no such method.
    """
    table = suite.methods_by_name
    serves_models = suite.level != "reply"
    models = [name for name in names or () if serves_models and name.startswith(_MODEL) and name != _MODEL]
    if unknown := sorted(set(names or ()) - set(table) - set(models)):
        further = f", or {_MODEL}NAME for a Hugging Face model" if serves_models else ""
        raise ValueError(
            f"unknown method {', '.join(map(repr, unknown))}: expected some of {', '.join(table)}{further}"
        )
    of_table = {name: method for name, method in table.items() if not names or name in names or name == _UNTOUCHED}
    return {**of_table, **{name: _model_row(name, suite) for name in models}}


def _model_row(name: str, suite: Suite) -> Method:
    model = name.removeprefix(_MODEL)
    row = baseline_row("hf", suite.level, f"{model}, mean of tokens", name=name, model=model)
    return replace(row, chosen_model=True)
