"""Runs of suites on little of the sample corpus."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from turnlens.cli.main import app
from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.papers.baselines import BASELINES
from turnlens.papers.experiments import DATA_SETS
from turnlens.papers.experiments.runner import Cell, plan_cells, resolve_stage, run_suite, settings_it_has
from turnlens.papers.experiments.scoring import as_trained, baseline_row, convert
from turnlens.papers.experiments.suite import SUITES, Method, Scale, Splits, Stage, Study, Suite, sample_corpus
from turnlens.training.callbacks import TrainingProgress

SETTINGS = {
    **{name: {"max_steps": 1} for name in ("adapt", "adapt-paper", "simcse", "ccl:paper", "c3l:paper")},
    **{name: {"max_steps": 1, "batch_size": 4} for name in ("dialogue-cse", "siamese", "single-vector")},
    **{name: {"max_steps": 1, "batch_size": 2} for name in ("ccl", "c3l")},
    **{
        name: {"max_steps": 1, "gradient_accumulation_steps": 1, "negatives_per_dialogue": 2}
        for name in ("dial2vec", "dial2vec:paper")
    },
    "dialogue-cse:paper": {"max_steps": 1, "batch_size": 4, "negatives": 2},
}
SMALL = Scale(settings=SETTINGS, train=20, test=16, queries=8, studies=False)
STUDIES = (
    Study("turns", "", ("dialogue-cse", "siamese-multi"), "context_turns", (1, 3)),
    Study("data-size", "", ("dialogue-cse",), "train_conversations", (10, 1000)),
)
Run = Callable[..., dict[str, Any]]


def smaller(name: str, **changes: Any) -> Suite:
    suite = SUITES[name]
    corpus = sample_corpus(suite.data[-1].tasks, conversations=60)
    methods = tuple(replace(row, score=convert(epochs=1)) if row.name == "convert" else row for row in suite.methods)
    small = replace(suite, methods=methods, data=(*suite.data[:-1], corpus), quick=SMALL)
    return replace(small, full=replace(SMALL, **changes))


@pytest.fixture
def run(tiny_encoder_path: Path, tmp_path: Path) -> Run:
    """Runs rows of a suite with one seed in a folder of its own."""

    def run(suite: Suite, *methods: str, out: str = "out", data: Path | None = None, **options: Any) -> dict[str, Any]:
        return run_suite(suite, data, str(tiny_encoder_path), tmp_path / out, methods, **{"seeds": 1, **options})

    return run


def written(folder: Path) -> dict[Path, int]:
    """The finished rows and trained models in a folder, with the time of writing."""
    files = [*folder.glob("rows/*"), *folder.glob("models/*/training.json")]
    return {path: path.stat().st_mtime_ns for path in files}


# Left out to save time: they differ from a row that is run in one setting.
ALIKE = {
    *("siamese-multi", "dialogue-cse-i1", "c3l-directional", "c3l-hard-positives", "c3l-bi-positives"),
    *(f"{name}-adapted" for name in ("siamese-single", "siamese-multi", "dialogue-cse-i1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_row_runs_on_the_sample_corpus(name: str, run: Run) -> None:
    suite = smaller(name)
    rows = {row: method for row, method in suite.methods_by_name.items() if row not in ALIKE}
    cells = {cell["method"]: cell for cell in run(suite, *rows)["cells"]}
    assert list(cells) == list(rows)
    reasons = {row: cell["reason"] for row, cell in cells.items() if cell["status"] != "done"}
    weights = {row: f"needs the weights of {method.model}" for row, method in rows.items() if method.model}
    needs = {"glove": "needs a text file of word vectors", **weights}
    assert all(reasons[row].startswith(needs[row]) for row in reasons)


def test_a_model_of_the_users_choice_is_a_row(run: Run, tiny_encoder_path: Path) -> None:
    chosen = f"hf:{tiny_encoder_path}"
    cells = {cell["method"]: cell for cell in run(smaller("dialoguecse"), "mean", chosen, "hf:/nowhere")["cells"]}
    assert list(cells) == ["untouched", "mean", chosen, "hf:/nowhere"]
    assert cells[chosen]["figures"] == cells["mean"]["figures"]  # the same model, read by another library
    assert cells["hf:/nowhere"]["status"] == "failed"
    with pytest.raises(ValueError, match="unknown method 'hf:x'"):
        run(smaller("triple"), "hf:x")


@pytest.mark.slow
def test_finished_rows_and_models_are_kept(run: Run, tmp_path: Path) -> None:
    suite = smaller("dialoguecse")
    first = run(suite, "siamese-single", "word2vec")
    kept = written(tmp_path / "out")
    assert run(suite, "siamese-single", "word2vec") == first == json.loads((tmp_path / "out/results.json").read_text())
    assert written(tmp_path / "out") == kept and len(kept) == 4
    more = run(suite, "siamese-single", "word2vec", seeds=2)["cells"]
    assert written(tmp_path / "out").items() > kept.items()
    rows = [("untouched", 0), ("word2vec", 0), ("word2vec", 1), ("siamese-single", 0), ("siamese-single", 1)]
    assert [(cell["method"], cell["seed"]) for cell in more] == rows
    assert [cell for cell in more if cell["seed"] == 0] == first["cells"]


@pytest.mark.parametrize("error", [RuntimeError("out of luck\nand more"), KeyboardInterrupt()])
def test_a_broken_run_continues(error: BaseException, run: Run, tmp_path: Path) -> None:
    calls: list[int] = []

    def breaks_once(inputs: Any, tasks: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise error
        return as_trained(inputs, tasks)

    suite = replace(
        smaller("dialoguecse"), methods=(*SUITES["dialoguecse"].methods[:3], Method("new", "New", breaks_once))
    )
    if isinstance(error, Exception):
        *_, last = run(suite)["cells"]
        assert (last["status"], last["reason"]) == ("failed", "RuntimeError: out of luck and more")
    else:
        with pytest.raises(KeyboardInterrupt):
            run(suite)
        results = json.loads((tmp_path / "out/results.json").read_text())
        assert [cell["status"] for cell in results["cells"]] == ["done"] * 3
        assert "3 of 4 rows" in (tmp_path / "out/report.md").read_text()
    kept = written(tmp_path / "out")
    untouched, *_, last = run(suite)["cells"]
    assert last["figures"] == untouched["figures"] and len(calls) == 2
    assert written(tmp_path / "out").items() > kept.items()


def test_results_of_other_settings_are_refused(run: Run) -> None:
    run(smaller("dialoguecse"), "untouched")
    with pytest.raises(ValueError, match="holds the results of suite dialoguecse: name another folder"):
        run(smaller("triple"))
    with pytest.raises(ValueError, match=r"holds the results of settings \{\}"):
        run(smaller("dialoguecse"), settings={"max_steps": 2})
    with pytest.raises(ValueError, match="holds the results of quick False"):
        run(smaller("dialoguecse"), quick=True)


def test_data_sets_are_chosen(run: Run) -> None:
    suite = smaller("dialoguecse", studies=True)
    results = run(suite, "bm25", data_sets=["sample"], studies=False)
    assert [cell["study"] for cell in results["cells"]] == [None, None]
    with pytest.raises(ValueError, match="unknown data set 'x': expected some of sgd"):
        run(suite, data_sets=["x"])
    with pytest.raises(ValueError, match="sgd: give the folder of the data sets with --data"):
        run(suite, data_sets=["sgd"])


def test_values_of_queries_belong_to_the_figures(run: Run) -> None:
    for cell in run(smaller("dial2vec"), "bm25", out="a")["cells"]:
        values = cell["per_query"]["conversation_retrieval"]
        shown = cell["figures"]["conversation_retrieval"]["map"]
        assert 100 * sum(values) / len(values) == pytest.approx(shown, abs=1e-3)
    untouched, bm25 = run(smaller("triple"), "bm25", out="b")["cells"]
    assert set(untouched["figures"]["next_message"]) == {"bi", "single"}
    values = bm25["per_query"]["next_message/bm25"]
    shown = bm25["figures"]["next_message"]["bm25"]["average_rank"]
    assert sum(values) / len(values) == pytest.approx(shown, abs=1e-4)


@pytest.mark.slow
def test_a_stopped_training_continues_at_its_step(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = smaller("dialoguecse", settings={"siamese": {"max_steps": 3, "batch_size": 4}})
    whole = run(suite, "siamese-single", out="whole")
    steps: list[int] = []

    def counted(callback: Any, args: Any, state: Any, control: Any, **named: Any) -> None:
        steps.append(state.global_step + 1)
        if len(steps) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TrainingProgress, "on_step_begin", counted)
    with pytest.raises(KeyboardInterrupt):
        run(suite, "siamese-single")
    assert run(suite, "siamese-single") == whole
    assert steps == [1, 2, 3] and len(list((tmp_path / "out/models").iterdir())) == 1


@pytest.mark.slow
def test_published_trainings_choose_their_step(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    results = run(replace(suite, data=(replace(corpus, load=load),)), "ccl", "ccl-paper")
    assert {cell["status"] for cell in results["cells"]} == {"done"}
    assert results["data"]["sample"]["validates"] == "next-message"
    assert steps == [1, 2]  # of the published training alone
    run(suite, "ccl", "ccl-paper")
    assert len(list((tmp_path / "out/models").iterdir())) == 3  # without validation data it is another training


def test_short_published_trainings_are_validated_several_times() -> None:
    suite = SUITES["dial2vec"]
    cell = Cell(suite.data[0], suite.methods_by_name["dial2vec-bert"], seed=0)
    (training,) = replace(cell, study=suite.studies[0], value=60).trainings(suite.full)
    assert (training.settings.max_steps, training.settings.checkpoint_steps) == (60, 12)
    assert cell.chooses_step
    assert not replace(cell, study=suite.studies[0], value=30).chooses_step  # the best of 30 steps is not what 30 do
    assert not replace(cell, method=suite.methods_by_name["dial2vec"]).chooses_step


@pytest.mark.slow
def test_studies_vary_settings_and_conversations(run: Run, tmp_path: Path) -> None:
    cells = run(replace(smaller("dialoguecse", studies=True), studies=STUDIES), "dialogue-cse")["cells"]
    assert [(cell["method"], cell["study"], cell["status"]) for cell in cells if cell["study"]] == [
        ("dialogue-cse", {"name": "turns", "value": 1}, "done"),
        ("dialogue-cse", {"name": "turns", "value": 3}, "done"),
        ("dialogue-cse", {"name": "data-size", "value": 10}, "done"),
        ("dialogue-cse", {"name": "data-size", "value": 1000}, "not run"),
    ]
    assert cells[-1]["reason"] == "needs 1000 conversations to learn from, there are 20"
    # The row's own value is that of the main table, and only that model is kept.
    assert cells[1]["figures"] == cells[3]["figures"]
    assert len(list((tmp_path / "out/models").iterdir())) == 1


def test_a_study_sets_the_last_training() -> None:
    suite = replace(smaller("dialoguecse", studies=True), studies=STUDIES)
    cells = plan_cells(suite, suite.full, suite.data[-1:], suite.data[-1:], suite.methods_by_name, seeds=1)
    turns = [cell for cell in cells if cell.study is STUDIES[0]]
    of_study = [(cell.method.name, cell.trainings(suite.full)[-1].describe()["context_turns"]) for cell in turns]
    assert of_study == [(name, value) for name in ("dialogue-cse", "siamese-multi") for value in (1, 3)]


def test_studies_run_where_there_are_training_conversations() -> None:
    def studied(*names: str) -> set[tuple[str, str]]:
        data = [data_set for data_set in suite.data if data_set.name in names]
        cells = plan_cells(suite, suite.full, data, data, suite.methods_by_name, seeds=1)
        return {(cell.study.name, cell.data.name) for cell in cells if cell.study}

    suite = SUITES["dialoguecse"]
    everywhere = {(study.name, name) for study in suite.studies for name in ("ecd", "jddc")}
    assert studied("ecd", "jddc", "mdc") == {*everywhere, ("turns", "mdc")}


def test_missing_data_says_what_it_needs(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "jddc" / "dev").mkdir(parents=True)
    texts = ["buy a card", "buy the card", "cancel a flight", "cancel my flight"]
    lines = [f"{row}\t{text}\t\t{row ^ 1}\t{(row + 2) % 4}\n" for row, text in enumerate(texts)]
    (data / "jddc" / "dev" / "select.txt").write_text("".join(lines))
    (data / "jddc" / "dev" / "sts.txt").write_text("1\tbuy\tcancel\n5\tbuy\tbuy it\n3\tcard\tflight\n")
    results = run(smaller("dialoguecse"), "word2vec", data=data)
    needs = f"needs sgd/train.jsonl.gz (or sgd/train.jsonl, or a folder sgd/train) under {data}"
    assert results["missing"]["Schema-Guided Dialogue"] == needs
    needs = results["missing"]["E-commerce corpus (released)"]
    assert needs.startswith("needs a folder ecd/test or ecd/dev with select.txt")
    cells = {(cell["data"], cell["method"]): cell for cell in results["cells"]}
    assert {name for name, _ in cells} == {"jddc", "sample"}
    assert set(cells["jddc", "untouched"]["figures"]) == {"semantic_retrieval", "dialogue_sts"}
    needs = cells["jddc", "word2vec"]["reason"]
    assert needs == f"needs conversations to learn from, jddc/train, under {data}"
    assert cells["sample", "word2vec"]["status"] == "done"


def test_unknown_names_are_refused() -> None:
    for arguments, message in (
        ({"suite": "cse"}, "unknown suite 'cse': expected one of dialoguecse, dial2vec, triple"),
        ({"methods": ["bert", "bart", "mean"]}, "unknown method 'bart', 'bert': expected some of untouched, bm25"),
        ({"seeds": 0}, "seeds must be 1 or more, got 0"),
        ({"settings": {"temperature": 1}}, "no setting of every training: temperature; expected learning_rate"),
        ({"settings": {"epochs": -1}}, "epochs"),
        ({"generator": "gpt2"}, "a generator is for short-term planning"),
    ):
        with pytest.raises(ValueError, match=message):
            run_suite(**{"suite": "dialoguecse", **arguments})


def test_suites_name_methods_and_settings_that_exist() -> None:
    for suite in SUITES.values():
        stages = {stage.name: stage for method in suite.methods for stage in method.stages}
        for scale in (suite.full, suite.quick):
            assert set(scale.settings) <= set(stages)
            for name, stage in stages.items():
                resolve_stage(stage, **scale.settings.get(name, {}), seed=0)
        for study in suite.studies:
            for name in study.methods:
                for value in () if study.varies_conversations else study.values:
                    resolve_stage(suite.methods_by_name[name].stages[-1], **{study.setting: value})


def test_a_stage_gets_the_settings_it_has() -> None:
    everywhere = {"bf16": "forced", "max_steps": 3}
    head, encoder = Stage("reply-head"), Stage("dialogue-cse")
    assert settings_it_has(head, everywhere) == {"max_steps": 3}
    assert settings_it_has(encoder, everywhere) == settings_it_has(Stage("adapt"), everywhere) == everywhere
    assert resolve_stage(head, **settings_it_has(head, everywhere)).settings.max_steps == 3


def test_baseline_rows_need_what_their_baseline_needs() -> None:
    for name, entry in BASELINES.items():
        for level in entry.levels:
            row = baseline_row(name, level, "A title")
            assert (row.name, row.title, row.needs, row.learns) == (name, "A title", entry.needs, entry.learns)
            assert row.needs_seeds == (entry.learns == "randomly")
            assert row.needs_conversations == (entry.learns != "nothing")
            assert (row.tasks is None) == (entry.gives == "embeddings")
    assert baseline_row("bm25", "message", "").tasks == ("semantic-retrieval",)
    assert baseline_row("bm25", "conversation", "").tasks == ("conversation-retrieval",)
    assert baseline_row("lda", "conversation", "").tasks == ("domain-categorization",)
    adapted = baseline_row("cls", "message", "adapted", name="cls-adapted", stages=(Stage("adapt"),))
    assert adapted.name == "cls-adapted" and adapted.needs_seeds and adapted.needs_conversations


def test_the_command_runs_a_suite(tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def invoke(*arguments: object) -> Any:
        return CliRunner().invoke(app, ["papers", "bench", *map(str, arguments)], env={"COLUMNS": "200"})

    known = {name: tuple(data.name for data in suite.data) for name, suite in SUITES.items()}
    assert known == DATA_SETS and tuple(known) == tuple(DATA_SETS)
    monkeypatch.setattr("turnlens.papers.dial2vec.table.SUITE", smaller("dial2vec"))
    command = ["dial2vec", "--encoder", tiny_encoder_path, "--methods", "bm25,lda", "--seeds", 1, "--quick"]
    command += ["--set", "max_steps=1"]
    done = invoke(*command, "--output", tmp_path)
    assert done.exit_code == 0, done.output
    assert f"The tables are in {tmp_path / 'report.md'}" in done.output
    report = (tmp_path / "report.md").read_text()
    assert "| LDA | 1 |" in report and " ".join(map(str, ["turnlens papers bench", *command])) in report
    for arguments, message in (
        (["dial2vec", "--data", tmp_path / "nowhere"], "nowhere: no such folder"),
        (["dial2vec", "--word-vectors", tmp_path / "nowhere"], "nowhere: no such file"),
        (["cse"], "unknown suite 'cse': expected one of dialoguecse, dial2vec, triple"),
    ):
        failed = invoke(*arguments)
        assert failed.exit_code == 1 and message in failed.output
