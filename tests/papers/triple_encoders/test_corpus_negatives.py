"""Random negatives of CCL and C3L from the corpus: what is paired with what, and when it is drawn anew."""

import pytest
from datasets import Dataset

from turnlens.papers.pieces import UtterancePool
from turnlens.papers.triple_encoders.collator import CorpusNegatives, TurnOrderCollator


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
