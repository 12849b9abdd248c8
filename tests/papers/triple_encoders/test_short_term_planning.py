"""Short-term planning: the literal formula, ties, candidates drawn or given, and data that is too short."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import turnlens
from sequence_cases import FakeEncoder, Literal, by_conversation, cosine, embedded, expected_rank, numbered, talks
from turnlens.errors import ConversationError
from turnlens.evaluation import compare_results
from turnlens.papers.generation import GeneratedCandidates, generate_candidates
from turnlens.papers.triple_encoders.short_term_planning import evaluate_short_term_planning, planning_with


def literal_ranks(rows, literal: Literal, length: int, distance: int, mode: str) -> list[float]:
    """With all utterances at the same depth of other conversations as candidates."""
    ranks = []
    for row in rows:
        messages = row["messages"]
        if len(messages) <= length + distance:
            continue
        goal, said = messages[length + distance], messages[length]
        others = [o["messages"][length]["content"] for o in rows if o is not row and len(o["messages"]) > length]
        after = literal.after(goal["content"])
        context = [literal.before(message, goal["role"], "before1") for message in messages[:length]]
        scores = []
        for text in [said["content"], *others]:
            before = literal.before({"role": said["role"], "content": text}, goal["role"], "before2")
            score = cosine(before, after)
            if mode == "triple":
                score = length * score + sum(cosine((earlier + before) / 2, after) for earlier in context)
            scores.append(score)
        ranks.append(expected_rank(scores, 0))
    return ranks


def test_ranks_are_those_of_the_literal_formula(tiny_encoder, with_views) -> None:
    rows, literal = talks(), Literal(with_views(tiny_encoder, "c3l"))
    result = evaluate_short_term_planning(embedded(tiny_encoder, rows), lengths=(2, 5), distances=(1, 3))
    assert tuple(result.modes) == ("triple", "bi")
    for mode, scores in result.modes.items():
        for length in (2, 5):
            for distance in (1, 3):
                chosen = (result.context_length == length) & (result.distance == distance)
                found = scores.values["average_rank"][chosen]
                assert found == pytest.approx(literal_ranks(rows, literal, length, distance, mode))


@pytest.mark.slow
def test_figures_of_an_encoder_that_knows_and_of_one_that_does_not() -> None:
    rows = numbered(61, 15)
    for views in ("plain", "ccl", "c3l"):
        knows = evaluate_short_term_planning(embedded(FakeEncoder(by_conversation, views), rows))
        blind = evaluate_short_term_planning(embedded(FakeEncoder(lambda *_: np.array([1.0, 2.0]), views), rows))
        for mode in ("triple", "bi") if views == "c3l" else ("bi",):
            summary = knows.summary()[mode]
            assert (summary["average_rank"], summary["hits_at_5"]) == (1, 100)
            assert summary["queries"] == 61 * 3 * 4 and summary["conversations"] == 61
            assert list(summary["by_context_length_and_distance"]) == ["2", "5", "10"]
            assert list(summary["by_context_length_and_distance"]["5"]) == ["1", "2", "3", "4"]
            counted = {
                of["candidates"]
                for lengths in summary["by_context_length_and_distance"].values()
                for of in lengths.values()
            }
            assert counted == {61}
            summary = blind.summary()[mode]
            assert summary["average_rank"] == 31
            for k in (5, 10, 25, 50):
                assert summary[f"hits_at_{k}"] == pytest.approx(100 * k / 61, abs=1e-5)
            assert compare_results(knows.modes[mode], blind.modes[mode]) < 0.01


def test_candidates_are_a_sample_that_the_seed_settles(tiny_encoder) -> None:
    rows = talks(40, seed=1)
    together = embedded(tiny_encoder, rows)
    first, again, other = (evaluate_short_term_planning(together, seed, count=8) for seed in (0, 0, 1))
    assert first.summary() == again.summary() != other.summary()
    ranks = first.modes["bi"].values["average_rank"]
    assert ranks.max() <= 9
    few = evaluate_short_term_planning(embedded(tiny_encoder, rows, max_queries=5), count=8)
    kept = [few.modes["bi"].queries[index] for index in few.modes["bi"].conversation]
    of_all = [first.modes["bi"].queries[index] for index in first.modes["bi"].conversation]
    chosen = [index for index, name in enumerate(of_all) if name in kept]
    assert few.modes["bi"].values["average_rank"].tolist() == ranks[chosen].tolist()


def test_candidates_given_by_a_function(tiny_encoder, with_views) -> None:
    rows = numbered(4, 6)
    calls: list[Any] = []

    def given(context: list[dict[str, str]], speaker: str) -> list[str]:
        calls.append((context, speaker))
        return ["", "9 9", "1 2"]

    result = evaluate_short_term_planning(embedded(FakeEncoder(by_conversation), rows), candidates=given, lengths=(2,))
    assert calls[1] == ([{"role": "a", "content": "1 0"}, {"role": "b", "content": "1 1"}], "a")
    assert len(calls) == 4  # once for all goals
    for scores in result.modes.values():
        expected = [1.5 if scores.queries[index] == "talk 1" else 1 for index in scores.conversation]
        assert scores.values["average_rank"].tolist() == expected
    silent = partial(evaluate_short_term_planning, candidates=lambda context, speaker: [])
    with pytest.raises(ConversationError, match="2 conversations of 4 or more messages"):
        silent(embedded(with_views(tiny_encoder, "c3l"), rows))


def test_candidates_of_a_language_model(save_generator, tmp_path) -> None:
    ask = partial(generate_candidates, save_generator(tmp_path / "generator"), n=3)
    together = embedded(FakeEncoder(lambda text, _: [len(text), 1.0]), numbered(2, 4))
    result = evaluate_short_term_planning(together, candidates=ask)
    assert result.modes["bi"].values["average_rank"].max() <= 4


def test_generated_candidates_are_kept(save_generator, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("turnlens.papers.generation.datasets_cache", lambda: tmp_path / "cache")
    asked = []

    def counted(model: str, context: Any, **settings: Any) -> list[str]:
        asked.append(len(context))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return generate_candidates(model, context, **settings)

    monkeypatch.setattr("turnlens.papers.generation.generate_candidates", counted)
    ask = GeneratedCandidates(save_generator(tmp_path / "generator"), n=3)
    together = embedded(FakeEncoder(lambda text, _: [len(text), 1.0]), numbered(4, 4))
    with pytest.raises(KeyboardInterrupt):
        evaluate_short_term_planning(together, candidates=ask)
    asked += [0]
    first = evaluate_short_term_planning(together, candidates=ask)
    assert asked == [2, 2, 2, 0, 2, 2]  # what was there is not generated again
    again = evaluate_short_term_planning(together, candidates=ask)
    assert first.summary() == again.summary() and len(asked) == 6
    context = [{"role": "a", "content": "hello"}]
    assert ask(context) == generate_candidates(ask.model, context, n=3, show_progress=False)
    for other in (
        replace(ask, seed=1),
        replace(ask, top_k=1),
        replace(ask, model=save_generator(tmp_path / "x", "{{ 1 }}")),
    ):
        before = len(asked)
        other(context)
        assert len(asked) == before + 1  # other settings, or another model
    ask(context, speaker="a")
    assert len(asked) == before + 2


def test_planning_with_given_candidates_is_evaluated_beside_other_tasks(tiny_encoder) -> None:
    planning = planning_with(lambda *_, **__: ["yes"])
    vectors = turnlens.evaluate(numbered(3, 5), encoder=tiny_encoder, tasks=["next-message", planning])
    assert list(vectors) == ["next_message", "short_term_planning"]
    assert vectors["short_term_planning"]["bi"]["average_rank"] <= 2


def test_what_is_out_of_range_or_too_short(tiny_encoder) -> None:
    together = embedded(tiny_encoder, numbered(3, 3))
    with pytest.raises(ConversationError, match="at least 2 conversations of 4 or more messages"):
        evaluate_short_term_planning(together)
    with pytest.raises(ValueError, match=r"together less than 15, got \(11,\) and \(1, 2, 3, 4\)"):
        evaluate_short_term_planning(together, lengths=(11,))
