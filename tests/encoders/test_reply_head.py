from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

import turnlens
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.reply_scores import HEAD_FILE


def test_untouched_it_sums_cosines_that_fade() -> None:
    vectors = normalize(torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)), dim=2)
    present = torch.tensor([[True, True, True], [True, False, False]])
    head = ReplyHead(4, turns=5)
    found = head.queries(vectors, torch.zeros(2, 3, dtype=torch.bool), present)
    expected = torch.stack([vectors[0, 0] + vectors[0, 1] / 2**0.5 + vectors[0, 2] / 3**0.5, vectors[1, 0]])
    torch.testing.assert_close(found, normalize(expected, dim=1))
    torch.testing.assert_close(head.candidates(vectors[0]), vectors[0])


def test_a_head_for_other_vectors(tiny_encoder: SentenceTransformer) -> None:
    with pytest.raises(ValueError, match="vectors of 8 numbers, this encoder gives 32"):
        tiny_encoder.reply_head = ReplyHead(8)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0)])
def test_sizes_out_of_range(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="must be 1 or more"):
        ReplyHead(*sizes)


def test_a_damaged_file(tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    tiny_encoder.save_pretrained(str(tmp_path), create_model_card=False)
    save_file({"recency": torch.zeros(2, 3), "context": torch.zeros(2, 4, 4)}, tmp_path / HEAD_FILE)
    with pytest.raises(ValueError, match="expected the tensors recency, context and candidate"):
        turnlens.load_encoder(tmp_path)


def test_an_encoder_that_learns_loses_its_head(tiny_encoder: SentenceTransformer) -> None:
    tiny_encoder.reply_head = ReplyHead(32)
    turnlens.training.get_recipe("dialogue-cse").prepare(tiny_encoder)
    assert tiny_encoder.reply_head is None
