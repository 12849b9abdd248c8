import math

import pytest
import torch
from torch import Tensor

from closeness import rounding
from turnlens.papers.dial2vec.loss import Dial2vecLoss, Dial2vecSettings, cross_representation, self_representation


def literal_cross(tokens: Tensor, speaker: Tensor, turn: Tensor, who: int, window: float) -> Tensor:
    """Eq. 1-3 with the window mask as printed, average-pooled over the rows of the other speakers."""
    own = tokens * (speaker == who)[:, None]
    others = tokens * ((speaker != who) & (speaker >= 0))[:, None]
    correlation = others @ own.T  # (n, n)
    far = (turn[:, None] - turn[None, :]).abs() > window
    cross = correlation.masked_fill(far, 0) @ own
    return cross.sum(0) / ((speaker != who) & (speaker >= 0)).sum().clamp(min=1)


def ragged_batch(speakers: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    talks = [[2, 3, 1, 4, 2, 2], [5, 1], [1, 1, 1, 3], [4]]  # tokens of each turn
    longest = 1 + max(map(sum, talks))
    speaker, turn = torch.full((2, len(talks), longest), -1)
    for row, lengths in enumerate(talks):
        at = 1  # the first token is nobody's
        for number, length in enumerate(lengths):
            speaker[row, at : at + length] = (number * (row + 1)) % speakers
            turn[row, at : at + length] = number
            at += length
    tokens = torch.randn(len(talks), longest, 6, generator=generator, dtype=torch.float64)
    tokens[3, 6:] = 0
    return tokens, speaker, turn


@pytest.mark.parametrize("window", [0, 1, 2.5, 10, math.inf])
@pytest.mark.parametrize("speakers", [2, 3])
def test_equals_the_literal_matrices(speakers: int, window: float) -> None:
    tokens, speaker, turn = ragged_batch(speakers)
    found = cross_representation(tokens, speaker, turn, window)
    for row in range(len(tokens)):
        for who in range(found.shape[1]):
            literal = literal_cross(tokens[row], speaker[row], turn[row], who, window)
            torch.testing.assert_close(found[row, who], literal, rtol=1e-12, atol=1e-12)


def test_self_representation_is_the_mean_of_a_speakers_tokens() -> None:
    tokens, speaker, _ = ragged_batch(2)
    found = self_representation(tokens, speaker)
    torch.testing.assert_close(found[0, 1], tokens[0, speaker[0] == 1].mean(0))
    assert not found[3, 1].any()


def test_gradients_equal_those_of_the_literal_matrices() -> None:
    tokens, speaker, turn = ragged_batch(2)
    tokens.requires_grad_()
    (gradient,) = torch.autograd.grad(cross_representation(tokens, speaker, turn, 1)[0].sin().sum(), tokens)
    literal = torch.stack([literal_cross(tokens[0], speaker[0], turn[0], who, 1) for who in range(2)])
    (expected,) = torch.autograd.grad(literal.sin().sum(), tokens)
    torch.testing.assert_close(gradient, expected)


def test_equals_hand_arithmetic(tiny_encoder) -> None:
    loss = Dial2vecLoss(tiny_encoder, Dial2vecSettings(temperature=1.0))
    fit = torch.tensor([[1.0, 0.5], [0.0, 0.0], [0.2, 0.9], [0.3, -1.0]])
    dialogue, is_real = torch.tensor([0, 0, 1, 1]), torch.tensor([True, False, False, True])
    found = loss.compute_loss_from_fit(fit, dialogue, is_real, torch.tensor([2, 2]))
    first = math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-0.5))
    second = math.log(1 + math.exp(0.2 - 0.3)) + math.log(1 + math.exp(0.9 + 1.0))
    assert found.item() == pytest.approx((first + second) / 2, abs=rounding())


def test_a_speaker_who_is_not_there_costs_nothing(tiny_encoder) -> None:
    loss = Dial2vecLoss(tiny_encoder, Dial2vecSettings(temperature=1.0))
    fit = torch.tensor([[1.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    arguments = (torch.tensor([0, 0]), torch.tensor([True, False]))
    two = loss.compute_loss_from_fit(fit[:, :2], *arguments, torch.tensor([2]))
    three = loss.compute_loss_from_fit(fit, *arguments, torch.tensor([2]))
    assert three.item() == pytest.approx(two.item(), abs=rounding())


def test_a_real_dialogue_that_fits_better_has_a_lower_loss(tiny_encoder) -> None:
    loss = Dial2vecLoss(tiny_encoder)
    arguments = (torch.tensor([0, 0]), torch.tensor([True, False]), torch.tensor([2]))
    worse = loss.compute_loss_from_fit(torch.tensor([[0.1, 0.1], [0.5, 0.5]]), *arguments)
    assert loss.compute_loss_from_fit(torch.tensor([[0.9, 0.9], [0.5, 0.5]]), *arguments) < worse


def test_wrong_shapes_and_windows_are_named() -> None:
    tokens, speaker, turn = ragged_batch(2)
    with pytest.raises(ValueError, match=r"expected shapes \(B, n, d\), \(B, n\) and \(B, n\)"):
        cross_representation(tokens, speaker[:, 1:], turn, 1)
    with pytest.raises(ValueError, match="window must be 0 or more"):
        cross_representation(tokens, speaker, turn, -1)
