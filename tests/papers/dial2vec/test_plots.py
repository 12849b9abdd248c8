import numpy as np
import pytest
import torch

from closeness import rounding
from turnlens.encoders.rendering import make_conversational
from turnlens.encoders.transformer import transformer_of
from turnlens.papers.dial2vec.plots import plot_alignment_uniformity, plot_interactions, token_interactions
from turnlens.papers.dial2vec.turn_tables import add_turn_tables

TALK = [
    {"role": "ben", "content": "a card"},
    {"role": "anna", "content": "pizza"},
    {"role": "ben", "content": "thanks"},
    {"role": "anna", "content": "my flight"},
]


@pytest.mark.parametrize("how", [{}, {"dot_products": True}])
def test_interactions_are_cosines_or_products_of_words_within_the_window(tiny_encoder, how) -> None:
    make_conversational(tiny_encoder)
    matches, ben, anna = token_interactions(tiny_encoder, TALK, window=1, **how)
    assert (ben, anna) == (["a", "card", "thanks"], ["pizza", "my", "flight"])
    assert not matches[:2, 1:].any() and matches[:, 0].all() and matches[2].all()
    ids = tiny_encoder.tokenizer(
        "[CLS] a card [SEP] pizza [SEP] thanks [SEP] my flight [SEP]", return_tensors="pt", add_special_tokens=False
    )
    with torch.no_grad():
        tokens = tiny_encoder(dict(ids))["token_embeddings"][0]
    lengths = float(tokens[2].norm() * tokens[4].norm())
    expected = (tokens[2] @ tokens[4]).item() / (1 if how else lengths)
    np.testing.assert_allclose(matches[1, 0], expected, atol=rounding(lengths if how else 1))


def test_interactions_are_those_of_the_turn_tables(tiny_encoder) -> None:
    before, *_ = token_interactions(tiny_encoder, TALK)
    add_turn_tables(tiny_encoder)
    with torch.no_grad():
        transformer_of(tiny_encoder).turn_tables.turn.weight.normal_(generator=torch.Generator().manual_seed(0))
    assert not np.allclose(before, token_interactions(tiny_encoder, TALK)[0], atol=1e-3)


@pytest.mark.slow
def test_pictures_are_written_as_png(tiny_encoder, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    plot_interactions(tiny_encoder, TALK, tmp_path / "talk.png")
    plot_interactions(tiny_encoder, TALK, tmp_path / "inner.png", dot_products=True)
    plot_alignment_uniformity({"start": (-0.1, -1.0), "end": (-0.2, -2.0)}, tmp_path / "moves.png")
    for name in ("talk.png", "moves.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_characters_that_the_font_lacks_are_one_warning(tiny_encoder, tmp_path, caplog, recwarn) -> None:
    pytest.importorskip("matplotlib")
    talk = [{**message, "role": message["role"] + " 🤖你好"} for message in TALK]
    plot_interactions(tiny_encoder, talk, tmp_path / "talk.png")
    assert [record.getMessage() for record in caplog.records] == [
        "the plot's font lacks some characters: they are drawn as boxes"
    ]
    assert not [warning for warning in recwarn if "font" in str(warning.message)]


def test_a_monologue_has_no_interactions(tiny_encoder) -> None:
    with pytest.raises(ValueError, match="one speaker only"):
        token_interactions(tiny_encoder, TALK[:1])
    with pytest.raises(ValueError, match="no encoders"):
        plot_alignment_uniformity({}, "nowhere.png")
