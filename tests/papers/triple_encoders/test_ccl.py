import pytest
import torch
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import Tensor

from closeness import rounding
from turn_order_cases import Literal, cosine, features_of
from turnlens.papers.triple_encoders.c3l import C3LLoss
from turnlens.papers.triple_encoders.ccl import CCLLoss, CCLSettings
from turnlens.papers.triple_encoders.turn_order import Windows, draw


def mean_square(values: list[Tensor]) -> Tensor:
    return (torch.stack(values) ** 2).mean() if values else torch.tensor(0.0)


def literal_loss(literal: Literal, window: int, directional: bool) -> Tensor:
    """Window by window, with all random negatives."""
    total, weight = torch.tensor(0.0), 0.0
    for turns, foreign in literal.windows(window):
        first = turns[0]
        for distance, turn in enumerate(turns[1:], start=1):
            same = first.speaker == turn.speaker
            before, after = literal.embed("before", first, same), literal.embed("after", turn)
            total += (cosine(before, after) - (window - distance) / window) ** 2
            weight += 1
            if directional:
                total += cosine(literal.embed("before", turn, same), literal.embed("after", first)) ** 2
                weight += 1
            for others in (
                [cosine(before, literal.embed("after", other)) for other in literal.encoded(foreign, 2)],
                [
                    cosine(literal.embed("before", other, same), after)
                    for other in literal.encoded(foreign, 0 if same else 1)
                ],
            ):
                total += mean_square(others) / 2
                weight += bool(others) / 2
    return total / weight


@pytest.mark.parametrize(
    ("window", "directional", "speakers", "normalised"),
    [(3, True, True, False), (4, False, True, True), (3, True, False, False)],
)
def test_equals_the_literal_formula(
    tiny_encoder, with_views, conversations, window, directional, speakers, normalised
) -> None:
    with_views(tiny_encoder, "ccl", speakers)
    if normalised:
        tiny_encoder.append(Normalize())
    features = features_of(tiny_encoder, conversations, window=window, directional=directional)
    loss = CCLLoss(tiny_encoder, CCLSettings(window=window, negatives="batch", directional=directional))
    with torch.no_grad():
        expected = literal_loss(Literal(tiny_encoder, conversations, features[0]), window, directional)
        torch.testing.assert_close(loss(features), expected, rtol=1e-4, atol=1e-5)


def test_draw_takes_only_what_is_allowed() -> None:
    allowed = torch.tensor([[True, False, True, True], [False, False, True, False], [False] * 4])
    for negatives in (1, 2, "batch"):
        chosen, weights = draw(allowed, negatives)
        assert allowed.gather(1, chosen)[weights > 0].all()
        torch.testing.assert_close(weights.sum(1), torch.tensor([1.0, 1.0, 0.0]))
        expected = [min(3, 4 if negatives == "batch" else negatives), 1, 0]
        assert (weights > 0).sum(1).tolist() == expected


def rows_of(count: int) -> Tensor:
    """Turns of one conversation each of whose views has a row of its own: before_same, before_other, after."""
    return torch.arange(3 * count).reshape(count, 3)


def test_equals_hand_arithmetic(tiny_encoder) -> None:
    # Two turns of two speakers. before_other(u0) = (1, 0), after(u1) = (1, 1): cosine √½ against a target of ½;
    # before_other(u1) = (0, 1) against after(u0) = (3, 4): 0.8 against 0. No other conversation: no random negatives.
    windows = Windows(torch.tensor([[0, 1]]), torch.zeros(1, 2, dtype=torch.bool), torch.tensor([0, 1]), rows_of(2))
    embeddings = torch.tensor([[9.0, 9.0], [1.0, 0.0], [3.0, 4.0], [9.0, 9.0], [0.0, 1.0], [1.0, 1.0]])
    vectors = CCLLoss(tiny_encoder, CCLSettings(window=2)).compute_loss_from_embeddings(embeddings, windows)
    assert vectors.item() == pytest.approx(((0.5**0.5 - 0.5) ** 2 + 0.8**2) / 2, abs=rounding())
    forwards = CCLLoss(tiny_encoder, CCLSettings(window=2, directional=False))
    vectors = forwards.compute_loss_from_embeddings(embeddings, windows)
    assert vectors.item() == pytest.approx((0.5**0.5 - 0.5) ** 2, abs=rounding())


def test_time_has_a_direction(tiny_encoder) -> None:
    windows = Windows(torch.tensor([[0, 1]]), torch.zeros(1, 2, dtype=torch.bool), torch.tensor([0, 0]), rows_of(2))
    loss = CCLLoss(tiny_encoder, CCLSettings(window=2))
    forwards = torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    backwards = forwards[[3, 4, 5, 0, 1, 2]]
    assert loss.compute_loss_from_embeddings(forwards, windows) < loss.compute_loss_from_embeddings(backwards, windows)


def test_training_steps_move_the_encoder_and_lower_the_loss(
    tiny_encoder, with_views, conversations, check_learning
) -> None:
    with_views(tiny_encoder, "ccl")
    features = features_of(tiny_encoder, conversations, window=3, directional=True)
    check_learning(CCLLoss(tiny_encoder, CCLSettings(window=3, negatives="batch")), *features)


def test_a_collator_of_other_settings_is_noticed(tiny_encoder, with_views, conversations) -> None:
    with_views(tiny_encoder, "ccl")
    with pytest.raises(ValueError, match="give the collator its window and directional"):
        CCLLoss(tiny_encoder, CCLSettings(window=3))(
            features_of(tiny_encoder, conversations, window=3, directional=False)
        )


def test_views_of_the_other_loss_are_noticed(tiny_encoder, with_views) -> None:
    with_views(tiny_encoder, "ccl")
    with pytest.raises(ValueError, match="C3LLoss needs the views of 'c3l', found those of 'ccl'; see add_views"):
        C3LLoss(tiny_encoder)
