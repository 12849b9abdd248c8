from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens._utils.vectors import unit_vectors


def test_the_mean_of_the_conversations(tiny_encoder: SentenceTransformer, conversations, tmp_path: Path) -> None:
    talks = conversations["messages"][:]
    expected = {
        pooling: unit_vectors(tiny_encoder.encode_conversations(talks, pooling=pooling)).mean(0)
        for pooling in ("mean", "messages")
    }
    centred = turnlens.centre(conversations, encoder=tiny_encoder, output=tmp_path / "model")
    again = turnlens.load_encoder(tmp_path / "model")
    for encoder in (centred, again, turnlens.centre(conversations, encoder=again)):  # fitted anew, it is the same
        for pooling, mean in expected.items():
            np.testing.assert_allclose(encoder.centre[pooling].mean, mean, atol=1e-6)
    assert "centre.safetensors" in (tmp_path / "model" / "README.md").read_text()


def test_no_label_is_read(tiny_encoder: SentenceTransformer, conversations) -> None:
    labelled = conversations.add_column("domain", ["x"] * len(conversations))
    before = turnlens.centre(conversations, encoder=tiny_encoder).centre
    after = turnlens.centre(labelled, encoder=tiny_encoder).centre
    assert all((before[pooling].stretch == after[pooling].stretch).all() for pooling in before)


def test_training_takes_it_off(tiny_encoder: SentenceTransformer, conversations, tmp_path: Path) -> None:
    turnlens.centre(conversations, encoder=tiny_encoder, output=tmp_path / "centred")
    recipe = turnlens.papers.DialogueCSE(max_steps=1, batch_size=3)
    trained = turnlens.train(conversations, method=recipe, encoder=tmp_path / "centred", output=tmp_path / "model")
    assert trained.centre == turnlens.load_encoder(tmp_path / "model").centre == {}


def test_conversations_that_say_nothing(tiny_encoder: SentenceTransformer) -> None:
    empty = Dataset.from_list([{"id": "a", "messages": [{"role": "user", "content": "  "}]}])
    with pytest.raises(ValueError, match="none of the conversations has any text"):
        turnlens.centre(empty, encoder=tiny_encoder)


def test_without_stretch_it_only_centres(tiny_encoder: SentenceTransformer, conversations) -> None:
    centre = turnlens.centre(conversations, encoder=tiny_encoder, stretch=0).centre
    assert all((one.stretch == np.eye(32)).all() for one in centre.values())
    with pytest.raises(ValueError, match="stretch must be from 0"):
        turnlens.centre(conversations, encoder=tiny_encoder, stretch=-1)


def test_an_output_that_exists(tiny_encoder: SentenceTransformer, conversations, tmp_path: Path) -> None:
    turnlens.centre(conversations, encoder=tiny_encoder, output=tmp_path / "model")
    with pytest.raises(FileExistsError):
        turnlens.centre(conversations, encoder=tiny_encoder, output=tmp_path / "model")
    turnlens.centre(conversations, encoder=tiny_encoder, output=tmp_path / "model", force=True)
