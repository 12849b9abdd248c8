from __future__ import annotations

import math

import torch
from torch.nn.functional import normalize

from turnwise.losses.local_to_global import local_to_global


def unit_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def test_hand_arithmetic() -> None:
    taught = torch.zeros(1, 3)  # as near to both others
    scores = torch.tensor([[7.0, 1.0, 0.0]])  # nearer to one of them; what it is to itself does not count
    near, far = (math.log(math.e**score / (math.e + 1)) for score in (1, 0))
    expected = torch.tensor([math.log(0.5) - (near + far) / 2])
    torch.testing.assert_close(local_to_global(scores, taught, torch.tensor([[True, False, False]]), 1.0), expected)


def test_the_literal_formula() -> None:
    parts, wholes, teacher = unit_rows(5, 4), unit_rows(5, 4, seed=1), unit_rows(5, 7, seed=2)
    expected = []
    for query in range(5):
        others = [other for other in range(5) if other != query]
        p = [math.exp(float(teacher[query] @ teacher[other]) / 0.3) for other in others]
        q = [math.exp(float(parts[query] @ wholes[other]) / 0.3) for other in others]
        expected.append(sum(a / sum(p) * math.log(a / sum(p) / (b / sum(q))) for a, b in zip(p, q)))
    found = local_to_global(parts @ wholes.T, teacher @ teacher.T, torch.eye(5, dtype=torch.bool), 0.3)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_what_agrees_with_the_teacher_is_lower() -> None:
    taught, itself = unit_rows(6, 8) @ unit_rows(6, 8).T, torch.eye(6, dtype=torch.bool)
    assert local_to_global(taught, taught, itself, 0.1).abs().max() < 1e-12
    assert local_to_global(taught.roll(1, 0), taught, itself, 0.1).mean() > 0.1


def test_a_step_learns() -> None:
    teacher, start = unit_rows(6, 8), unit_rows(6, 8, seed=1).requires_grad_()

    def loss(vectors: torch.Tensor) -> torch.Tensor:
        itself = torch.eye(6, dtype=torch.bool)
        return local_to_global(normalize(vectors, dim=1) @ teacher.T, teacher @ teacher.T, itself, 0.1).mean()

    loss(start).backward()
    assert start.grad is not None and loss(start - 0.1 * start.grad) < loss(start)
