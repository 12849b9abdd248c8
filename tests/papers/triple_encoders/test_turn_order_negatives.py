"""Random negatives of CCL and C3L: what they cost is bounded, and those of the corpus take the place of the batch's."""

import pytest
import torch

from turn_order_cases import cosine
from turnlens.papers.pieces import UtterancePool
from turnlens.papers.triple_encoders import turn_order
from turnlens.papers.triple_encoders.c3l import C3LLoss, C3LSettings
from turnlens.papers.triple_encoders.ccl import CCLLoss, CCLSettings
from turnlens.papers.triple_encoders.collator import CorpusNegatives, TurnOrderCollator
from turnlens.papers.triple_encoders.turn_order import Windows, draw, embed, negative_turns

LOSSES = {"ccl": (CCLLoss, CCLSettings), "c3l": (C3LLoss, C3LSettings)}


def batch(encoder, conversations, window: int = 4, negatives: int | None = None, directional: bool = False):
    drawn = CorpusNegatives(UtterancePool(conversations), negatives) if negatives else None
    vectors = TurnOrderCollator(encoder, window, directional=directional, negatives=drawn)(list(conversations))
    return {name.removeprefix("messages_"): value for name, value in vectors.items()}


@pytest.mark.parametrize("views", ["ccl", pytest.param("c3l", marks=pytest.mark.slow)])
def test_large_batches_take_a_random_part_that_is_right_on_average(
    tiny_encoder, with_views, conversations, monkeypatch, views
) -> None:
    with_views(tiny_encoder, views)
    loss, settings = LOSSES[views]
    features = batch(tiny_encoder, conversations, directional=views == "ccl")
    options = []

    def counted(allowed, negatives):
        options.append(allowed.numel())
        return draw(allowed, negatives)

    with torch.no_grad():
        embeddings, windows = embed(tiny_encoder, features), Windows.of(4, features)
        one = loss(tiny_encoder, settings(window=4, negatives="batch"))
        expected = one.compute_loss_from_embeddings(embeddings, windows)
        limit = len(windows.turns) * 3 * 10 * (3 if views == "c3l" else 1)  # ten turns
        monkeypatch.setattr(turn_order, "_MOST_OPTIONS", limit)
        monkeypatch.setattr(f"turnlens.papers.triple_encoders.{views}.draw", counted)
        torch.manual_seed(0)
        vectors = torch.stack([one.compute_loss_from_embeddings(embeddings, windows) for _ in range(400)])
    assert max(options) == limit and len(windows.rows) > 15
    assert vectors.std() > 0
    assert vectors.mean().item() == pytest.approx(expected.item(), rel=0.05)


def test_ordinary_batches_take_all_turns_and_no_randomness(tiny_encoder, with_views, conversations) -> None:
    with_views(tiny_encoder, "c3l")
    windows = Windows.of(4, batch(tiny_encoder, conversations))
    state = torch.get_rng_state()
    assert negative_turns(windows, per_turn=3).tolist() == list(range(len(windows.rows)))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("count", [1, 3])
def test_negatives_of_the_corpus_are_those_that_the_collator_drew(
    tiny_encoder, with_views, conversations, count
) -> None:
    with_views(tiny_encoder, "ccl")
    features = batch(tiny_encoder, conversations, negatives=count)
    with torch.no_grad():
        rows, windows = embed(tiny_encoder, features), Windows.of(4, features)
        loss = CCLLoss(tiny_encoder, CCLSettings(window=4, negatives=count, directional=False))
        vectors = loss.compute_loss_from_embeddings(rows, windows)
        total, weight = torch.tensor(0.0), 0.0
        for turns, places in zip(windows.turns, features["negatives"]):
            for distance, (turn, pairs) in enumerate(zip(turns[1:], places), start=1):
                other = int(windows.speaker[turns[0]] != windows.speaker[turn])
                before, after = rows[windows.rows[turns[0], other]], rows[windows.rows[turn, 2]]
                total += (cosine(before, after) - (4 - distance) / 4) ** 2
                total += torch.stack([cosine(*rows[pair]) ** 2 for pair in pairs]).mean()
                weight += 2
    torch.testing.assert_close(vectors, total / weight, rtol=1e-4, atol=1e-6)


def test_triples_of_the_corpus_weigh_as_much_as_those_of_the_batch(tiny_encoder, with_views, conversations) -> None:
    with_views(tiny_encoder, "c3l")
    features = batch(tiny_encoder, conversations, negatives=2)
    with torch.no_grad():
        rows, windows = embed(tiny_encoder, features), Windows.of(4, features)
        vectors = C3LLoss(tiny_encoder, C3LSettings(window=4, negatives=2)).compute_loss_from_embeddings(rows, windows)
        targets = torch.tensor([0.2, 0.6, 1.0])  # of the pairs 01, 02, 12
        total, weight = torch.tensor(0.0), 0.0
        for turns, places in zip(windows.turns, features["negatives"]):
            last, after = turns[-1], rows[windows.rows[turns[-1], 4]]
            column = (windows.speaker[turns] != windows.speaker[last]).long()
            for (i, j), target in zip([(0, 1), (0, 2), (1, 2)], targets):
                pair = [rows[windows.rows[turns[i], column[i]]], rows[windows.rows[turns[j], 2 + column[j]]]]
                total += (cosine(sum(pair) / 2, after) - target) ** 2
                weight += 1
            for pairs in places:
                squares = torch.stack([cosine(rows[pair].mean(0), after) ** 2 for pair in pairs])
                total += squares.sum() / 2
                weight += 3
    torch.testing.assert_close(vectors, total / weight, rtol=1e-4, atol=1e-6)
