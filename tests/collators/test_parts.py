from __future__ import annotations

import pytest
import torch
from sentence_transformers import SentenceTransformer

from turnwise.collators import PartsCollator


def test_whole_conversations_and_a_part_of_each(tiny_encoder: SentenceTransformer, conversations) -> None:
    rows = list(conversations)
    batch = PartsCollator(tiny_encoder)(rows)
    for row, whole, part in zip(rows, batch["messages_whole_turn"], batch["messages_turn"]):
        count = len(row["messages"])
        assert int(whole.max()) + 1 == count
        assert round(0.3 * count) <= int(part.max()) + 1 <= max(1, round(0.6 * count))
    ids, wholes = batch["messages_input_ids"], batch["messages_whole_ids"]
    assert all(torch.isin(part, whole).all() for part, whole in zip(ids, wholes))
    assert sum(name.endswith("input_ids") for name in batch) == 1  # the trainer counts texts by this name


def test_parts_differ_between_epochs_only(tiny_encoder: SentenceTransformer, conversations) -> None:
    rows = list(conversations)
    collator, again, other = (PartsCollator(tiny_encoder, seed=seed) for seed in (0, 0, 1))

    def drawn(collator: PartsCollator) -> list[list[int]]:
        return collator(rows)["messages_input_ids"].tolist()

    assert drawn(collator) == drawn(again) == drawn(collator) != drawn(other)
    again.set_epoch(1)
    assert drawn(again) != drawn(collator)


@pytest.mark.parametrize("share", [(0, 0.5), (0.6, 0.3), (0.5, 1.5)])
def test_shares_out_of_range(tiny_encoder: SentenceTransformer, share) -> None:
    with pytest.raises(ValueError, match="share must be"):
        PartsCollator(tiny_encoder, share)
