"""Training on a stream part by part: the recipe of docs/training.md, as it stands there."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import turnlens
from turnlens.training.collators import TextCollator

_PAGE = Path(__file__).parents[2] / "docs" / "training.md"


@pytest.fixture
def recipe(tmp_path: Path, tiny_encoder_path: Path) -> Callable[[Path], None]:
    """Runs the recipe on four local files in three parts, from the tiny encoder, into a folder."""
    conversations = turnlens.sample_conversations(44)
    for number in range(4):
        part = conversations.select(range(11 * number, 11 * (number + 1)))
        part.to_json(str(tmp_path / f"day-{number}.jsonl"))
    text = _PAGE.read_text(encoding="utf-8")
    (code,) = [block.partition("```")[0] for block in text.split("```python\n") if "streaming=True" in block]

    def run(models: Path) -> None:
        changes = {
            '"s3://logs/*.jsonl"': repr(str(tmp_path / "*.jsonl")),
            "newest = None": f"newest = {str(tiny_encoder_path)!r}",
            'f"models/': f'f"{models}/',
            "buffer_size=100_000": "buffer_size=20",
            ".batch(50_000)": ".batch(16)",
            'method="dialogue-cse"': 'method="dialogue-cse", settings={"batch_size": 4, "checkpoint_steps": 1}',
        }
        mine = code
        for found, wanted in changes.items():
            assert found in mine
            mine = mine.replace(found, wanted)
        exec(compile(mine, str(_PAGE), "exec"), {})

    return run


@pytest.mark.slow
def test_a_stream_resumes_in_its_part(recipe, tmp_path, monkeypatch) -> None:
    recipe(tmp_path / "whole")
    batches, original = 0, TextCollator.__call__

    def collate(self, rows):
        nonlocal batches
        batches += 1
        if batches == 7:  # of the second part, whose first steps have a checkpoint
            raise MemoryError
        return original(self, rows)

    monkeypatch.setattr(TextCollator, "__call__", collate)
    with pytest.raises(MemoryError):
        recipe(tmp_path / "cut")
    assert (tmp_path / "cut" / "part-1.run").is_dir()
    recipe(tmp_path / "cut")
    for part in range(3):
        whole, cut = (load_file(tmp_path / run / f"part-{part}" / "model.safetensors") for run in ("whole", "cut"))
        assert all(torch.equal(whole[name], cut[name]) for name in whole)
    assert batches < 2 * 11 and not (tmp_path / "cut" / "part-3").exists()
