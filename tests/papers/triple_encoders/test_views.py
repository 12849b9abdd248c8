import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import BertTokenizerFast

from closeness import assert_same_vectors
from turnlens.papers.triple_encoders.views import (
    TOKENS,
    Views,
    add_views,
    encode_view,
    token_rows,
    view_prompt,
    views_of,
)

TEXTS = ["i want a pizza", "hello", "to paris", "hello"]


def words(encoder: SentenceTransformer) -> torch.Tensor:
    return encoder.transformers_model.get_input_embeddings().weight


@pytest.mark.parametrize(
    ("views", "speakers", "prompts"),
    [
        ("ccl", True, {"before_same": "[BEFORE] [E] ", "before_other": "[BEFORE] [O] "}),
        ("ccl", False, {"before": "[BEFORE] "}),
        (
            "c3l",
            True,
            {
                "before1_same": "[BEFORE] [B1] [E] ",
                "before1_other": "[BEFORE] [B1] [O] ",
                "before2_same": "[BEFORE] [B2] [E] ",
                "before2_other": "[BEFORE] [B2] [O] ",
            },
        ),
        ("c3l", False, {"before1": "[BEFORE] [B1] ", "before2": "[BEFORE] [B2] "}),
    ],
)
def test_prompts_say_what_a_model_can_do(tiny_encoder, views, speakers, prompts) -> None:
    others = dict(tiny_encoder.prompts)
    add_views(tiny_encoder, views, speakers)
    assert tiny_encoder.prompts == {**others, **prompts, "after": "[AFTER] "}
    assert views_of(tiny_encoder) == Views(triple=views == "c3l", speakers=speakers)


def test_an_encoder_without_views_is_plain(tiny_encoder) -> None:
    assert views_of(tiny_encoder) is None
    assert_same_vectors(encode_view(tiny_encoder, TEXTS, "after"), tiny_encoder.encode(TEXTS))
    with pytest.raises(ValueError, match="no view 'after'"):
        view_prompt(tiny_encoder, "after", same=True)


def test_names_of_views(tiny_encoder) -> None:
    add_views(tiny_encoder, "c3l")
    assert view_prompt(tiny_encoder, "before", same=False) == "before2_other"
    assert view_prompt(tiny_encoder, "before1", same=True) == "before1_same"
    assert view_prompt(tiny_encoder, "after", same=False) == "after"
    add_views(tiny_encoder, "ccl", speakers=False)
    assert view_prompt(tiny_encoder, "before", same=False) == "before"
    with pytest.raises(ValueError, match="no view 'before1', only the prompts"):
        view_prompt(tiny_encoder, "before1", same=True)


def test_every_token_is_one_piece_with_a_row_of_its_own(tiny_encoder) -> None:
    add_views(tiny_encoder, "c3l")
    ids = tiny_encoder.tokenizer("[BEFORE] [AFTER] [B1] [B2] [E] [O] hello")["input_ids"]
    assert ids[1:7] == token_rows(tiny_encoder)
    assert tiny_encoder.tokenizer("hello")["input_ids"] == [ids[0], *ids[7:]]
    assert max(ids) < len(words(tiny_encoder))
    assert len({tuple(row.tolist()) for row in words(tiny_encoder)[ids[1:7]]}) == len(TOKENS)


def test_c3l_after_ccl_keeps_the_rows(tiny_encoder, with_views) -> None:
    with_views(tiny_encoder, "ccl")
    before = words(tiny_encoder).detach().clone()
    add_views(tiny_encoder, "c3l")
    assert torch.equal(words(tiny_encoder), before)
    assert "before_same" not in tiny_encoder.prompts


def test_new_rows_start_like_a_full_stop_or_else_the_separator(tiny_encoder) -> None:
    separator = words(tiny_encoder)[tiny_encoder.tokenizer.sep_token_id].detach().clone()
    add_views(tiny_encoder, "ccl")  # the tiny vocabulary has no full stop
    for row in words(tiny_encoder)[token_rows(tiny_encoder)]:
        assert torch.cosine_similarity(row, separator, dim=0) > 0.98


def test_tokens_that_would_take_the_ids_of_others_are_refused(tiny_encoder, tmp_path) -> None:
    pieces = [*tiny_encoder.tokenizer.get_vocab(), "twice", "twice", "last"]  # the id of the first "twice" is a gap
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    tiny_encoder[0].processor = BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"))
    tiny_encoder.transformers_model.resize_token_embeddings(len(pieces))
    with pytest.raises(ValueError, match="ids have gaps"):
        add_views(tiny_encoder, "ccl")


def test_each_distinct_text_is_encoded_once(tiny_encoder, monkeypatch) -> None:
    add_views(tiny_encoder, "ccl")
    seen = []
    preprocess = tiny_encoder.preprocess
    monkeypatch.setattr(tiny_encoder, "preprocess", lambda texts, **how: seen.extend(texts) or preprocess(texts, **how))
    vectors = encode_view(tiny_encoder, TEXTS, "before", same=False)
    assert sorted(seen) == sorted(set(TEXTS))
    assert vectors.shape == (4, 32)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[1], vectors[3])


def test_the_prefix_is_pooled_too(tiny_encoder) -> None:
    tiny_encoder[1] = Pooling(32, "mean", include_prompt=False)
    add_views(tiny_encoder, "ccl")
    features = tiny_encoder.tokenizer("[AFTER] hello", return_tensors="pt")
    expected = tiny_encoder(dict(features))["token_embeddings"][0].mean(0)
    assert_same_vectors(encode_view(tiny_encoder, ["hello"], "after")[0], expected)


def test_unknown_views_are_refused(tiny_encoder) -> None:
    with pytest.raises(ValueError, match="'ccl' or 'c3l', got 'both'"):
        add_views(tiny_encoder, "both")
