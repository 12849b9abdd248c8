"""Training as people run it on several processes: torchrun, here two processes over gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file

_WORKER = Path(__file__).parent / "torchrun_worker.py"
_PROCESSES, _BATCH, _ACCUMULATED = 2, 2, 2
_IN_STEP = _BATCH * _ACCUMULATED  # conversations of each process


@pytest.fixture
def chats(tmp_path: Path) -> Path:
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
    Dataset.from_list(rows).to_json(str(tmp_path / "chats.jsonl"))
    return tmp_path / "chats.jsonl"


def torchrun(chats: Path, encoder: Path, output: Path, fatal: int = 0, *further: str) -> int:
    """Train for two epochs of three steps, with a checkpoint at every second; the exit code."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={_PROCESSES}"]
    command += [str(_WORKER), f"{output}.log", str(fatal), "train", str(chats), "--output", str(output)]
    settings = {
        "batch_size": _BATCH,
        "gradient_accumulation_steps": _ACCUMULATED,
        "checkpoint_steps": 2,
        "max_steps": 6,
        "max_length": 16,
    }
    command += ["--encoder", str(encoder), *further]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
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


def test_a_killed_process_costs_the_steps_since_the_checkpoint(chats, tiny_encoder_path, tmp_path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert torchrun(chats, tiny_encoder_path, whole) == 0
    given = [numbers_given(whole, rank) for rank in range(_PROCESSES)]
    for epoch in range(2):
        part = slice(3 * _IN_STEP * epoch, 3 * _IN_STEP * (epoch + 1))
        # Each conversation once in an epoch, by one process or the other.
        assert sorted([*given[0][part], *given[1][part]]) == list(range(24))
    # The second process dies while it makes a batch of step 5, whose predecessor's checkpoint is complete.
    recompute = ("--set", "recompute=true")  # which changes no weight, with several processes either
    assert torchrun(chats, tiny_encoder_path, cut, 4 * _ACCUMULATED + 2, *recompute) != 0
    assert not (cut / "modules.json").exists()
    for rank in range(_PROCESSES):
        log_of(cut, rank).unlink()
    assert torchrun(chats, tiny_encoder_path, cut, 0, "--resume", *recompute) == 0
    # Nothing that was learned from before the checkpoint is given again, and nothing after it is left out.
    for rank in range(_PROCESSES):
        assert numbers_given(cut, rank) == given[rank][4 * _IN_STEP :]
    expected, found = (load_file(folder / "model.safetensors") for folder in (whole, cut))
    assert all(torch.equal(expected[name], found[name]) for name in expected)
