import dataclasses
import json
import os
import re
import signal
import string
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models
from transformers import AlbertConfig, AlbertModel, PreTrainedTokenizerFast

import turnlens
from closeness import assert_same_vectors
from turnlens._compat import attention_of
from turnlens._utils.files import only_writer
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines.dual_encoders import Siamese, SingleVector
from turnlens.papers.dial2vec.recipe import Dial2vec
from turnlens.papers.dialogue_cse.recipe import DialogueCSE
from turnlens.papers.triple_encoders.recipe import C3L
from turnlens.papers.triple_encoders.views import encode_view
from turnlens.training import TrainingReport
from turnlens.training.callbacks import TrainingProgress
from turnlens.training.collators import TextCollator
from turnlens.training.encoder_modes import no_attention_dropout, runs_in_bf16
from turnlens.training.recipes import InContext, get_recipe
from turnlens.training.run import LOSS_FILE
from turnlens.training.train import train


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return turnlens.sample_conversations(24, seed=1).select_columns(["id", "messages"])


@pytest.fixture(scope="module")
def model(corpus: Dataset, tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, beside a snapshot of each of its two steps."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    train(corpus, method=short(max_steps=2, snapshots=1), encoder=tiny_encoder_path, output=folder)
    return folder


@pytest.fixture(scope="module")
def usual(corpus: Dataset, tiny_encoder_path: Path) -> dict[str, torch.Tensor]:
    """The weights that `short()` gives."""
    return weights(train(corpus, method=short(), encoder=tiny_encoder_path))


@pytest.fixture
def fit(corpus: Dataset, tiny_encoder_path: Path, tmp_path: Path) -> Callable[..., SentenceTransformer]:
    """Trains the tiny encoder by a method, into a folder of this name if one is given."""

    def run(method: Any, output: str | None = None, data: Any = corpus, **how: Any) -> SentenceTransformer:
        how = {"encoder": tiny_encoder_path, "output": output and tmp_path / output, **how}
        return train(data, method=method, **how)

    return run


def short(**settings: Any) -> DialogueCSE:
    return DialogueCSE(**{**SHORT, **settings})


SHORT = {"batch_size": 4, "max_steps": 6, "max_length": 16, "checkpoint_steps": 2, "learning_rate": 1e-3}
ADAPTATION = Adaptation(max_steps=3, batch_size=8, checkpoint_steps=2)
OF_DIALOGUES = {"turn_inputs": True, "negatives_per_dialogue": 2, "gradient_accumulation_steps": 1}
# Method -> its recipe, and the step at which it is cut: those of all stages count.
RECIPES: dict[str, tuple[Any, int]] = {
    "dialogue-cse": (short(adaptation=ADAPTATION), 8),
    "attention": (short(aggregation="attention", negatives=3), 5),
    "siamese-multi": (Siamese(**SHORT, context="multi"), 5),
    "single-vector": (SingleVector(**SHORT), 5),
    "dial2vec": (Dial2vec(**SHORT, **OF_DIALOGUES), 4),
    "dial2vec-adapted": (Dial2vec(**SHORT, **OF_DIALOGUES, adaptation=ADAPTATION), 7),
    "ccl-before-c3l": (C3L(**SHORT, adaptation=ADAPTATION), 6),
    "c3l": (C3L(**SHORT, adaptation=ADAPTATION), 12),
    "adaptation": (Adaptation(max_steps=6, batch_size=8, learning_rate=1e-3, checkpoint_steps=2), 4),
}


def weights(encoder: SentenceTransformer) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in encoder.state_dict().items()}


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int, act) -> None:
    """Make the collator act once after so many batches."""
    original, seen = TextCollator.turns, []

    def turns(self, rows):
        seen.append(rows)
        if len(seen) == batches:
            act()
        return original(self, rows)

    monkeypatch.setattr(TextCollator, "turns", turns)


def power_cut() -> None:
    raise RuntimeError("power cut")


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_resumed_run_gives_the_same_weights(fit, name: str, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    recipe, cut_at = RECIPES[name]
    whole = fit(recipe, "whole")
    steps: list[int] = []

    def on_step_begin(callback: Any, args: Any, state: Any, control: Any, **named: Any) -> None:
        steps.append(state.global_step)
        if len(steps) == cut_at:
            power_cut()

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "on_step_begin", on_step_begin)
        with pytest.raises(RuntimeError, match="power cut"):
            fit(recipe, "cut")
    assert not (tmp_path / "cut").exists()
    # A checkpoint that was being written when the power went has no last file: it must not be used.
    *_, newest = sorted((tmp_path / "cut.run").glob("*/checkpoint-*"), key=lambda path: path.stat().st_mtime)
    half_written = newest.with_name("checkpoint-5")
    half_written.mkdir()
    (half_written / "model.safetensors").write_bytes(b"half")
    resumed = fit(recipe, "cut", resume=True)
    expected, found = weights(whole), weights(resumed)
    assert all(torch.equal(expected[key], found[key]) for key in expected)
    assert not (tmp_path / "cut.run").exists()
    start = weights(SentenceTransformer(str(tiny_encoder_path), device="cpu"))
    assert not all(torch.equal(expected[key], start[key]) for key in expected)


@pytest.mark.parametrize(
    ("number", "error"),
    [(signal.SIGINT, KeyboardInterrupt), pytest.param(signal.SIGTERM, SystemExit, marks=pytest.mark.slow)],
)
def test_signals_finish_and_save_the_step(fit, usual, number, error, tmp_path, monkeypatch) -> None:
    recipe = short(checkpoint_steps=100)
    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        stop_after(patch, 3, lambda: signal.raise_signal(number))
        with pytest.raises(error):
            fit(recipe, "model")
    assert signal.getsignal(number) is before
    (kept,) = (tmp_path / "model.run" / "training").glob("checkpoint-*")
    assert (kept / LOSS_FILE).is_file() and not (kept / "README.md").exists()
    resumed = weights(fit(recipe, "model", resume=True))
    assert all(torch.equal(resumed[key], usual[key]) for key in usual)


@pytest.mark.slow
def test_a_resumed_run_logs_the_same_losses(fit, tmp_path, monkeypatch) -> None:
    recipe = short(max_steps=14, checkpoint_steps=4)
    fit(recipe, "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 7, power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            fit(recipe, "cut")
    fit(recipe, "cut", resume=True)
    whole, resumed = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("whole", "cut"))
    assert [log["step"] for log in whole["loss"]] == [1, 10, 14]
    assert resumed["loss"] == whole["loss"]


@pytest.mark.slow
def test_resuming_after_the_last_step_takes_no_step(fit, tmp_path, monkeypatch) -> None:
    recipe = short(max_steps=4, checkpoint_steps=2)
    fit(recipe, "whole")
    with monkeypatch.context() as patch:
        patch.setattr("turnlens.training.steps.interpolate_weights", lambda *given: power_cut())
        with pytest.raises(RuntimeError, match="power cut"):
            fit(recipe, "cut")
    assert (tmp_path / "cut.run" / "training" / "checkpoint-4" / LOSS_FILE).is_file()
    fit(recipe, "cut", resume=True)
    for file in ("training.json", "model.safetensors"):
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dialogue-cse", "reply-head"])
def test_two_runs_to_one_output_do_not_mix(fit, method: str, tmp_path) -> None:
    recipe = get_recipe(method, settings={"max_steps": 1, "batch_size": 4})
    named = pytest.raises(BlockingIOError, match=rf"model is being written by process {os.getpid()} on ")
    with only_writer(tmp_path / "model"), named:
        fit(recipe, "model", force=True)
    assert list(tmp_path.iterdir()) == []
    fit(recipe, "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_files_of_a_model_follow_the_umask(model, tmp_path) -> None:
    (tmp_path / "new").touch()
    written = [path for path in model.parent.rglob("*") if path.is_file()]
    assert len(written) > 10 and {path.stat().st_mode for path in written} == {(tmp_path / "new").stat().st_mode}


def test_an_output_among_what_is_read_is_refused(fit, corpus, tmp_path) -> None:
    corpus.to_json(str(tmp_path / "chats.jsonl"))
    with pytest.raises(ValueError, match=r"model lies in .*, which is read"):
        fit("dialogue-cse", "model", data=tmp_path)


@pytest.mark.slow
def test_saved_models_load_where_turnlens_cannot_be_imported(fit, tiny_encoder, with_views, tmp_path) -> None:
    trained = fit(short(max_steps=2), "model")
    with_views(tiny_encoder, "c3l").save_pretrained(str(tmp_path / "views"), create_model_card=False)
    script = """
import json, sys
sys.modules["turnlens"] = None  # importing it fails
from sentence_transformers import SentenceTransformer
trained, with_views = (SentenceTransformer(path, device="cpu") for path in sys.argv[1:3])
views = [with_views.encode(sys.argv[3:], prompt_name=name) for name in ("before1_other", "before2_same", "after")]
print(json.dumps([vectors.tolist() for vectors in (trained.encode(sys.argv[3:]), *views)]))
"""
    texts = ["i want a pizza", "hello"]
    command = [sys.executable, "-c", script, str(tmp_path / "model"), str(tmp_path / "views"), *texts]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    views = (("before1", False), ("before", True), ("after", True))
    expected = [trained.encode(texts), *(encode_view(tiny_encoder, texts, view, same) for view, same in views)]
    assert_same_vectors(json.loads(printed), expected)
    assert all(abs(one - other).max() > 0.01 for one, other in combinations(expected, 2))


def test_models_are_safetensors_without_quotes(model, corpus) -> None:
    files = [path for path in model.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".bin", ".pt", ".pth", ".pkl")]
    card = (model / "README.md").read_text()
    contents = [message["content"] for row in corpus for message in row["messages"] if len(message["content"]) > 20]
    assert not any(content in card for content in contents)
    assert json.loads((model / "training.json").read_text())["recipe"]["max_steps"] == 2


def test_a_model_card_cites_the_paper_if_any(fit, model, tmp_path) -> None:
    fit(InContext(max_steps=1, batch_size=4), "other")
    for folder, papers in ((model, ["liu-etal-2021-dialoguecse"]), (tmp_path / "other", [])):
        assert re.findall("@inproceedings{(.+),", (folder / "README.md").read_text()) == papers


@pytest.mark.slow
def test_the_seed_decides_the_weights(fit) -> None:
    recipes = [short(max_steps=2, seed=seed) for seed in (0, 0, 1)]
    first, again, other = (weights(fit(recipe)) for recipe in recipes)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


@pytest.mark.slow
def test_interpolated_weights_lie_between_start_and_trained(fit, usual, tiny_encoder_path) -> None:
    start = weights(SentenceTransformer(str(tiny_encoder_path), device="cpu"))
    part = weights(fit(short(interpolation=0.25)))
    for key, tensor in part.items():
        if tensor.is_floating_point():
            torch.testing.assert_close(tensor, 0.75 * start[key] + 0.25 * usual[key])
    assert not all(torch.equal(part[key], start[key]) for key in part)
    with pytest.raises(ValueError, match="interpolation"):
        DialogueCSE(interpolation=0)


@pytest.mark.slow
def test_snapshots_are_models_on_the_way(fit, tmp_path) -> None:
    last = fit(short(snapshots=3), "model")
    kept = sorted((tmp_path / "model.snapshots").iterdir())
    assert [folder.name for folder in kept] == ["step-00003", "step-00006"]
    texts = ["a card", "my hotel"]
    first, second = (SentenceTransformer(str(folder), device="cpu").encode(texts) for folder in kept)
    assert_same_vectors(second, last.encode(texts))
    assert abs(first - second).max() > 1e-3


def test_bfloat16_is_refused_where_it_is_slow(fit, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False, "avx2": True})
    with pytest.raises(ValueError, match=r"no bfloat16 instructions.*bf16=forced"):
        fit(short(bf16=True), "model")
    with pytest.raises(ValueError, match="no bfloat16 instructions"):
        fit(short(adaptation=Adaptation(bf16=True)), "model")
    assert not list(tmp_path.iterdir())
    assert runs_in_bf16(DialogueCSE(bf16="forced"))
    assert not runs_in_bf16(DialogueCSE(bf16=False))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    assert runs_in_bf16(DialogueCSE(bf16=True))


@pytest.mark.slow
def test_bfloat16_changes_little(fit, usual) -> None:
    full, half = usual, weights(fit(short(bf16="forced")))
    assert not short().bf16 and not all(torch.equal(full[key], half[key]) for key in full)
    # Six steps of at most 1e-3 move no weight further apart than this; most of them by much less.
    distance = torch.cat([(full[key] - half[key]).abs().flatten() for key in full if full[key].is_floating_point()])
    assert distance.mean() < 1e-4


@pytest.mark.slow
def test_bfloat16_training_on_processors_unfuses_attention(fit, tiny_encoder, tmp_path) -> None:
    fused = attention_of(tiny_encoder.transformers_model)
    seen = []

    class Recipe(DialogueCSE):
        def inputs(self, encoder, conversations):
            seen.append(attention_of(encoder.transformers_model))
            return super().inputs(encoder, conversations)

    for bf16 in (False, "forced"):
        fit(Recipe(**{**SHORT, "max_steps": 1}, bf16=bf16), f"in {bf16}", encoder=tiny_encoder)
    assert seen == [fused, "eager"] and fused != "eager"
    assert attention_of(tiny_encoder.transformers_model) == fused
    assert "eager" not in "".join(path.read_text() for path in (tmp_path / "in forced").rglob("*config*.json"))


def test_attention_dropout_is_off_inside_the_block_only(tiny_encoder) -> None:
    attention = [m for m in tiny_encoder.modules() if type(m).__name__ == "BertSelfAttention"]
    for module in attention:
        module.dropout.p = 0.1
    inside = {id(module.dropout) for module in attention}
    others = [m for m in tiny_encoder.modules() if isinstance(m, torch.nn.Dropout) and id(m) not in inside]
    for module in others:
        module.p = 0.3
    with no_attention_dropout(tiny_encoder):
        assert attention and all(module.dropout.p == 0 for module in attention)
        assert others and all(module.p == 0.3 for module in others)
    assert all(module.dropout.p == 0.1 for module in attention)


def test_an_existing_model_is_not_overwritten_without_force(fit, tmp_path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "precious.txt").write_text("mine")
    recipe = short(max_steps=1)
    for force in (False, True):
        with pytest.raises(FileExistsError, match="holds something other than a model"):
            fit(recipe, "model", force=force)
    assert (tmp_path / "model" / "precious.txt").read_text() == "mine"
    fit(recipe, "other")
    with pytest.raises(FileExistsError, match="--force"):
        fit(recipe, "other")
    fit(dataclasses.replace(recipe, seed=1), "other", force=True)
    assert json.loads((tmp_path / "other" / "training.json").read_text())["recipe"]["seed"] == 1


def test_foreign_folders_are_no_runs(fit, tmp_path) -> None:
    (tmp_path / "model.run").mkdir()
    (tmp_path / "model.run" / "precious.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"model\.run exists already"):
        fit(short(), "model")
    assert (tmp_path / "model.run" / "precious.txt").read_text() == "mine"


def test_early_failures_leave_no_run(fit, tmp_path) -> None:
    with pytest.raises(ValueError, match="max_length must leave room"):
        fit(short(max_length=1), "model")
    assert list(tmp_path.iterdir()) == []


def test_training_that_diverges_is_an_error(fit, tmp_path) -> None:
    with pytest.raises(ValueError, match="training has diverged"):
        fit(short(learning_rate=1e30), "model")
    assert not (tmp_path / "model").exists()


def test_an_unfinished_run_is_neither_lost_nor_mixed_up(fit, corpus, tmp_path, monkeypatch) -> None:
    recipe = short()
    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        stop_after(patch, 4, power_cut)
        with pytest.raises(RuntimeError):
            fit(recipe, "model")
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(FileExistsError, match=r"unfinished run.*--resume"):
        fit(recipe, "model")
    with pytest.raises(ValueError, match=r"other settings.*recipe"):
        fit(short(learning_rate=1e-4), "model", resume=True)
    renamed = [
        {**row, "messages": [{**m, "content": m["content"].swapcase()} for m in row["messages"]]} for row in corpus
    ]
    for other in (corpus.select(range(20)), renamed):  # fewer, and the same with other words
        with pytest.raises(ValueError, match=r"other settings.*conversations"):
            fit(recipe, "model", data=other, resume=True)
    assert list((tmp_path / "model.run" / "training").glob("checkpoint-*"))


@pytest.mark.slow
def test_earlier_snapshots_are_not_mixed_with_new_ones(fit, tmp_path) -> None:
    fit(short(max_steps=2, snapshots=1), "model")
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    again = short(max_steps=2, snapshots=2)
    with pytest.raises(FileExistsError, match=r"model\.snapshots"):
        fit(again, "model")
    fit(again, "model", force=True)
    assert [path.name for path in (tmp_path / "model.snapshots").iterdir()] == ["step-00002"]


def test_encoders_without_a_stack_of_layers_train_unfrozen(fit, tmp_path) -> None:
    shape = {"vocab_size": 60, "embedding_size": 16, "hidden_size": 16, "intermediate_size": 16}
    AlbertModel(AlbertConfig(**shape, num_hidden_layers=2, num_attention_heads=2)).save_pretrained(tmp_path / "albert")
    words = ["<pad>", "<unk>", "[CLS]", "[SEP]", *string.ascii_lowercase]
    level = Tokenizer(models.WordLevel({word: row for row, word in enumerate(words)}, unk_token="<unk>"))
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=level, **special).save_pretrained(tmp_path / "albert")
    with pytest.raises(ValueError, match="no stack of transformer layers"):
        fit(short(), encoder=tmp_path / "albert")
    fit(short(frozen_layers=0), encoder=tmp_path / "albert")


def test_too_few_conversations_are_an_error(fit, corpus) -> None:
    with pytest.raises(ValueError, match="at least 2 conversations of 2 turns or more, got 1"):
        fit("dialogue-cse", data=corpus.select([0]))


def test_another_pooling_becomes_the_mean(fit, tiny_encoder_path) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    encoder[1] = Pooling(32, "cls")
    trained = fit(short(max_steps=1), encoder=encoder)
    assert (trained[1].pooling_mode, encoder[1].pooling_mode) == ("mean", "cls")


FIGURE = {
    **{"before": 40.0, "before_interval": [38.0, 42.0], "after": 44.04, "after_interval": [42.0, 46.0]},
    **{"difference": 4.04, "difference_interval": [2.0, 6.0]},
}
REPORT = TrainingReport({"held_out": {"conversations": 1100, "figures": {"stability": FIGURE}}})


def test_reports_show_before_and_after_as_tables() -> None:
    assert REPORT.before_after == {"stability": FIGURE}
    for shown, end in ((repr(REPORT), " |"), (REPORT._repr_html_(), "</td></tr></table>")):
        assert "On 1,100 conversations held out" in shown and "44.0 (42.0 – 46.0)" in shown
        assert shown.endswith(f"4.0 (2.0 – 6.0){end}")


def test_reports_without_figures_say_so() -> None:
    report = TrainingReport({"steps": 3})
    assert (
        report.before_after == {} and "Nothing was held out" in repr(report) and "<table>" not in report._repr_html_()
    )
