import logging

import pytest
import torch

from turnlens.training.losses import in_batch
from turnlens.training.losses.in_batch import Turns, among, cross_entropy

CONVERSATION = torch.tensor([0, 0, 1, 2, 2, 2])
TEXTS = torch.arange(6)


def drawn(negatives: int) -> list[int]:
    turns = Turns.gather(CONVERSATION, TEXTS)
    mask = turns.negatives(torch.arange(6), negatives)
    assert not (mask & (CONVERSATION[:, None] == CONVERSATION)).any()
    return mask.sum(1).tolist()


def test_negatives_are_as_many_as_possible(caplog: pytest.LogCaptureFixture) -> None:
    in_batch._tell_of_fewer.cache_clear()
    with caplog.at_level(logging.WARNING, "turnlens"):
        assert drawn(3) == [3, 3, 3, 3, 3, 3]
        assert not caplog.records
        assert drawn(4) == [4, 4, 4, 3, 3, 3]  # turns of the longest conversation have only 3
        assert drawn(9) == [4, 4, 5, 3, 3, 3]
        assert drawn(9) == [4, 4, 5, 3, 3, 3]
    told = [record.getMessage() for record in caplog.records]  # each number once
    assert [message.split(": ")[0] for message in told] == [
        f"negatives={number}, but a response of a batch has only 3" for number in (4, 9)
    ]


def test_one_conversation_alone_teaches_nothing() -> None:
    turns = Turns.gather(torch.zeros(3, dtype=torch.long), torch.arange(3))
    logits = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    rows = torch.arange(3)
    loss = cross_entropy(among(logits, turns.candidates(rows, 9)), rows).mean()
    loss.backward()
    assert loss.item() == 0
    assert not logits.grad.any()
