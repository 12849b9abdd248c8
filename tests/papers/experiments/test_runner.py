from __future__ import annotations

import json
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.papers.baselines.convert import ConveRTSettings
from turnlens.papers.experiments import cells as cells_module
from turnlens.papers.experiments import models, runner, scoring
from turnlens.papers.experiments.cells import Cell, plan_cells
from turnlens.papers.experiments.data_sets import Splits, sample_corpus
from turnlens.papers.experiments.method import Stage
from turnlens.papers.experiments.report import write_report
from turnlens.papers.experiments.runner import run_suite
from turnlens.papers.experiments.suite import Scale, Study, Suite
from turnlens.papers.experiments.suites import SUITES
from turnlens.training.callbacks import TrainingProgress

SETTINGS = {
    "adapt": {"max_steps": 1},
    "adapt-paper": {"max_steps": 1},
    "simcse": {"max_steps": 1},
    "dialogue-cse": {"max_steps": 1, "batch_size": 4},
    "dialogue-cse:paper": {"max_steps": 1, "batch_size": 4, "negatives": 2},
    "siamese": {"max_steps": 1, "batch_size": 4},
    "single-vector": {"max_steps": 1, "batch_size": 4},
    "dial2vec": {"max_steps": 1, "gradient_accumulation_steps": 1, "negatives_per_dialogue": 2},
    "dial2vec:paper": {"max_steps": 1, "gradient_accumulation_steps": 1, "negatives_per_dialogue": 2},
    "ccl": {"max_steps": 1, "batch_size": 2},
    "c3l": {"max_steps": 1, "batch_size": 2},
    "in-context": {"max_steps": 1, "batch_size": 16},
    "ccl:paper": {"max_steps": 1},
    "c3l:paper": {"max_steps": 1},
}
CHOSEN = ["word2vec", "siamese-single"]
SMALL = Scale(settings=SETTINGS, train=20, test=16, queries=8, studies=False)


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has tests of its own, and its pictures take seconds."""
    monkeypatch.setattr(runner, "write_report", lambda out, plots=True: None)


def smaller(name: str, **changes: Any) -> Suite:
    """A suite on little of the sample corpus."""
    suite = SUITES[name]
    corpus = sample_corpus(suite.data[-1].tasks, conversations=60)
    return replace(suite, data=(*suite.data[:-1], corpus), full=replace(SMALL, **changes), quick=SMALL)


@pytest.fixture
def count_trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the trainings that are run."""
    names: list[str] = []
    run = models.Training.run

    def counted(training: models.Training, *arguments: Any) -> Any:
        names.append(training.name)
        return run(training, *arguments)

    monkeypatch.setattr(models.Training, "run", counted)
    return names


def read(out: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((out / "results.json").read_text())
    return results


# Left out to save time: what differs from a method that is run is one setting.
ALIKE = {
    *("siamese-multi", "dialogue-cse-i1", "c3l-directional", "c3l-hard-positives", "c3l-bi-positives"),
    *(f"{name}-adapted" for name in ("siamese-single", "siamese-multi", "dialogue-cse-i1")),
}


def trainings(stages: tuple[Stage, ...]) -> set[str]:
    """All trainings behind some stages."""
    return {str(stages[:count]) for count in range(1, len(stages) + 1)}


@pytest.mark.parametrize("name", ["dialoguecse", "dial2vec", "triple"])
def test_methods_run_on_the_sample_corpus(
    name: str,
    tiny_encoder_path: Path,
    tmp_path: Path,
    count_trainings: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cells_module, "try_to_load_from_cache", lambda *_: None)  # whatever this machine has
    monkeypatch.setattr(scoring, "ConveRTSettings", partial(ConveRTSettings, epochs=1))  # has tests of its own
    suite = smaller(name)
    table = {name: method for name, method in suite.methods_by_name.items() if name not in ALIKE}
    results = run_suite(suite, None, str(tiny_encoder_path), tmp_path, list(table), seeds=1)
    assert results == read(tmp_path)
    cells = {cell["method"]: cell for cell in results["cells"]}
    assert list(cells) == list(table)
    not_done = {method: cell["reason"] for method, cell in cells.items() if cell["status"] != "done"}
    needs = {"glove": "needs a text file of word vectors: --word-vectors"}
    weights = {row: method.model for row, method in table.items() if method.model}
    needs |= {row: f"needs the weights of {m} in the Hugging Face cache: hf download {m}" for row, m in weights.items()}
    assert not_done == ({} if name == "triple" else needs) and len(weights) == 5 * (name == "dial2vec")
    costs = json.loads((tmp_path / "results-cost.json").read_text())["cells"]
    trained = {cell["method"] for cell, cost in zip(results["cells"], costs) if cost and cost["train_tokens"] > 0}
    assert trained == {method.name for method in table.values() if method.stages}
    # Methods that share trainings share the model: each training is run once.
    assert len(count_trainings) == len(set().union(*(trainings(method.stages) for method in table.values())))


@pytest.mark.parametrize("name", ["dialoguecse", "dial2vec"])
def test_any_hugging_face_model_is_a_row(name: str, tiny_encoder_path: Path, tmp_path: Path) -> None:
    row = f"hf:{tiny_encoder_path}"
    results = run_suite(smaller(name), None, str(tiny_encoder_path), tmp_path, ["mean", row, "hf:/nowhere"], seeds=1)
    cells = {cell["method"]: cell for cell in results["cells"]}
    assert cells[row]["figures"] == cells["mean"]["figures"]  # the same model, read by another library
    assert cells["hf:/nowhere"]["status"] == "failed"
    with pytest.raises(ValueError, match="unknown method 'hf:x'"):
        run_suite(smaller("triple"), None, str(tiny_encoder_path), tmp_path, ["hf:x"])


def test_data_sets_are_chosen_and_studies_left_out(tiny_encoder_path: Path, tmp_path: Path) -> None:
    suite = smaller("dialoguecse", studies=True)

    def run(methods: list[str], **choice: Any) -> dict[str, Any]:
        return run_suite(suite, None, str(tiny_encoder_path), tmp_path, methods, seeds=1, **choice)

    results = run(["siamese-multi"], data_sets=["sample"], studies=False)
    assert [cell["study"] for cell in results["cells"]] == [None, None]
    assert "--data-sets sample --no-studies" in results["command"]
    with pytest.raises(ValueError, match="unknown data set 'x': expected some of sgd"):
        run(["bm25"], data_sets=["x"])
    with pytest.raises(ValueError, match="sgd: give the folder of the data sets with --data"):
        run(["bm25"], data_sets=["sgd"])


def test_values_of_queries_belong_to_the_figures(tiny_encoder_path: Path, tmp_path: Path) -> None:
    results = run_suite(smaller("dial2vec"), None, str(tiny_encoder_path), tmp_path / "a", ["bm25"], seeds=1)
    for cell in results["cells"]:
        values = cell["per_query"]["conversation_retrieval"]["values"]
        assert 100 * sum(values) / len(values) == pytest.approx(
            cell["figures"]["conversation_retrieval"]["map"], abs=1e-3
        )
    results = run_suite(smaller("triple"), None, str(tiny_encoder_path), tmp_path / "b", ["bm25"], seeds=1)
    untouched, bm25 = results["cells"]
    assert set(untouched["figures"]["next_message"]) == {"bi", "single"}
    values = bm25["per_query"]["next_message/bm25"]["values"]
    shown = bm25["figures"]["next_message"]["bm25"]["average_rank"]
    assert sum(values) / len(values) == pytest.approx(shown, abs=1e-4)


def test_same_input_same_bytes_and_nothing_is_done_twice(
    tiny_encoder_path: Path, tmp_path: Path, count_trainings: list[str]
) -> None:
    arguments = (smaller("dialoguecse"), None, str(tiny_encoder_path))
    for out in ("a", "b", "b"):
        run_suite(*arguments, tmp_path / out, ["siamese-single", "word2vec"], seeds=1)
    assert (tmp_path / "a" / "results.json").read_bytes() == (tmp_path / "b" / "results.json").read_bytes()
    assert count_trainings == ["siamese"] * 2  # once in each folder
    # More of the same run: only what is new.
    run_suite(*arguments, tmp_path / "a", ["siamese-single", "word2vec"], seeds=2)
    assert count_trainings == ["siamese"] * 3
    seeds = [(cell["method"], cell["seed"]) for cell in read(tmp_path / "a")["cells"]]
    assert seeds == [("untouched", 0), ("word2vec", 0), ("word2vec", 1), ("siamese-single", 0), ("siamese-single", 1)]


@pytest.fixture(scope="module")
def whole(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of a run that nothing breaks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "write_report", lambda out, plots=True: None)
        out = tmp_path_factory.mktemp("whole")
        run_suite(smaller("dialoguecse"), None, str(tiny_encoder_path), out, CHOSEN, seeds=1)
    return (out / "results.json").read_bytes()


@pytest.mark.parametrize("error", [RuntimeError("out of luck\nand more"), KeyboardInterrupt()])
def test_a_broken_run_goes_on_where_it_was(
    error: BaseException,
    tiny_encoder_path: Path,
    tmp_path: Path,
    whole: bytes,
    monkeypatch: pytest.MonkeyPatch,
    count_trainings: list[str],
) -> None:
    arguments: Any = (smaller("dialoguecse"), None, str(tiny_encoder_path))
    embed = scoring.encode_messages
    calls = 0

    def broken(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:  # after the untouched encoder
            raise error
        return embed(*given, **named)

    monkeypatch.setattr(scoring, "encode_messages", broken)
    out = tmp_path / "broken"
    if isinstance(error, Exception):
        cells = {cell["method"]: cell for cell in run_suite(*arguments, out, CHOSEN, seeds=1)["cells"]}
        assert [cell["status"] for cell in cells.values()] == ["done", "done", "failed"]
        assert cells["siamese-single"]["reason"] == "RuntimeError: out of luck and more"
    else:
        with pytest.raises(KeyboardInterrupt):
            run_suite(*arguments, out, CHOSEN, seeds=1)
        assert [cell["status"] for cell in read(out)["cells"]] == ["done", "done"]
    monkeypatch.setattr(scoring, "encode_messages", embed)
    run_suite(*arguments, out, CHOSEN, seeds=1)
    assert count_trainings == ["siamese"]
    assert (out / "results.json").read_bytes() == whole


def test_the_folder_of_another_suite_is_refused(tmp_path: Path, tiny_encoder_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"suite": "triple"}))
    with pytest.raises(ValueError, match="holds the results of triple: name another folder, such as --out dialoguecse"):
        run_suite(smaller("dialoguecse"), None, str(tiny_encoder_path), tmp_path, CHOSEN, seeds=1)


def test_a_training_that_is_stopped_goes_on_at_its_step(
    tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"siamese": {"max_steps": 3, "batch_size": 4}}
    arguments: Any = (smaller("dialoguecse", settings=settings), None, str(tiny_encoder_path))
    run_suite(*arguments, tmp_path / "whole", ["siamese-single"], seeds=1)
    steps: list[int] = []

    def counted(callback: Any, args: Any, state: Any, control: Any, **named: Any) -> None:
        steps.append(state.global_step + 1)
        if len(steps) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TrainingProgress, "on_step_begin", counted)
    with pytest.raises(KeyboardInterrupt):
        run_suite(*arguments, tmp_path / "cut", ["siamese-single"], seeds=1)
    run_suite(*arguments, tmp_path / "cut", ["siamese-single"], seeds=1)
    assert steps == [1, 2, 3]
    assert (tmp_path / "cut" / "results.json").read_bytes() == (tmp_path / "whole" / "results.json").read_bytes()
    assert len(list((tmp_path / "cut" / "models").iterdir())) == 1


def test_published_trainings_choose_their_step_on_validation_data(
    tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = smaller("triple", settings={**SETTINGS, "ccl:paper": {"max_steps": 2}})
    corpus = suite.data[-1]

    def load(folder: Path) -> Splits:
        splits = corpus.load(folder)
        return replace(splits, validation=splits.test)

    steps: list[int] = []
    evaluate = TaskEvaluator.__call__

    def counted(evaluator: TaskEvaluator, model: Any, **place: Any) -> dict[str, float]:
        steps.append(place["steps"])
        return evaluate(evaluator, model, **place)

    monkeypatch.setattr(TaskEvaluator, "__call__", counted)
    validated = replace(suite, data=(replace(corpus, load=load),))
    arguments: Any = (str(tiny_encoder_path), tmp_path, ["ccl", "ccl-paper"])
    results = run_suite(validated, None, *arguments, seeds=1)
    assert {cell["status"] for cell in results["cells"]} == {"done"}
    assert results["data"]["sample"]["validates"] == "next-message"
    assert steps == [1, 2]  # of the published training alone

    def tokens_of_training() -> list[int]:
        costs = json.loads((tmp_path / "results-cost.json").read_text())["cells"]
        return [cost["train_tokens"] for cost in costs]

    validated_tokens = tokens_of_training()
    run_suite(suite, None, *arguments, seeds=1)
    assert len(list((tmp_path / "models").iterdir())) == 3  # without validation data it is another training
    assert validated_tokens == tokens_of_training()  # validation data are no tokens of training


def test_short_published_trainings_are_validated_several_times() -> None:
    suite = SUITES["dial2vec"]
    table, study = suite.methods_by_name["dial2vec-bert"], suite.studies[0]
    cell = Cell(suite.data[0], table, seed=0)
    (training,) = cell.trainings(suite.full)
    assert (training.settings.max_steps, training.settings.checkpoint_steps) == (60, 12)
    assert cell.chooses_step
    assert not replace(cell, study=study, value=30).chooses_step  # the best of 30 steps is not what 30 steps do
    assert not replace(cell, method=suite.methods_by_name["dial2vec"]).chooses_step


def test_studies(tiny_encoder_path: Path, tmp_path: Path, count_trainings: list[str]) -> None:
    suite = replace(
        smaller("dialoguecse", studies=True),
        studies=(
            Study("turns", "", ("dialogue-cse", "siamese-multi"), "context_turns", (1, 3)),
            Study("data-size", "", ("dialogue-cse",), "train_conversations", (10, 1000)),
        ),
    )
    results = run_suite(suite, None, str(tiny_encoder_path), tmp_path, ["dialogue-cse"], seeds=1)
    cells = [(cell["method"], cell["study"], cell["status"]) for cell in results["cells"] if cell["study"]]
    assert cells == [
        ("dialogue-cse", {"name": "turns", "value": 1}, "done"),
        ("dialogue-cse", {"name": "turns", "value": 3}, "done"),
        ("dialogue-cse", {"name": "data-size", "value": 10}, "done"),
        ("dialogue-cse", {"name": "data-size", "value": 1000}, "not run"),
    ]
    assert results["cells"][-1]["reason"] == "needs 1000 conversations to learn from, there are 20"
    # The method's own value is the row of the main table, and only that row's model is kept.
    assert count_trainings == ["dialogue-cse"] * 3
    assert results["cells"][1]["figures"] == results["cells"][3]["figures"]
    assert len(list((tmp_path / "models").iterdir())) == 1


def test_studies_run_on_every_data_set_with_training_conversations() -> None:
    def studied(*names: str) -> set[tuple[str, str]]:
        data = [data_set for data_set in suite.data if data_set.name in names]
        cells = plan_cells(suite, suite.full, data, data, suite.methods_by_name, seeds=1)
        return {(cell.study.name, cell.data.name) for cell in cells if cell.study}

    suite = SUITES["dialoguecse"]
    everywhere = {(study.name, name) for study in suite.studies for name in ("ecd", "jddc")}
    assert studied("ecd", "jddc", "mdc") == {*everywhere, ("turns", "mdc")}


def test_missing_data_says_what_it_needs(tiny_encoder_path: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "jddc" / "dev").mkdir(parents=True)
    texts = ["buy a card", "buy the card", "cancel a flight", "cancel my flight"]
    lines = [f"{row}\t{text}\t\t{row ^ 1}\t{(row + 2) % 4}\n" for row, text in enumerate(texts)]
    (data / "jddc" / "dev" / "select.txt").write_text("".join(lines))
    (data / "jddc" / "dev" / "sts.txt").write_text("1\tbuy\tcancel\n5\tbuy\tbuy it\n3\tcard\tflight\n")
    results = run_suite(smaller("dialoguecse"), data, str(tiny_encoder_path), tmp_path / "out", ["simcse"], seeds=1)
    missing = results["missing"]
    sgd = f"needs sgd/train.jsonl.gz (or sgd/train.jsonl, or a folder sgd/train) under {data}"
    assert missing["Schema-Guided Dialogue"] == sgd
    assert missing["E-commerce corpus (released)"].startswith("needs a folder ecd/test or ecd/dev with select.txt")
    found = {(cell["data"], cell["method"]): cell for cell in results["cells"]}
    assert {data for data, _ in found} == {"jddc", "sample"}
    assert set(found["jddc", "untouched"]["figures"]) == {"semantic_retrieval", "dialogue_sts"}
    assert found["jddc", "simcse"]["reason"] == f"needs conversations to learn from, jddc/train, under {data}"
    assert found["sample", "simcse"]["status"] == "done"


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="unknown suite 'cse': expected one of dialoguecse, dial2vec, triple"):
        run_suite("cse")
    with pytest.raises(ValueError, match="unknown method 'bart', 'bert': expected some of untouched, bm25"):
        run_suite("dialoguecse", methods=["bert", "bart", "mean"])
    with pytest.raises(ValueError, match="seeds must be 1 or more, got 0"):
        run_suite("dialoguecse", seeds=0)


def test_the_suites_name_methods_and_settings_that_exist() -> None:
    for suite in SUITES.values():
        chains = [method.stages for method in suite.methods]
        stages = {stage.name: stage for stages in chains for stage in stages}
        for scale in (suite.full, suite.quick):
            assert set(scale.settings) <= set(stages)
            for name, stage in stages.items():
                models.resolve_stage(stage, **scale.settings.get(name, {}), seed=0)
        for study in suite.studies:
            for name in study.methods:
                for value in study.values:
                    if study.setting != "train_conversations":
                        models.resolve_stage(suite.methods_by_name[name].stages[-1], **{study.setting: value})


def test_command_line(tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from turnlens.cli.main import app

    monkeypatch.setattr("turnlens.papers.dial2vec.table.SUITE", smaller("dial2vec"))
    monkeypatch.setattr(runner, "write_report", write_report)
    command = ["papers", "bench", "dial2vec", "--quick", "--encoder", str(tiny_encoder_path), "--methods", "bm25,lda"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert f"The tables are in {tmp_path / 'report.md'}" in done.output
    assert "| LDA | 1 |" in (tmp_path / "report.md").read_text()
    told = f"turnlens papers bench dial2vec --encoder {tiny_encoder_path} --methods bm25,lda --seeds 1 --quick"
    assert read(tmp_path)["command"] == told
    done = CliRunner().invoke(app, ["papers", "bench", "dial2vec", "--data", str(tmp_path / "nowhere")])
    assert done.exit_code == 1
    assert "nowhere: no such folder" in done.output
    done = CliRunner().invoke(app, ["papers", "bench", "cse"])
    assert done.exit_code == 1
    assert "unknown suite 'cse': expected one of dialoguecse, dial2vec, triple, or report" in done.output
    for name in SUITES:
        assert (
            f"Example: turnlens papers bench {name}"
            in CliRunner().invoke(app, ["papers", "bench", name, "--help"]).output
        )
