"""The report of small handwritten results: what it says, and that it says the same each time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from turnlens._utils.vectors import bootstrap_interval, paired_bootstrap_p
from turnlens.cli.main import app
from turnlens.papers.experiments import report_plots
from turnlens.papers.experiments.report import write_into, write_report

QUERIES = np.random.default_rng(0).uniform(0.3, 0.7, 40)


def cell(method: str, figures: dict[str, Any], values: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    made = {"suite": "", "data": "sgd", "method": method, "title": method.upper(), "baseline": False, "study": None}
    per_query = {key: {"metric": "", "values": list(some)} for key, some in (values or {}).items()}
    made |= {"seed": 0, "settings": {}, "status": "done", "figures": figures, "per_query": per_query}
    return made | other


def missing(method: str, status: str, reason: str, **other: Any) -> dict[str, Any]:
    made = cell(method, {}, status=status, reason=reason, **other)
    return {name: value for name, value in made.items() if name not in ("figures", "per_query")}


def write(out: Path, suite: str, cells: list[dict[str, Any]], costs: list[Any] | None = None) -> Path:
    out.mkdir(exist_ok=True)
    results = {
        "suite": suite,
        "paper": "A paper",
        "quick": False,
        "command": f"turnlens papers bench {suite} --seeds 3",
    }
    results |= {"environment": {"torch": "2.13.0"}, "cells": cells, "planned": len(cells)}
    results["data"] = {"sgd": {"title": "Schema-Guided Dialogue", "train": 1600, "test": 40}}
    results["missing"] = {"Jing Dong corpus": "needs jddc/test"}
    (out / "results.json").write_text(json.dumps(results))
    (out / "results-cost.json").write_text(json.dumps({"cells": costs or [None] * len(cells)}))
    return out


def retrieval(method: str, values: np.ndarray, **other: Any) -> dict[str, Any]:
    figures = {"semantic_retrieval": {"map": 100 * float(values.mean()), "map_interval": [0.0, 1.0], "mrr": 70.0}}
    return cell(method, figures, {"semantic_retrieval": values}, **other)


@pytest.fixture
def utterances(tmp_path: Path) -> Path:
    """Two baselines, one of them close; DialogueCSE with two seeds and a third that failed; a study."""
    cells = [
        retrieval("untouched", QUERIES, baseline=True),
        retrieval("bm25", QUERIES - 0.2, baseline=True),
        retrieval("dialogue-cse", QUERIES + 0.1),
        retrieval("dialogue-cse", QUERIES + 0.2, seed=1),
        missing("dialogue-cse", "failed", "RuntimeError: too hot", seed=2),
        missing("glove", "not run", "needs a text file of word vectors", baseline=True),
        missing("simcse", "not run", "needs ecd/train", data="ecd", baseline=True),
        missing("siamese-single", "not run", "needs ecd/train", data="ecd", baseline=True),
        *(
            retrieval("dialogue-cse", QUERIES + gain + noise, seed=seed, study={"name": "temperature", "value": value})
            for value, gain in ((0.05, 0.0), (0.5, 0.1))
            for seed, noise in enumerate((0.0, 0.05))
        ),
    ]
    costs = [
        {"seconds": 4.0, "train_seconds": 0, "train_tokens": 0},
        None,
        *[{"seconds": 61, "train_tokens": 20_000}] * 2,
    ]
    return write(tmp_path / "out", "dialoguecse", cells, [*costs, *[None] * 7])


def line_of(report: str, start: str, table: str) -> list[str]:
    """The cells of a line of the table that follows a text."""
    after = report[report.index(table) :]
    line = next(line for line in after.splitlines() if line.startswith(f"| {start} |"))
    return [part.strip() for part in line.strip("|").split("|")]


def test_means_deviations_intervals_and_p(utterances: Path) -> None:
    report = write_report(utterances, plots=False).read_text()
    line = line_of(report, "DIALOGUE-CSE", "**`semantic-retrieval`**")
    mean = QUERIES + 0.15  # of the two seeds
    low, high = bootstrap_interval(100 * mean)
    p = paired_bootstrap_p(100 * mean, 100 * QUERIES)
    assert p < 0.001
    assert line == [
        "DIALOGUE-CSE",
        "2",
        f"{100 * mean.mean():.1f} ± {10 / np.sqrt(2):.1f}",
        f"[{low:.1f}, {high:.1f}]",
        "< 0.001",
        "70.0 ± 0.0",
    ]
    assert line_of(report, "UNTOUCHED", "**`semantic-retrieval`**")[4] == ""  # itself the best
    assert "p is against the best baseline, *UNTOUCHED*." in report


def test_what_has_no_figures_is_listed_with_its_reason(utterances: Path) -> None:
    report = write_report(utterances, plots=False).read_text()
    assert "- failed: RuntimeError: too hot (DIALOGUE-CSE, seed 2)" in report
    assert "- not run: needs a text file of word vectors (GLOVE)" in report
    assert "GLOVE (needs" not in report  # the paper has no figure of it on this data set
    assert report.index("## ecd") < report.index("- not run: needs ecd/train (SIMCSE; SIAMESE-SINGLE)")
    assert "## Data sets that were not found\n\n- Jing Dong corpus: needs jddc/test\n" in report


def test_what_the_paper_has_and_was_not_run_stands_in_the_table(tmp_path: Path) -> None:
    relatedness = {"semantic_relatedness": {"spearman": 20.0, "spearman_interval": [19.0, 21.0], "spearman_best": 60.0}}
    cells = [cell("untouched", relatedness), missing("blender", "not run", "needs its weights"), cell("lda", {})]
    report = write_report(write(tmp_path / "out", "dial2vec", cells), plots=False).read_text()
    line = line_of(report, "BLENDER (needs its weights)", "**`semantic-relatedness`**")
    assert line[1:] == ["", "", "", "31.1 (Blender)", ""]


def test_a_report_of_an_unfinished_run_says_so(utterances: Path) -> None:
    results = json.loads((utterances / "results.json").read_text())
    for planned, unfinished in ((len(results["cells"]), False), (99, True)):
        (utterances / "results.json").write_text(json.dumps({**results, "planned": planned}))
        write_report(utterances, plots=False)
        said = (utterances / "report.md").read_text()
        assert (f"{len(results['cells'])} of 99 rows and seeds" in said) is unfinished


def test_environment_command_cost_and_the_paper_are_there(utterances: Path) -> None:
    report = write_report(utterances, plots=False).read_text()
    assert "turnlens papers bench dialoguecse --seeds 3" in report and "torch 2.13.0" in report
    assert line_of(report, "Schema-Guided Dialogue", "## Cost")[1:] == ["UNTOUCHED", "", "4", "0", "0"]
    assert "| Schema-Guided Dialogue | DIALOGUE-CSE |  | 61 | 0 | 20,000 |" in report
    paper = report[report.index("## What the paper reports") :]
    assert "| DialogueCSE_I2 | BERT, adapted | 91.40 | 68.02 | 69.32 |" in paper


def test_a_study_is_a_table_of_its_values_with_the_papers_below(utterances: Path) -> None:
    report = write_report(utterances, plots=False).read_text()
    table = report[report.index("## Temperature (Table 3)") :]
    assert "| temperature | 0.05 | 0.5 |" in table
    assert line_of(table, "DIALOGUE-CSE: p against 0.05", "|")[1:] == ["", "< 0.001"]  # of the same queries, in pairs
    assert line_of(table, "paper: JDDC (BERT)", "|") == ["paper: JDDC (BERT)", "67.19", "68.63"]
    results = json.loads((utterances / "results.json").read_text().replace('"sgd"', '"ecd"'))
    (utterances / "results.json").write_text(json.dumps(results))
    of_ecd = write_report(utterances, plots=False).read_text()
    table = of_ecd[of_ecd.index("## Temperature (Table 3)") : of_ecd.index("## What the paper reports")]
    assert "paper: ECD (BERT)" in table and "JDDC" not in table
    assert line_of(table, "DIALOGUE-CSE", "|")[2] == f"{100 * (QUERIES + 0.125).mean():.1f} ± {5 / np.sqrt(2):.1f}"


def test_lower_ranks_are_better_and_modes_are_rows(tmp_path: Path) -> None:
    def ranks(method: str, modes: dict[str, float], **other: Any) -> dict[str, Any]:
        figures = {}
        for mode, rank in modes.items():
            lengths = {str(length): {"average_rank": rank + length} for length in (2, 10)}
            figures[mode] = {
                "average_rank": rank,
                "average_rank_over_lengths": rank - 1,
                "mrr": 5.0,
                "r_at_1": 1.0,
                "r_at_10": 9.0,
                "by_context_length": lengths,
            }
        values = {f"next_message/{mode}": rank - 0.5 + QUERIES for mode, rank in modes.items()}
        return cell(method, {"next_message": figures}, values, data="dailydialog", **other)

    cells = [
        ranks("ccl", {"bi": 31.0}, baseline=True),
        ranks("bm25", {"bm25": 40.0}, baseline=True),
        ranks("c3l", {"average": 21.0, "bi": 25.0}),
        ranks("c3l", {"average": 22.0, "bi": 26.0}, seed=1),
    ]
    out = write(tmp_path / "out", "triple", cells)
    report = write_report(out).read_text()
    assert "p is against the best baseline, *CCL*." in report and "Average rank ↓" in report
    line = line_of(report, "C3L: average", "**`next-message`**")
    assert (line[2], line[4], line[5], line[6]) == ("21.50 ± 0.71", "< 0.001", "20.50 ± 0.71", "21.25 (GTE)")
    assert "![context-length-dailydialog](context-length-dailydialog.png)" in report


def test_tasks_without_values_of_queries(tmp_path: Path) -> None:
    clusters = {"purity": 80.0, "purity_std": 2.0, "nmi": 60.0}
    spread = {"adjusted_alignment": -0.7, "alignment": 0.5, "uniformity": -2.5}
    related = {"spearman": 30.0, "spearman_interval": [28.0, 32.0], "spearman_best": 40.0}
    figures = {"domain_categorization": clusters, "alignment_uniformity": spread, "semantic_relatedness": related}
    moved = {"alignment_uniformity": {**spread, "uniformity": -3.0}}
    cells = [
        cell("untouched", figures, baseline=True),
        cell("dial2vec", figures),
        cell("dial2vec", {**figures, "semantic_relatedness": {**related, "spearman_interval": [30.0, 36.0]}}, seed=1),
        *(cell("dial2vec", moved, study={"name": "steps", "value": value}) for value in (10, 60)),
    ]
    report = write_report(write(tmp_path / "out", "dial2vec", cells)).read_text()
    table = "**`domain-categorization`**"
    assert line_of(report, "method", table)[2:4] == ["Purity", "paper: Purity"]
    assert line_of(report, "DIAL2VEC", table) == [
        *("DIAL2VEC", "2", "80.0 ± 0.0", "86.2 (PLATO)", "2.0 ± 0.0", "60.0 ± 0.0")
    ]
    assert line_of(report, "DIAL2VEC", "**`semantic-relatedness`**")[3] == "[29.0, 34.0]"
    assert "![alignment-uniformity-sgd](alignment-uniformity-sgd.png)" in report


def test_the_same_results_give_the_same_bytes(utterances: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ["report.md", "temperature-sgd-semantic-retrieval.png", "temperature-sgd-semantic-retrieval.svg"]
    write_report(utterances)
    first = [(utterances / name).read_bytes() for name in names]
    write_report(utterances)
    assert [(utterances / name).read_bytes() for name in names] == first
    assert sorted(path.name for path in utterances.iterdir()) == sorted([*names, "results.json", "results-cost.json"])
    assert first[1].startswith(b"\x89PNG") and b"DIALOGUE-CSE" in first[2] and b"dc:date" not in first[2]


def test_the_bands_are_one_deviation_over_seeds() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    report_plots._line_plot({"a": {1.0: [2.0, 4.0], 2.0: [5.0]}}, "x", "y")(axes)
    (line,), (band,) = axes.get_lines(), axes.collections
    assert line.get_ydata().tolist() == [3.0, 5.0]
    edges = {tuple(point) for point in band.get_paths()[0].vertices.round(6).tolist()}
    assert {(1.0, round(3 - 2**0.5, 6)), (1.0, round(3 + 2**0.5, 6)), (2.0, 5.0)} <= edges
    pyplot.close(figure)


def test_without_matplotlib_the_report_says_so(utterances: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'turnlens[plots]'" in write_report(utterances).read_text()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["papers", "bench", "report", *map(str, arguments)])


def test_a_page_gets_the_tables_between_its_lines(utterances: Path, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("# Results\n\n<!-- bench: cse -->\nold\n<!-- end bench: cse -->\n\nThe end.\n")
    result = run(utterances, "--into", page, "--name", "cse")
    assert result.exit_code == 0, result.output
    first = page.read_text()
    assert first.startswith("# Results\n\n<!-- bench: cse -->\n\nMean ± standard deviation")
    assert first.endswith("\n\n<!-- end bench: cse -->\n\nThe end.\n")
    assert "old" not in first
    assert "### Schema-Guided Dialogue (conversations: 1,600 to learn from, 40 to test on)" in first
    write_into(utterances, page, "cse")
    assert page.read_text() == first
    with pytest.raises(ValueError, match="<!-- bench: dialoguecse -->"):
        write_into(utterances, page)


def test_the_command_writes_the_report_again(utterances: Path, tmp_path: Path) -> None:
    first = write_report(utterances).read_bytes()
    (utterances / "report.md").unlink()
    result = run(utterances)
    assert result.exit_code == 0, result.output
    assert (utterances / "report.md").read_bytes() == first
    for arguments, message in (
        ((tmp_path / "nowhere",), "has no results.json: expected the folder that `turnlens papers bench` wrote"),
        ((utterances, "--name", "cse"), "give the page with --into"),
        ((utterances, "--into", tmp_path / "nowhere.md"), "No such file"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1 and message in " ".join(result.output.split())
