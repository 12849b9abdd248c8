"""ConveRT from scratch: what it learns, what its network does with padding, order and distance."""

import numpy as np
import pytest
import torch
from datasets import Dataset

from turnlens.papers.baselines.convert import ConveRT, ConveRTSettings, Network, RelativeAttention

SMALL = ConveRTSettings(dim=32, attention_dim=8, hidden_dim=64, vocabulary=300, epochs=6, batch_size=16)
SAID = ["where is my card", "can i cancel the flight", "what does a pizza cost", "is the order on its way"]
ANSWERS = ["it is in the post", "yes you can cancel it", "it costs ten euros", "it will arrive today"]


@pytest.fixture(scope="module")
def talks() -> list[dict[str, object]]:
    turns = [("a", "hello"), ("b", "hello how can i help")]
    rows = [[*turns, ("a", SAID[number % 4]), ("b", ANSWERS[number % 4])] for number in range(40)]
    return [{"messages": [{"role": role, "content": text} for role, text in row]} for row in rows]


@pytest.mark.slow
def test_it_learns_which_reply_follows(talks) -> None:
    state = torch.get_rng_state()
    model = ConveRT(SMALL).fit(talks)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.losses[-1] < model.losses[0] - 0.2
    contexts = model.encode_contexts([["hello", "hello how can i help", text] for text in SAID])
    replies = model.encode_replies(ANSWERS)
    assert contexts.dtype == np.float32 and np.linalg.norm(contexts, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert (contexts @ replies.T).argmax(1).tolist() == [0, 1, 2, 3]
    assert model.encode_replies(["", "\u4f60"]).shape == (2, 32)  # no words, and unknown ones


@pytest.mark.slow
def test_the_same_conversations_give_the_same_network(talks) -> None:
    once, again = (ConveRT(SMALL).fit(rows).encode_replies(ANSWERS) for rows in (talks, Dataset.from_list(talks)))
    assert np.array_equal(once, again)


def test_padding_changes_nothing_and_order_does() -> None:
    torch.manual_seed(0)
    network = Network(SMALL, 50)
    ids = torch.tensor([[5, 6, 7], [7, 6, 5]])
    both = network(ids, "last")
    padded = network(torch.cat([ids, torch.zeros(2, 60, dtype=torch.long)], dim=1), "last")
    torch.testing.assert_close(padded, both)
    assert (both[0] - both[1]).abs().max() > 1e-3
    assert (network(ids, "reply") - both).abs().max() > 1e-3


def test_a_layer_tells_distances_apart_up_to_its_reach() -> None:
    torch.manual_seed(0)
    attention = RelativeAttention(8, 4, reach=3)
    row = torch.randn(1, 12, 8)
    row[0, 4:] = row[0, 4]  # tokens 4 to 11 differ in their places only
    mask = torch.ones(1, 12, dtype=torch.bool)
    out = attention(row, mask)
    torch.testing.assert_close(
        out[0, 0], attention(row[:, torch.tensor([0, 1, 2, 3, 5, 4, *range(6, 12)])], mask)[0, 0]
    )
    assert (out[0, 4] - out[0, 5]).abs().max() > 1e-4  # token 3 is one away, and two


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="has learned nothing yet"):
        ConveRT().encode_replies(["hello"])
    with pytest.raises(ValueError, match="at least 2 replies to learn from, got 0"):
        ConveRT().fit([{"messages": [{"role": "a", "content": "hello"}]}])
