from __future__ import annotations

import math

import torch
from torch.nn.functional import normalize

from turnwise.losses.local_to_global import local_to_global


def unit_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def test_hand_arithmetic() -> None:
    wholes = torch.eye(3)
    teacher = torch.eye(3)  # who is as far from each of the two others
    parts = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # near one of the others
    near, far = (math.log(math.e**score / (math.e + 1)) for score in (1, 0))
    expected = math.log(0.5) - (near + far) / 2
    torch.testing.assert_close(local_to_global(parts, wholes, teacher, 1.0), torch.tensor(expected))


def test_the_literal_formula() -> None:
    parts, wholes, teacher = (unit_rows(5, dim, seed=dim) for dim in (4, 4, 7))
    wholes = unit_rows(5, 4, seed=1)
    total = 0.0
    for query in range(5):
        others = [other for other in range(5) if other != query]
        p = [math.exp(float(teacher[query] @ teacher[other]) / 0.3) for other in others]
        q = [math.exp(float(parts[query] @ wholes[other]) / 0.3) for other in others]
        for a, b in zip(p, q):
            total += a / sum(p) * math.log(a / sum(p) / (b / sum(q)))
    found = local_to_global(parts, wholes, teacher, 0.3)
    torch.testing.assert_close(found, torch.tensor(total / 5, dtype=torch.float64))


def test_what_agrees_with_the_teacher_is_lower() -> None:
    teacher = unit_rows(6, 8)
    assert abs(local_to_global(teacher, teacher, teacher, 0.1)) < 1e-12
    assert local_to_global(teacher.roll(1, 0), teacher, teacher, 0.1) > 1


def test_a_step_learns() -> None:
    teacher, start = unit_rows(6, 8), unit_rows(6, 8, seed=1).requires_grad_()
    before = local_to_global(normalize(start, dim=1), teacher, teacher, 0.1)
    before.backward()
    after = local_to_global(normalize(start - 0.1 * start.grad, dim=1), teacher, teacher, 0.1)
    assert start.grad is not None and after < before
