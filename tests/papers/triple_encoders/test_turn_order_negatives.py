"""Random negatives of CCL and C3L: what they cost is bounded, and those of the corpus take the place of the batch's."""

import pytest
import torch
from datasets import Dataset

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


@pytest.mark.parametrize("views", ["ccl", pytest.param("c3l", marks=pytest.mark.slow)])
def test_drawn_negatives_are_all_of_them_on_average(tiny_encoder, with_views, conversations, views) -> None:
    with_views(tiny_encoder, views)
    loss, settings = LOSSES[views]
    features = batch(tiny_encoder, conversations, directional=views == "ccl")
    torch.manual_seed(0)

    def losses(negatives: object) -> torch.Tensor:
        one = loss(tiny_encoder, settings(window=4, negatives=negatives))
        return torch.stack([one.compute_loss_from_embeddings(embeddings, windows) for _ in range(300)])

    with torch.no_grad():
        embeddings, windows = embed(tiny_encoder, features), Windows.of(4, features)
        drawn, every = losses(1), losses("batch")
    assert drawn.std() > 3 * every.std()
    torch.testing.assert_close(drawn.mean(), every.mean(), rtol=0, atol=float(4 * drawn.std() / 300**0.5))


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


@pytest.fixture
def corpus() -> Dataset:
    """Texts say which conversation and turn they are, as ``7 a``: digits and letters are words of the tiny encoder."""
    return Dataset.from_list(
        [
            {
                "id": str(number),
                "messages": [{"role": "uv"[turn % 2], "content": f"{number} {'abcdef'[turn]}"} for turn in range(5)],
            }
            for number in range(8)
        ]
    )


def drawn(encoder, corpus: Dataset, rows: list[int], epoch: int = 0, count: int = 2, **settings) -> list[list[list]]:
    """For each window and position the pairs as ``((tokens, text), (tokens, text))``."""
    collator = TurnOrderCollator(encoder, window=4, negatives=CorpusNegatives(UtterancePool(corpus), count), **settings)
    collator.set_epoch(epoch)
    batch = collator([corpus[row] for row in rows])
    texts = [encoder.tokenizer.decode(row, skip_special_tokens=False) for row in batch["messages_input_ids"]]

    def parts(number: int) -> tuple[str, str]:
        words = texts[number].replace("[PAD]", "").replace("[CLS]", "").replace("[SEP]", "").split()
        return " ".join(words[:-2]), " ".join(words[-2:])

    messages = batch["messages_negatives"]
    assert messages.shape == (2 * len(rows), 3, count * (3 if len(collator.columns) == 5 else 1), 2)
    return [[[tuple(map(parts, pair)) for pair in place] for place in window] for window in messages.tolist()]


def test_ccl_pairs_an_utterance_of_the_window_with_one_of_another_conversation(
    tiny_encoder, with_views, corpus
) -> None:
    with_views(tiny_encoder, "ccl")
    kept, tokens = set(), set()
    for epoch in range(6):
        for start, window in enumerate(drawn(tiny_encoder, corpus, [3], epoch)):
            for place, pairs in enumerate(window, start=1):
                own = f"3 {'abcdef'[start + place]}"
                for (before_tokens, before), (after_tokens, after) in pairs:
                    assert (before == own) != (after == own)
                    assert "3" not in {before, after} - {own}
                    assert not {before, after} - {own} & {f"3 {letter}" for letter in "abcde"}
                    assert after_tokens == "[AFTER]"
                    kept.add(before == own)
                    tokens.add(before_tokens)
    assert kept == {True, False}
    assert tokens == {"[BEFORE] [E]", "[BEFORE] [O]"}


def test_c3l_replaces_one_or_both_of_a_pair(tiny_encoder, with_views, corpus) -> None:
    with_views(tiny_encoder, "c3l")
    for start, window in enumerate(drawn(tiny_encoder, corpus, [3])):
        for place, pairs in enumerate(window):
            own = f"3 {'abcdef'[start + place]}"
            relation = "[E]" if (3 - place) % 2 == 0 else "[O]"
            for kept, replaced, random in zip(*[iter(pairs)] * 3):
                assert kept[0] == (f"[BEFORE] [B1] {relation}", own)
                assert replaced[1] == (f"[BEFORE] [B2] {relation}", own)
                assert kept[1][0].startswith("[BEFORE] [B2]") and replaced[0][0].startswith("[BEFORE] [B1]")
                assert [tokens[:13] for tokens, _ in random] == ["[BEFORE] [B1]", "[BEFORE] [B2]"]
                others = [kept[1][1], replaced[0][1], random[0][1], random[1][1]]
                assert not any(text.startswith("3") for text in others)


def test_draws_depend_on_seed_epoch_and_conversation_only(tiny_encoder, with_views, corpus) -> None:
    with_views(tiny_encoder, "ccl")
    together = drawn(tiny_encoder, corpus, [3, 5])
    assert together[2:] == drawn(tiny_encoder, corpus, [5])
    assert together != drawn(tiny_encoder, corpus, [3, 5], epoch=1)


def test_without_speaker_tokens_there_is_one_view(tiny_encoder, with_views, corpus) -> None:
    with_views(tiny_encoder, "ccl", speakers=False)
    for window in drawn(tiny_encoder, corpus, [3]):
        assert {pair[0][0] for place in window for pair in place} == {"[BEFORE]"}
