from itertools import combinations

import numpy as np
import pytest

from sequence_cases import FakeEncoder, Literal, cosine, embedded, talks
from turnlens.evaluation import compare_results
from turnlens.papers.triple_encoders.additivity import evaluate_additivity, triple_shares
from turnlens.papers.triple_encoders.scores import triple_query


def test_two_conversations_by_hand() -> None:
    x, y = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    vectors = {"a": x, "b": y, "c": x, "d": y, "e": x + y / 2}
    # Next is c after a b, and e after d a. Cosines of c and e with x: 1 and 1/√2, with y: 0 and 1/√2.
    rows = [{"messages": [{"role": "s", "content": text} for text in texts]} for texts in ("abc", "dae")]
    result = evaluate_additivity(embedded(FakeEncoder(lambda text, _: vectors[text]), rows))
    half = 0.5**0.5
    for scores in result.modes.values():
        assert scores.queries == ("0", "1")
    bi = result.modes["bi"].values
    assert bi["true"] == pytest.approx([1 / 2, half]) and bi["random"] == pytest.approx([half, 1 / 2])
    # The latest turn: b, 0 - half, and a, half - 1; the one before: a, 1 - half, and d, half - 0.
    assert result.by_distance["bi"][2] == pytest.approx([-1 / 2, 1 / 2])
    # The pair is (1, 2) / √5 both times: with c 1/√5, with e 3/√10.
    triple = result.modes["average"].values
    assert triple["true"] == pytest.approx([5**-0.5, 3 * 10**-0.5])
    assert triple["difference"] == pytest.approx([5**-0.5 - 3 * 10**-0.5, 3 * 10**-0.5 - 5**-0.5])
    summary = result.summary()["average"]
    assert summary["difference"] == 0 and summary["by_context_length"]["2"]["by_distance"] == [0, 0]


def test_literal_sums(tiny_encoder, with_views, monkeypatch) -> None:
    rows, literal = talks(), Literal(with_views(tiny_encoder, "c3l"))
    monkeypatch.setattr("turnlens.papers.triple_encoders.additivity._BLOCK", 32 * 7)
    result = evaluate_additivity(embedded(tiny_encoder, rows), lengths=(2, 4))
    for length in (2, 4):
        reaching = [row for row in rows if len(row["messages"]) > length]
        texts = [row["messages"][length]["content"] for row in reaching]
        expected: dict[str, list[np.ndarray]] = {"bi": [], "average": []}
        for number, row in enumerate(reaching):
            context, speaker = row["messages"][:length], row["messages"][length]["role"]
            first, second = ([literal.before(m, speaker, view) for m in context] for view in ("before1", "before2"))
            for mode in expected:
                by_text = []
                for text in texts:
                    after = literal.after(text)
                    if mode == "bi":
                        shares = [cosine(before, after) for before in second]
                    else:
                        pairs = {(i, j): cosine(first[i] + second[j], after) for i, j in combinations(range(length), 2)}
                        shares = [np.mean([s for pair, s in pairs.items() if i in pair]) for i in range(length)]
                    by_text.append(shares)
                others = np.delete(np.array(by_text), number, axis=0)
                expected[mode].append(np.array(by_text[number]) - others.mean(axis=0))
        for mode, differences in expected.items():
            found = result.modes[mode].values["difference"][result.context_length == length]
            assert found == pytest.approx(np.mean(differences, axis=1), abs=1e-6)
            assert result.by_distance[mode][length] == pytest.approx(np.mean(differences, axis=0)[::-1], abs=1e-6)


def test_random_utterances_tend_to_the_mean_of_all_others(tiny_encoder, with_views) -> None:
    both = embedded(with_views(tiny_encoder, "c3l"), talks())
    exact, drawn = (evaluate_additivity(both, lengths=(2,), drawn=drawn) for drawn in (None, 3000))
    for mode, scores in exact.modes.items():
        assert drawn.modes[mode].values["true"] == pytest.approx(scores.values["true"])
        assert drawn.modes[mode].values["random"] == pytest.approx(scores.values["random"], abs=0.02)
    few = [evaluate_additivity(both, seed, (2,), drawn=1).modes["bi"].values["random"] for seed in (0, 0, 1)]
    assert np.array_equal(few[0], few[1]) and not np.array_equal(few[0], few[2])
    with pytest.raises(ValueError, match="drawn must be 1 or more, got 0"):
        evaluate_additivity(both, drawn=0)


def test_shares_add_up_to_the_score_of_the_query() -> None:
    generator = np.random.default_rng(0)
    before1, before2, target = (generator.normal(size=shape) for shape in ((3, 6, 8), (3, 6, 8), (3, 8)))
    scores = (triple_query(before1, before2) * target).sum(axis=1)
    assert triple_shares(before1, before2, target).mean(axis=1) == pytest.approx(scores)


def test_only_what_the_encoder_serves(tiny_encoder, with_views) -> None:
    rows = talks()
    plain = evaluate_additivity(embedded(tiny_encoder, rows))
    assert tuple(plain.modes) == ("bi",)
    assert tuple(evaluate_additivity(embedded(with_views(tiny_encoder, "ccl"), rows)).modes) == ("bi",)
    assert compare_results(plain.modes["bi"], plain.modes["bi"]) == 1
    low, high = plain.summary()["bi"]["difference_interval"]
    assert low < plain.summary()["bi"]["difference"] < high
