"""Training as people run it on several processes: torchrun and Ray Train, here two processes over gloo."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from typer.testing import CliRunner

from turnlens.cli.main import app
from turnlens.training.collators import TextCollator

_WORKER = Path(__file__).parent / "torchrun_worker.py"
_PROCESSES, _BATCH, _ACCUMULATED = 2, 2, 2
_IN_STEP = _BATCH * _ACCUMULATED  # conversations of each process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("several")


@pytest.fixture(scope="module")
def chats(folder: Path) -> Path:
    """Twenty-four conversations, three steps, that differ in their first message."""
    turns = ["my card is lost", "i cancel the card", "thanks"]
    rows = [
        {
            "id": str(number),
            "messages": [
                {"role": ("user", "agent")[turn % 2], "content": text}
                for turn, text in enumerate([f"order {number}", *turns])
            ],
        }
        for number in range(24)
    ]
    Dataset.from_list(rows).to_json(str(folder / "chats.jsonl"))
    return folder / "chats.jsonl"


@pytest.fixture(scope="module")
def whole(chats: Path, tiny_encoder_path: Path, folder: Path) -> Path:
    """The model that torchrun makes without any interruption."""
    assert torchrun(chats, tiny_encoder_path, folder / "whole") == 0
    return folder / "whole"


def arguments(chats: Path, encoder: Path, output: Path) -> list[str]:
    """Of turnlens: train for two epochs of three steps, with a checkpoint at every second."""
    settings = {
        "batch_size": _BATCH,
        "gradient_accumulation_steps": _ACCUMULATED,
        "checkpoint_steps": 2,
        "max_steps": 6,
        "max_length": 16,
        "aggregation": "attention",  # whose weights are the loss's own
    }
    assignments = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    method = ["--method", "dialogue-cse", *assignments]
    return ["train", str(chats), "--encoder", str(encoder), "--output", str(output), *method]


def torchrun(chats: Path, encoder: Path, output: Path, fatal: int = 0, *further: str) -> int:
    """Train in two processes; the exit code."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={_PROCESSES}"]
    command += [str(_WORKER), f"{output}.log", str(fatal), *arguments(chats, encoder, output), *further]
    environment = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["HF_DATASETS_CACHE"] = str(chats.parent / "cache")
    run = subprocess.run(command, check=False, env={**os.environ, **environment}, capture_output=True, timeout=600)
    return run.returncode


def numbers_given(output: Path, rank: int) -> list[int]:
    """The conversations that a process was given, in order."""
    text = log_of(output, rank).read_text(encoding="utf-8")
    return [int(first.split()[1]) for line in text.splitlines() for first in line.split("\t")]


def log_of(output: Path, rank: int) -> Path:
    return Path(f"{output}.log-{rank}")


def assert_same_weights(expected: Path, found: Path) -> None:
    before, after = (load_file(folder / "model.safetensors") for folder in (expected, found))
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_two_processes_train_the_encoder(tiny_encoder_path, whole) -> None:
    before, after = (load_file(folder / "model.safetensors") for folder in (tiny_encoder_path, whole))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert not Path(f"{whole}.run").exists()


@pytest.mark.slow
def test_a_killed_process_costs_the_steps_since_the_checkpoint(chats, tiny_encoder_path, whole, tmp_path) -> None:
    cut = tmp_path / "cut"
    given = [numbers_given(whole, rank) for rank in range(_PROCESSES)]
    for epoch in range(2):
        part = slice(3 * _IN_STEP * epoch, 3 * _IN_STEP * (epoch + 1))
        # Each conversation once in an epoch, by one process or the other.
        assert sorted([*given[0][part], *given[1][part]]) == list(range(24))
    # The second process dies while it makes a batch of step 5, whose predecessor's checkpoint is complete.
    recompute = ("--set", "recompute=true")  # which changes no weight, with several processes either
    assert torchrun(chats, tiny_encoder_path, cut, 4 * _ACCUMULATED + 2, *recompute) != 0
    assert not (cut / "modules.json").exists()
    alone = CliRunner().invoke(app, [*arguments(chats, tiny_encoder_path, cut), "--resume", *recompute])
    assert alone.exit_code == 1 and "processes: was 2, is 1" in alone.output
    for rank in range(_PROCESSES):
        log_of(cut, rank).unlink()
    assert torchrun(chats, tiny_encoder_path, cut, 0, "--resume", *recompute) == 0
    # Nothing that was learned from before the checkpoint is given again, and nothing after it is left out.
    for rank in range(_PROCESSES):
        assert numbers_given(cut, rank) == given[rank][4 * _IN_STEP :]
    assert_same_weights(whole, cut)


@pytest.mark.slow
def test_ray_with_a_killed_worker_equals_torchrun(
    chats, tiny_encoder_path, whole, tmp_path, monkeypatch, only_cluster
) -> None:
    pytest.importorskip("ray.train.torch", reason="needs the extra ray")
    from turnlens.scale import ray_training

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(ray_training, "_in_worker", killing_once(tmp_path / "killed"))
    command = [
        *arguments(chats, tiny_encoder_path, tmp_path / "ray"),
        "--engine",
        "ray",
        "--set",
        f"workers={_PROCESSES}",
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "killed").exists() and "All are started again" in result.output
    assert "DialogueCSE: step 1/6, loss" in result.output
    assert_same_weights(whole, tmp_path / "ray")


def killing_once(sign: Path) -> Callable[[dict[str, Any]], None]:
    """Workers of which the second dies while it makes a batch of step 5, the first time that it gets there."""

    def killed(config: dict[str, Any]) -> None:
        from turnlens.scale.ray_training import _in_worker

        batches, original = 0, TextCollator.__call__

        def collate(self: TextCollator, rows: list[dict[str, Any]]) -> Any:
            nonlocal batches
            batches += 1
            if os.environ["RANK"] == "1" and batches == 4 * _ACCUMULATED + 2 and not sign.exists():
                sign.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return original(self, rows)

        TextCollator.__call__ = collate  # type: ignore[method-assign]
        _in_worker(config)

    return killed
