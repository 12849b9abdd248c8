from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise.data.messages import plain_messages

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import make_checkpoint


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the data sets, all of them the sample corpus; one has no labels, as Taskmaster-4."""
    for number, name in enumerate(("sgd/train", "taskmaster4/train", *make_checkpoint.TESTS)):
        path = tmp_path / "data" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        corpus = turnwise.sample_conversations(24, seed=number)
        if name == "taskmaster4/train":
            rows = [{"id": row["id"], "messages": plain_messages(row["messages"], row["id"])} for row in corpus]
            corpus = Dataset.from_list(rows)
        corpus.to_json(str(path))
    return tmp_path / "data"


def test_a_release_has_its_figures_and_its_licence_and_is_made_once(
    data: Path, tmp_path: Path, tiny_encoder_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "release"
    options = ["--data", data, "--output", output, "--encoder", tiny_encoder_path, "--steps", "1"]
    monkeypatch.setattr(sys, "argv", ["make_checkpoint", *map(str, options)])
    make_checkpoint.main()

    (release,) = (path for path in output.iterdir() if path.is_dir() and path.name != "work")
    stock = SentenceTransformer(str(release), device="cpu")
    assert stock.encode(["hello"]).shape == (1, stock.get_embedding_dimension())
    assert turnwise.load_encoder(release).reply_head is not None
    card = (release / "README.md").read_text(encoding="utf-8")
    assert "license: cc-by-sa-4.0" in card and "Taskmaster-4 (CC BY 4.0)" in card
    assert str(tmp_path) not in card + (release / "training.json").read_text(encoding="utf-8")
    usual = (output / "work" / "centred" / "README.md").read_text(encoding="utf-8")
    assert "Its reply head" in usual and "prompts" not in usual
    found = json.loads((output / "work" / "trained.json").read_text(encoding="utf-8"))
    rank = found["dailydialog/dev"]["next_message"]["composed"]["average_rank"]
    assert "| dailydialog/dev | next_message | rank " in card and f"| rank {rank:.2f} [" in card
    with zipfile.ZipFile(f"{release}.zip") as packed:
        assert f"{release.name}/model.safetensors" in packed.namelist()

    monkeypatch.setattr(turnwise, "train", None)  # nothing is trained or measured again
    monkeypatch.setattr(turnwise, "evaluate", None)
    make_checkpoint.main()


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"sgd/train\.jsonl\(\.gz\): no such file"):
        make_checkpoint.conversations(tmp_path)
