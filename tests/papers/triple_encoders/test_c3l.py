from itertools import combinations

import pytest
import torch
from torch import Tensor

from closeness import rounding
from turn_order_cases import Literal, cosine, features_of
from turnlens.papers.triple_encoders import c3l
from turnlens.papers.triple_encoders.c3l import C3LLoss, C3LSettings
from turnlens.papers.triple_encoders.turn_order import Windows


# Complex on purpose: the formula as the paper writes it, without the shortcuts under test.
def literal_loss(  # noqa: C901
    literal: Literal, window: int, curved: bool, directional: bool, positives: str
) -> Tensor:
    """Window by window and triple by triple, with all random negatives; the third kind pairs each with itself."""
    total, weight = torch.tensor(0.0), 0.0
    c = [(i + 1) / window for i in range(window - 1)]
    pairs = list(combinations(range(window - 1), 2))
    sums = [c[i] + c[j] for i, j in pairs]
    for turns, foreign in literal.windows(window):
        *context, last = turns
        after = literal.embed("after", last)
        same = [turn.speaker == last.speaker for turn in context]
        b1, b2 = ([literal.embed(view, *of) for of in zip(context, same)] for view in ("before1", "before2"))
        if positives == "triple":
            for (i, j), both in zip(pairs, sums):
                target = 0.2 + 0.8 * (both - min(sums)) / (max(sums) - min(sums)) if curved else 1.0
                total += (cosine((b1[i] + b2[j]) / 2, after) - target) ** 2
                weight += 1
        else:
            for i in range(window - 1):
                for before in (b1[i], b2[i]):
                    total += (cosine(before, after) - (c[i] if curved else 1.0)) ** 2
                    weight += 1
        if directional:
            start = literal.embed("after", turns[0])
            for i, j in pairs:
                one, other = turns[i + 1], turns[j + 1]
                left = literal.embed("before1", one, one.speaker == turns[0].speaker)
                right = literal.embed("before2", other, other.speaker == turns[0].speaker)
                total += cosine((left + right) / 2, start) ** 2
                weight += 1
        for i in range(window - 1):
            first, second, third = [], [], []
            for j in range(window - 1):
                if j == i:
                    continue
                for turn in literal.encoded(foreign, 2 if same[j] else 3):
                    r1, r2 = (literal.embed(view, turn, same[j]) for view in ("before1", "before2"))
                    first.append(cosine((b1[i] + r2) / 2, after) ** 2)
                    second.append(cosine((r1 + b2[i]) / 2, after) ** 2)
                    third.append(cosine((r1 + r2) / 2, after) ** 2)
            for squares in (first, second, third):
                if squares:
                    total += torch.stack(squares).mean()
                    weight += 1
    return total / weight


def in_order(allowed: Tensor, negatives: object) -> tuple[Tensor, Tensor]:
    """Like ``draw`` for "batch", without its random order."""
    weights = allowed.float() / allowed.sum(-1, keepdim=True).clamp(min=1)
    return torch.arange(allowed.shape[-1]).expand(allowed.shape), weights


@pytest.mark.parametrize(
    ("window", "curved", "directional", "positives", "speakers"),
    [
        (4, True, False, "triple", True),
        (4, False, True, "triple", True),
        (3, True, False, "bi", True),
        (4, True, True, "bi", False),
    ],
)
def test_equals_the_literal_formula(
    tiny_encoder, with_views, conversations, monkeypatch, window, curved, directional, positives, speakers
) -> None:
    monkeypatch.setattr(c3l, "draw", in_order)
    with_views(tiny_encoder, "c3l", speakers)
    features = features_of(tiny_encoder, conversations, window=window, directional=directional)
    settings = C3LSettings(
        window=window, curved=curved, negatives="batch", directional=directional, positives=positives
    )
    loss = C3LLoss(tiny_encoder, settings)
    with torch.no_grad():
        expected = literal_loss(
            Literal(tiny_encoder, conversations, features[0]), window, curved, directional, positives
        )
        torch.testing.assert_close(loss(features), expected, rtol=1e-4, atol=1e-5)


def windows_of_three() -> Windows:
    """One window of one speaker; the views of turn t have the rows 5t … 5t + 4. Another turn is foreign to it."""
    foreign = torch.tensor([[False, False, False, True]])
    return Windows(torch.tensor([[0, 1, 2]]), foreign, torch.zeros(4, dtype=torch.long), torch.arange(20).reshape(4, 5))


def embeddings_of_three() -> Tensor:
    embeddings = torch.full((20, 2), 7.0)
    embeddings[0], embeddings[2] = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])  # B1 and B2 of u_0
    embeddings[5], embeddings[7] = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])  # of u_1
    embeddings[14] = torch.tensor([2.0, 0.0])  # a
    embeddings[15], embeddings[17] = torch.tensor([0.0, -1.0]), torch.tensor([0.0, 3.0])  # of the random one
    return embeddings


def test_equals_hand_arithmetic(tiny_encoder) -> None:
    # B1(u_0) + B2(u_1) = (2, 0): cosine 1, target 1. Negatives with r = (0, 3) as B2 and (0, -1) as B1:
    # u_0: (1, 3) -> 1/√10; (0, 0) -> 0; u_1: (0, 4) -> 0; (1, -1) -> √½; random pairs (0, 2) -> 0, twice.
    loss = C3LLoss(tiny_encoder, C3LSettings(window=3))
    vectors = loss.compute_loss_from_embeddings(embeddings_of_three(), windows_of_three())
    assert vectors.item() == pytest.approx((0 + 0.1 + 0.5) / 7, abs=rounding())


def test_a_candidate_nearer_to_its_context_has_a_lower_loss(tiny_encoder) -> None:
    loss, far = C3LLoss(tiny_encoder, C3LSettings(window=3)), embeddings_of_three()
    far[14] = torch.tensor([0.0, 1.0])
    near, windows = embeddings_of_three(), windows_of_three()
    assert loss.compute_loss_from_embeddings(near, windows) < loss.compute_loss_from_embeddings(far, windows)


def test_training_steps_move_the_encoder_and_lower_the_loss(
    tiny_encoder, with_views, conversations, check_learning
) -> None:
    with_views(tiny_encoder, "c3l")
    features = features_of(tiny_encoder, conversations, window=4)
    check_learning(C3LLoss(tiny_encoder, C3LSettings(window=4, negatives="batch")), *features)
