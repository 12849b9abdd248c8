from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from turnwise.encoders.centre import Centre
from turnwise.losses.distillation import soft_neighbours
from turnwise.papers.tried.local_to_global import LocalToGlobalLoss, LocalToGlobalSettings
from turnwise.papers.tried.parts_collator import PartsCollator


def unit_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def test_hand_arithmetic() -> None:
    taught = torch.zeros(1, 3)  # as near to both others
    scores = torch.tensor([[7.0, 1.0, 0.0]])  # nearer to one of them; what it is to itself does not count
    near, far = (math.log(math.e**score / (math.e + 1)) for score in (1, 0))
    expected = torch.tensor([math.log(0.5) - (near + far) / 2])
    torch.testing.assert_close(soft_neighbours(scores, taught, torch.tensor([[True, False, False]]), 1.0), expected)


def test_the_literal_formula() -> None:
    parts, wholes, teacher = unit_rows(5, 4), unit_rows(5, 4, seed=1), unit_rows(5, 7, seed=2)
    expected = []
    for query in range(5):
        others = [other for other in range(5) if other != query]
        p = [math.exp(float(teacher[query] @ teacher[other]) / 0.3) for other in others]
        q = [math.exp(float(parts[query] @ wholes[other]) / 0.3) for other in others]
        expected.append(sum(a / sum(p) * math.log(a / sum(p) / (b / sum(q))) for a, b in zip(p, q)))
    found = soft_neighbours(parts @ wholes.T, teacher @ teacher.T, torch.eye(5, dtype=torch.bool), 0.3)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_what_agrees_with_the_teacher_is_lower() -> None:
    taught, itself = unit_rows(6, 8) @ unit_rows(6, 8).T, torch.eye(6, dtype=torch.bool)
    assert soft_neighbours(taught, taught, itself, 0.1).abs().max() < 1e-12
    assert soft_neighbours(taught.roll(1, 0), taught, itself, 0.1).mean() > 0.1


def test_a_step_learns() -> None:
    teacher, start = unit_rows(6, 8), unit_rows(6, 8, seed=1).requires_grad_()

    def loss(vectors: torch.Tensor) -> torch.Tensor:
        itself = torch.eye(6, dtype=torch.bool)
        return soft_neighbours(normalize(vectors, dim=1) @ teacher.T, teacher @ teacher.T, itself, 0.1).mean()

    loss(start).backward()
    assert start.grad is not None and loss(start - 0.1 * start.grad) < loss(start)


def test_both_are_centred_and_stretched(tiny_encoder: SentenceTransformer) -> None:
    parts, wholes, dialogue = unit_rows(3, 32).float(), unit_rows(40, 32, seed=1).float(), torch.tensor([5, 0, 7])
    loss = LocalToGlobalLoss(tiny_encoder, wholes.numpy(), LocalToGlobalSettings(temperature=0.2, stretch=0.2))
    centre = Centre.fit(wholes.numpy(), 0.2)
    p, w = (torch.from_numpy(centre.apply(vectors.numpy())) for vectors in (parts, wholes))
    itself = torch.zeros(3, 40, dtype=torch.bool)
    itself[[0, 1, 2], dialogue] = True
    expected = soft_neighbours(p @ w.T, w[dialogue] @ w.T, itself, 0.2).mean()
    for length in (1, 3):  # of no consequence
        torch.testing.assert_close(loss.compute_loss_from_embeddings(length * parts, dialogue), expected)


def test_of_whole_dialogues_nothing_is_to_learn(tiny_encoder: SentenceTransformer) -> None:
    wholes, dialogue = unit_rows(20, 32).float(), torch.tensor([3, 4, 5])
    loss = LocalToGlobalLoss(tiny_encoder, wholes.numpy())
    assert abs(loss.compute_loss_from_embeddings(wholes[3:6], dialogue)) < 1e-5
    assert loss.compute_loss_from_embeddings(wholes[4:7], dialogue) > 0.5


def test_steps_move_the_encoder_towards_what_it_was(
    tiny_encoder: SentenceTransformer, conversations, check_learning
) -> None:
    wholes = tiny_encoder.encode_conversations(conversations["messages"][:])
    loss = LocalToGlobalLoss(tiny_encoder, wholes)
    rows = [{**row, "conversation": number} for number, row in enumerate(conversations)]
    batch = {
        name.removeprefix("messages_"): tensor for name, tensor in PartsCollator(tiny_encoder, seed=1)(rows).items()
    }
    taught = [tensor.clone() for tensor in loss._taught]
    check_learning(loss, [batch])
    assert all(np.array_equal(one, other) for one, other in zip(taught, loss._taught))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"stretch": 2.0}])
def test_settings_out_of_range(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        LocalToGlobalSettings(**settings)
