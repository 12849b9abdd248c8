import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from closeness import rounding
from turnlens.encoders.reply_model import ReplyModel, next_speaker

TURNS = ["hello", "what do you want", "i want a pizza"]


def test_a_plain_encoder_sums_cosines(tiny_encoder: SentenceTransformer) -> None:
    model = ReplyModel(tiny_encoder)
    running = model.start("user")
    for text in TURNS:
        running.add(text, "user")
    units = [vector / np.linalg.norm(vector) for vector in tiny_encoder.encode([*TURNS, "yes please"])]
    candidates = model.encode_candidates(["yes please"])
    np.testing.assert_allclose(running.score(candidates, "bi"), [sum(units[:3]) @ units[3]], atol=rounding(3))
    stored = model.encode_candidates(["yes please"], vectors=tiny_encoder.encode(["yes please"]))
    np.testing.assert_allclose(stored, candidates, atol=rounding())


def test_each_turn_is_encoded_once(tiny_encoder: SentenceTransformer, texts_read_by) -> None:
    seen = texts_read_by(tiny_encoder)
    running = ReplyModel(tiny_encoder).start()
    for text in TURNS:
        running.add(text, "user")
        running.query_of("bi")
        running.query_of("bi")
    assert seen == TURNS


def test_mistakes_are_told(tiny_encoder: SentenceTransformer) -> None:
    running = ReplyModel(tiny_encoder).start("user")
    with pytest.raises(ValueError, match="no turn yet"):
        running.query_of()
    running.add("hello", "user")
    with pytest.raises(ValueError, match="turn 1: expected a text, got None"):
        running.add(None, "user")  # type: ignore[arg-type]
    for mode in ("average", "max", "composed"):
        with pytest.raises(ValueError, match="is not one of this model's, which are bi, joined"):
            running.score(np.ones((1, 32), np.float32), mode)


@pytest.mark.parametrize(("speakers", "following"), [("ab", "a"), ("abb", "a"), ("abc", "b"), ("a", None), ("", None)])
def test_who_speaks_next(speakers: str, following: str | None) -> None:
    assert next_speaker([{"role": speaker, "content": "…"} for speaker in speakers]) == following
