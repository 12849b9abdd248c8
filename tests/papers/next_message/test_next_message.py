"""Next utterance: literal pair averaging, ties, who is asked and compared, and what an encoder serves."""

import json
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from sequence_cases import (
    FakeEncoder,
    Literal,
    by_conversation,
    cosine,
    embedded,
    expected_rank,
    numbered,
    talks,
)
from turnlens.data.languages import tokenize
from turnlens.encoders.messages import encode_contexts
from turnlens.errors import ConversationError
from turnlens.evaluation import compare_results
from turnlens.papers.next_message.modes import modes_of
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.next_message.sequences import build_sequences
from turnlens.papers.triple_encoders.modes import COMPONENTS, evaluate_components


def literal_ranks(rows, score) -> dict[tuple[str, int], float]:
    """(conversation, context length) -> rank; ``score(context, speaker, candidate text)``."""
    ranks = {}
    for length in range(2, 11):
        reaching = [row for row in rows if len(row["messages"]) > length]
        for true, row in enumerate(reaching):
            context, speaker = row["messages"][:length], row["messages"][length]["role"]
            scores = [score(context, speaker, other["messages"][length]["content"]) for other in reaching]
            ranks[row["id"], length] = expected_rank(scores, true)
    return ranks


def ranks_of(result, mode: str) -> dict[tuple[str, int], float]:
    scores = result.modes[mode]
    names = [scores.queries[index] for index in scores.conversation]
    return dict(zip(zip(names, result.context_length.tolist()), scores.values["average_rank"].tolist()))


def max_sim(pairs: dict[tuple[int, int], float]) -> float:
    seen, added = set(), []
    for pair, score in sorted(pairs.items(), key=lambda item: -item[1]):
        if not set(pair) <= seen:
            seen |= set(pair)
            added.append(score)
    return float(np.mean(added))


def test_every_length_counts_the_same_in_the_rank_over_lengths(tiny_encoder) -> None:
    result = evaluate_next_message(embedded(tiny_encoder, talks(40, seed=2)), modes=("bi", "bm25"))
    for mode, scores in result.modes.items():
        summary = result.summary()[mode]
        of_lengths = [one["average_rank"] for one in summary["by_context_length"].values()]
        assert summary["average_rank_over_lengths"] == pytest.approx(np.mean(of_lengths), abs=1e-5)
        assert summary["average_rank_over_lengths"] != pytest.approx(summary["average_rank"], abs=0.1)
        low, high = summary["average_rank_over_lengths_interval"]
        assert low < summary["average_rank_over_lengths"] < high
        # With one group it is the mean over all contexts.
        one_group = scores.per_conversation("average_rank", np.ones_like(result.context_length))
        np.testing.assert_allclose(one_group, scores.per_query)


def test_modes_of_a_triple_encoder_are_the_literal_formulas(tiny_encoder, with_views) -> None:
    rows, literal = talks(), Literal(with_views(tiny_encoder, "c3l"))

    def pairs(context, speaker, text, first="before1", second="before2"):
        one, two = ([literal.before(m, speaker, view) for m in context] for view in (first, second))
        return {(i, j): cosine(one[i] + two[j], literal.after(text)) for i, j in combinations(range(len(context)), 2)}

    def bi(context, speaker, text, view="before2"):
        return np.mean([cosine(literal.before(m, speaker, view), literal.after(text)) for m in context])

    def average(*given):
        return np.mean(list(pairs(*given).values()))

    def last_2(context, *rest):
        return np.mean([score for (_, j), score in pairs(context, *rest).items() if j >= len(context) - 2])

    def neighbours(*given):
        return np.mean([score for (i, j), score in pairs(*given).items() if j == i + 1])

    expected = {
        "average": average,
        "last-2": last_2,
        "max": lambda *given: max_sim(pairs(*given)),
        "bi": bi,
        "normal": average,
        "normal-and-bi-b2": lambda *given: average(*given) + bi(*given),
        "neighbours": neighbours,
        "bi-b1-and-b2": lambda *given: bi(*given) + bi(*given, view="before1"),
        "mean-b1": lambda *given: average(*given, "before1", "before1"),
        "mean-b2": lambda *given: average(*given, "before2", "before2"),
        "bi-b1": lambda *given: bi(*given, view="before1"),
        "bi-b2": bi,
    }
    together = embedded(tiny_encoder, rows)
    result = evaluate_next_message(together, modes=tuple(expected))
    for mode, score in expected.items():
        assert ranks_of(result, mode) == pytest.approx(literal_ranks(rows, score)), mode
    components = evaluate_components(together)
    assert tuple(components.modes) == tuple(COMPONENTS)
    assert ranks_of(components, "normal") == ranks_of(result, "average")


@pytest.mark.slow
def test_modes_of_a_plain_encoder_are_the_literal_formulas(tiny_encoder) -> None:
    rows, literal = talks(seed=1), Literal(tiny_encoder)

    def bi(context, speaker, text):
        return sum(cosine(literal.vector(m["content"], None), literal.vector(text, None)) for m in context)

    @cache
    def joined(texts):
        return encode_contexts(tiny_encoder, [texts])[0].astype(np.float64)

    def single(query):
        return lambda context, speaker, text: cosine(
            query(tuple(m["content"] for m in context)), literal.vector(text, None)
        )

    result = evaluate_next_message(embedded(tiny_encoder, rows))
    assert tuple(result.modes) == ("bi", "single", "single-averaged", "bm25")
    averaged = single(lambda texts: joined(texts[:-1]) + joined(texts[-1:]))
    expected = {"bi": bi, "single": single(joined), "single-averaged": averaged}
    for mode, score in expected.items():
        assert ranks_of(result, mode) == pytest.approx(literal_ranks(rows, score)), mode


def test_bm25_finds_shared_words_and_ties_all_others() -> None:
    rows = numbered(6, 5)
    rows[2]["messages"][4]["content"] = "taxi"
    result = evaluate_next_message(embedded(FakeEncoder(lambda *_: np.ones(2)), rows), modes=["bm25"], lengths=[4])
    assert tokenize("2 4") == ["2", "4"]
    ranks = ranks_of(result, "bm25")
    # Every other conversation's number is in its own utterance only, but for 0 to 3, which are turns' numbers too.
    assert ranks["talk 5", 4] == 1
    assert ranks["talk 2", 4] > 3


def test_an_encoder_that_knows_ranks_first_and_one_that_knows_nothing_in_the_middle() -> None:
    rows = numbered(20, 12)
    for views in ("plain", "ccl", "c3l"):
        knows = FakeEncoder(by_conversation, views)
        for scores in evaluate_next_message(embedded(knows, rows), modes=_without_bm25(knows)).modes.values():
            summary = scores.summary(0)
            assert summary["average_rank"] == 1 and summary["average_rank_interval"] == [1, 1]
            assert summary["mrr"] == summary["r_at_1"] == summary["r_at_10"] == 100
        blind = FakeEncoder(lambda *_: np.array([0.3, -0.1, 0.7]), views)
        for scores in evaluate_next_message(embedded(blind, rows), modes=_without_bm25(blind)).modes.values():
            assert set(scores.values["average_rank"]) == {10.5}
            summary = scores.summary(0)
            assert (summary["r_at_1"], summary["r_at_10"]) == (5, 50)
            assert summary["mrr"] == pytest.approx(100 * np.mean(1 / np.arange(1, 21)), abs=1e-5)


def test_recall_is_among_100_of_more_candidates() -> None:
    rows = numbered(300, 3)
    result = evaluate_next_message(embedded(FakeEncoder(lambda *_: np.ones(2)), rows), modes=["bi"])
    summary = result.summary()["bi"]
    assert (summary["average_rank"], summary["r_at_1"], summary["r_at_10"]) == (150.5, 1, 10)
    assert summary["by_context_length"] == {
        "2": {**{name: summary[name] for name in ("average_rank", "mrr", "r_at_1", "r_at_10")}, "queries": 300}
        | {"candidates": 300}
    }


def test_relation_of_speakers_is_that_to_the_next_one_and_each_text_is_encoded_once() -> None:
    roles = ["ann", "ben", "cat", "ann"]
    rows = [
        {"messages": [{"role": role, "content": f"{number} {turn}"} for turn, role in enumerate(roles)]}
        for number in range(2)
    ]
    encoder = FakeEncoder(by_conversation)
    together = embedded(encoder, rows)
    evaluate_next_message(together)
    asked = {(text, prompt) for text, prompt in encoder.asked if text.startswith("1")}
    # Cat says turn 2 after ann and ben; ann says turn 3 after herself, ben and cat.
    context = {("1 0", "other"), ("1 1", "other"), ("1 0", "same"), ("1 2", "other")}
    expected = {(text, f"{view}_{relation}") for text, relation in context for view in ("before1", "before2")}
    assert asked == expected | {("1 2", "after"), ("1 3", "after")}
    count = len(encoder.asked)
    assert count == len(set(encoder.asked))
    evaluate_components(together)
    assert len(encoder.asked) == count


def test_who_counts() -> None:
    rows = [*numbered(5, 4), {"id": "short", "messages": [{"role": "a", "content": "0 0"}]}]
    rows[4]["messages"].insert(1, {"role": "a", "content": "  "})
    result = evaluate_next_message(embedded(FakeEncoder(by_conversation), rows))
    assert result.modes["bi"].queries == tuple(f"talk {number}" for number in range(5))
    assert result.context_length.tolist() == [2] * 5 + [3] * 5
    assert set(result.candidates) == {5}
    rows[0]["messages"] += [{"role": "a", "content": "0 4"}]  # the only one at its depth: nothing to choose from
    again = evaluate_next_message(embedded(FakeEncoder(by_conversation), rows))
    assert again.context_length.tolist() == result.context_length.tolist()
    few = evaluate_next_message(embedded(FakeEncoder(by_conversation), rows, max_queries=2))
    assert len(few.modes["bi"].queries) == 2 and set(few.candidates) == {5}
    summary = few.summary()["bi"]
    assert (summary["queries"], summary["conversations"]) == (4, 2)


def test_messages_of_one_speaker_in_a_row_are_one_turn_as_in_training(caplog) -> None:
    rows = [*numbered(3, 4), {"messages": [{"role": who, "content": f"3 {who}"} for who in "aab"]}]
    rows[0]["messages"].insert(1, {"role": "a", "content": "0 more"})
    sequences = build_sequences(rows)
    turns = [message["content"] for message in sequences.messages(0, 4)]
    assert turns == ["0 0 0 more", "0 1", "0 2", "0 3"]
    assert sequences.ids == ("talk 0", "talk 1", "talk 2")
    assert "left out of the evaluation: 1 conversations of fewer than 3 turns, of 4" in caplog.text


def test_data_and_settings_that_do_not_serve(tiny_encoder) -> None:
    rows = [*numbered(3, 2), *numbered(1, 3)]
    with pytest.raises(ConversationError, match=r"at least 2 conversations of 3 or more turns .* got 1 among 4"):
        embedded(tiny_encoder, rows)
    with pytest.raises(ConversationError, match='row 0, message 0: expected "content"'):
        embedded(tiny_encoder, [{"messages": [{"role": "a"}]}])
    together = embedded(tiny_encoder, numbered(3, 4))
    with pytest.raises(ConversationError, match="after a context of 5 or 6 messages"):
        evaluate_next_message(together, lengths=(5, 6))
    with pytest.raises(ValueError, match=r"from 2 to 14, got \(1,\)"):
        evaluate_next_message(together, lengths=(1,))
    with pytest.raises(ValueError, match="among bi, single, single-averaged, bm25 for this encoder, got average"):
        evaluate_next_message(together, modes=["average"])
    with pytest.raises(ValueError, match="component-analysis takes a triple-encoder apart"):
        evaluate_components(together)
    broken = embedded(FakeEncoder(lambda text, _: [np.nan if text == "1 2" else 1.0]), numbered(3, 4))
    with pytest.raises(ValueError, match="nan or inf for 1 texts, first '1 2'"):
        evaluate_next_message(broken)


def test_blocks_change_nothing(tiny_encoder, with_views, monkeypatch) -> None:
    together = embedded(with_views(tiny_encoder, "c3l"), talks())
    whole = evaluate_next_message(together)
    monkeypatch.setattr("turnlens.papers.next_message.modes._BLOCK", 1)
    cut = evaluate_next_message(together)
    assert json.dumps(cut.summary()) == json.dumps(whole.summary())


def test_intervals_and_comparison_are_of_conversations(tiny_encoder, with_views) -> None:
    rows = talks(60, seed=3)
    together = embedded(with_views(tiny_encoder, "c3l"), rows)
    result = evaluate_next_message(together, seed=5)
    assert result.summary() == evaluate_next_message(together, seed=5).summary()
    assert result.summary() != evaluate_next_message(together, seed=6).summary()
    scores = result.modes["average"]
    ranks = scores.values["average_rank"]
    assert scores.per_query.mean() == pytest.approx(ranks.mean())
    # Against the bootstrap it stands for: conversations drawn with replacement, each with all its contexts.
    generator = np.random.default_rng(0)
    sums, counts = np.bincount(scores.conversation, ranks), np.bincount(scores.conversation)
    drawn = generator.integers(len(sums), size=(4000, len(sums)))
    literal = np.quantile(sums[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975])
    assert scores.summary(0)["average_rank_interval"] == pytest.approx(literal, abs=0.15 * np.ptp(literal))
    knows, blind = (
        evaluate_next_message(embedded(FakeEncoder(vector), numbered(60, 5)), modes=["bi"]).modes["bi"]
        for vector in (by_conversation, lambda text, _: np.random.default_rng(list(text.encode())).normal(size=8))
    )
    assert compare_results(scores, scores) == 1
    assert compare_results(knows, blind) < 0.01
    with pytest.raises(ValueError, match="not of the same task"):
        compare_results(scores, knows)


def _without_bm25(encoder) -> list[str]:
    return [mode for mode in modes_of(embedded(encoder, numbered(2, 3))).served if mode != "bm25"]
