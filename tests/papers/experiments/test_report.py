from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turnlens._utils.vectors import bootstrap_interval
from turnlens.papers.experiments.report import write_report

QUERIES = np.random.default_rng(0).uniform(0.3, 0.7, 40)


def cell(method: str, figures: dict[str, Any], values: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    made = {"data": "sgd", "method": method, "title": method.upper(), "study": None, "seed": 0, "trainings": []}
    per_query = {key: list(some) for key, some in (values or {}).items()}
    return {**made, "status": "done", "figures": figures, "per_query": per_query, **other}


def missing(method: str, status: str, reason: str, **other: Any) -> dict[str, Any]:
    made = cell(method, {}, status=status, reason=reason, **other)
    return {name: value for name, value in made.items() if name not in ("figures", "per_query")}


def retrieval(method: str, values: np.ndarray, **other: Any) -> dict[str, Any]:
    figures = {"semantic_retrieval": {"map": 100 * float(values.mean()), "map_interval": [0.0, 1.0], "mrr": 70.0}}
    return cell(method, figures, {"semantic_retrieval": values}, **other)


CELLS = [
    retrieval("untouched", QUERIES),
    retrieval("dialogue-cse", QUERIES + 0.1),
    retrieval("dialogue-cse", QUERIES + 0.2, seed=1),
    missing("dialogue-cse", "failed", "RuntimeError: too hot", seed=2),
    missing("glove", "not run", "needs a text file of word vectors"),
    missing("simcse", "not run", "needs ecd/train", data="ecd"),
    missing("siamese-single", "not run", "needs ecd/train", data="ecd"),
    *(
        retrieval("dialogue-cse", QUERIES + gain + noise, seed=seed, study={"name": "temperature", "value": value})
        for value, gain in ((0.05, 0.0), (0.5, 0.1))
        for seed, noise in enumerate((0.0, 0.05))
    ),
]


@pytest.fixture
def report(tmp_path: Path) -> Any:
    """Writes the report of some cells."""

    def write(suite: str, cells: list[dict[str, Any]], **other: Any) -> str:
        results = {
            "suite": suite,
            "paper": "A paper",
            "quick": False,
            "command": f"turnlens papers bench {suite} --seeds 3",
            "environment": {"torch": "2.13.0"},
            "cells": cells,
            "planned": len(cells),
            "data": {"sgd": {"title": "Schema-Guided Dialogue", "train": 1600, "test": 40}},
            "missing": {"Jing Dong corpus": "needs jddc/test"},
        }
        write_report({**results, **other}, tmp_path)
        return (tmp_path / "report.md").read_text()

    return write


def line_of(report: str, start: str, table: str) -> list[str]:
    """The cells of a line of the table that follows a text."""
    after = report[report.index(table) :]
    line = next(line for line in after.splitlines() if line.startswith(f"| {start} |"))
    return [part.strip() for part in line.strip("|").split("|")]


def test_means_deviations_and_intervals(report: Any) -> None:
    text = report("dialoguecse", CELLS)
    mean = QUERIES + 0.15  # of the two seeds
    low, high = bootstrap_interval(100 * mean)
    assert line_of(text, "DIALOGUE-CSE", "**`semantic-retrieval`**") == [
        *("DIALOGUE-CSE", "2", f"{100 * mean.mean():.1f} ± {10 / np.sqrt(2):.1f}"),
        *(f"[{low:.1f}, {high:.1f}]", "70.0 ± 0.0"),
    ]
    assert line_of(text, "UNTOUCHED", "**`semantic-retrieval`**")[1:3] == ["1", f"{100 * QUERIES.mean():.1f}"]
    assert "## Schema-Guided Dialogue (conversations: 1,600 to learn from, 40 to test on)" in text
    assert report("dialoguecse", CELLS) == text


def test_rows_without_figures_are_listed_with_reasons(report: Any) -> None:
    text = report("dialoguecse", CELLS)
    assert "- failed: RuntimeError: too hot (DIALOGUE-CSE, seed 2)" in text
    assert "- not run: needs a text file of word vectors (GLOVE)" in text
    assert "GLOVE (needs" not in text  # the paper has no figure of it on this data set
    assert text.index("## ecd") < text.index("- not run: needs ecd/train (SIMCSE; SIAMESE-SINGLE)")
    assert "## Data sets that were not found\n\n- Jing Dong corpus: needs jddc/test\n" in text


def test_published_figures_stand_beside_ours(report: Any) -> None:
    relatedness = {"semantic_relatedness": {"spearman": 20.0, "spearman_interval": [19.0, 21.0], "spearman_best": 60.0}}
    cells = [cell("untouched", relatedness), missing("blender", "not run", "needs its weights"), cell("lda", {})]
    line = line_of(report("dial2vec", cells), "BLENDER (needs its weights)", "**`semantic-relatedness`**")
    assert line[1:] == ["", "", "", "31.1 (Blender)", ""]
    text = report("dialoguecse", CELLS)
    paper = text[text.index("## What the paper reports") :]
    assert "| DialogueCSE_I2 | BERT, adapted | 91.40 | 68.02 | 69.32 |" in paper


def test_unfinished_and_quick_runs_say_so(report: Any) -> None:
    assert "Unfinished" not in report("dialoguecse", CELLS) and "quick run" not in report("dialoguecse", CELLS)
    text = report("dialoguecse", CELLS, planned=99, quick=True)
    assert f"{len(CELLS)} of 99 rows and seeds" in text and "its figures are no results" in text
    assert "turnlens papers bench dialoguecse --seeds 3" in text and "torch 2.13.0" in text


def test_a_study_is_a_table_of_its_values(report: Any) -> None:
    def table_of(cells: list[dict[str, Any]]) -> str:
        text = report("dialoguecse", cells)
        return text[text.index("## Temperature (Table 3)") : text.index("## What the paper reports")]

    table = table_of(CELLS)
    assert "| temperature | 0.05 | 0.5 |" in table
    assert line_of(table, "paper: JDDC (BERT)", "|") == ["paper: JDDC (BERT)", "67.19", "68.63"]
    assert line_of(table, "DIALOGUE-CSE", "|")[2] == f"{100 * (QUERIES + 0.125).mean():.1f} ± {5 / np.sqrt(2):.1f}"
    of_ecd = table_of([{**one, "data": "ecd"} for one in CELLS])
    assert "paper: ECD (BERT)" in of_ecd and "JDDC" not in of_ecd


def test_modes_are_rows_and_ranks_are_marked(report: Any) -> None:
    def ranks(method: str, modes: dict[str, float], **other: Any) -> dict[str, Any]:
        rest = {"mrr": 5.0, "r_at_1": 1.0, "r_at_10": 9.0}
        figures = {
            m: {"average_rank": rank, "average_rank_over_lengths": rank - 1, **rest} for m, rank in modes.items()
        }
        values = {f"next_message/{mode}": rank - 0.5 + QUERIES for mode, rank in modes.items()}
        return cell(method, {"next_message": figures}, values, data="dailydialog", **other)

    cells = [ranks("ccl", {"bi": 31.0}), ranks("c3l", {"average": 21.0, "bi": 25.0})]
    text = report("triple", [*cells, ranks("c3l", {"average": 22.0, "bi": 26.0}, seed=1)])
    assert "Average rank ↓" in text and line_of(text, "CCL", "**`next-message`**")[2] == "31.00"
    line = line_of(text, "C3L: average", "**`next-message`**")
    assert (line[2], line[4], line[5]) == ("21.50 ± 0.71", "20.50 ± 0.71", "21.25 (GTE)")


def test_tasks_without_values_of_queries(report: Any) -> None:
    clusters = {"purity": 80.0, "purity_std": 2.0, "nmi": 60.0}
    related = {"spearman": 30.0, "spearman_interval": [28.0, 32.0], "spearman_best": 40.0}
    figures = {"domain_categorization": clusters, "semantic_relatedness": related}
    wider = {**figures, "semantic_relatedness": {**related, "spearman_interval": [30.0, 36.0]}}
    text = report("dial2vec", [cell("untouched", figures), cell("dial2vec", figures), cell("dial2vec", wider, seed=1)])
    table = "**`domain-categorization`**"
    assert line_of(text, "method", table)[2:4] == ["Purity", "paper: Purity"]
    assert line_of(text, "DIAL2VEC", table) == [
        *("DIAL2VEC", "2", "80.0 ± 0.0", "86.2 (PLATO)", "2.0 ± 0.0", "60.0 ± 0.0")
    ]
    assert line_of(text, "DIAL2VEC", "**`semantic-relatedness`**")[3] == "[29.0, 34.0]"
