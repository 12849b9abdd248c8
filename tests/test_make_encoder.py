import gzip
import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import turnlens
from turnlens.encoders.reply_scores import HEAD_FILE
from turnlens.encoders.weight_check import file_checksum

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import make_encoder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the data sets, all of them the sample corpus."""
    paths = {path for source in make_encoder.SOURCES for path in source.paths}
    for number, name in enumerate(sorted({*paths, *(test.path for test in make_encoder.TESTS)} - {"sample"})):
        path = tmp_path / "data" / f"{name}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as lines:
            for row in turnlens.sample_conversations(30, seed=number):
                label = make_encoder.label_of(name)
                messages = [{**message, "act": message["intent"]} for message in row["messages"]]
                lines.write(
                    json.dumps({**row, "messages": messages, **({label: row["domain"]} if label else {})}) + "\n"
                )
    return tmp_path / "data"


@pytest.mark.slow
def test_an_encoder_is_made_once_of_any_base_with_its_card(
    data: Path, tmp_path: Path, tiny_encoder_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "work" / "made"
    options = ["--base", tiny_encoder_path, "--data", data, "--work", tmp_path / "work", "--steps", "4"]
    monkeypatch.setattr(sys, "argv", ["make_encoder", *map(str, options)])
    chats, sample = (turnlens.sample_conversations(30, seed=seed) for seed in (50, 51))
    monkeypatch.setattr(make_encoder, "chitchat", lambda: chats)
    monkeypatch.setattr(turnlens, "sample_conversations", lambda count: sample)
    monkeypatch.setattr(make_encoder, "QUERIES", 5)
    monkeypatch.setattr(make_encoder, "CONVERSATIONS", 10)
    monkeypatch.setattr(make_encoder, "TEXTS_OF_A_LABEL", 2)  # these files are small
    make_encoder.main()

    for source in make_encoder.SOURCES:
        assert any(weight.any() for weight in load_file(tmp_path / "work" / f"{source.name}.safetensors").values())
    before = turnlens.load_encoder(tiny_encoder_path, device="cpu").encode(["i want to cancel my order"])
    encoder = turnlens.load_encoder(made, device="cpu")
    assert abs(encoder.encode(["i want to cancel my order"]) - before).max() > 0 and encoder.reply_head is not None
    assert {weight.dtype for weight in encoder.parameters()} == {torch.float32}
    assert {weight.dtype for weight in load_file(made / "model.safetensors").values()} == {torch.float16}
    card = (made / "README.md").read_text(encoding="utf-8").replace(str(tiny_encoder_path), "the base")
    assert f"`{file_checksum(made / 'model.safetensors')}`" in card and "| CLINC150 | CC BY 3.0 |" in card
    assert all(f"| {test.path} | {test.task} | " in card for test in make_encoder.TESTS)
    assert str(tmp_path) not in card

    monkeypatch.setattr(make_encoder, "learned", None)  # nothing is learned or measured again
    monkeypatch.setattr(turnlens, "train", None)
    monkeypatch.setattr(turnlens, "evaluate", None)
    before_again = (made / "README.md").read_text(encoding="utf-8")
    make_encoder.main()
    assert (made / "README.md").read_text(encoding="utf-8") == before_again


def test_a_pair_is_compared_with_texts_of_other_labels_only() -> None:
    vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    loss = make_encoder.supervised_contrast(vectors, torch.tensor([0, 0, 1]), temperature=0.5)
    same, others = torch.tensor(0.6 / 0.5).exp(), torch.tensor([0.0, 0.8 / 0.5]).exp()
    torch.testing.assert_close(loss, -(same / (same + others)).log().mean())


@pytest.mark.slow
def test_the_card_describes_the_encoder_that_ships() -> None:
    card = (make_encoder.SHIPPED / "README.md").read_text(encoding="utf-8")
    assert all(f"`{file_checksum(make_encoder.SHIPPED / file)}`" in card for file in ("model.safetensors", HEAD_FILE))
    assert sum(path.stat().st_size for path in make_encoder.SHIPPED.iterdir() if path.is_file()) < 48_000_000
    (line,) = (line for line in card.splitlines() if line.startswith("| sample |"))
    encoder = turnlens.load_encoder(device="cpu")
    shown = make_encoder.figure(encoder, Path(), make_encoder.Test("sample", make_encoder.INTENTS))
    described = line.split("|")[-2].split()[0]
    assert float(shown.split()[0]) == pytest.approx(float(described), abs=0.3)


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"clinc150/train\.jsonl\.gz: no such file"):
        make_encoder.read(tmp_path, "clinc150/train")
