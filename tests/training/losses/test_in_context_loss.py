import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from turnlens.training.losses.in_context import in_context_loss

CONVERSATION = torch.tensor([0, 0, 1, 1, 2, 2])
TEXTS = torch.tensor([0, 1, 2, 3, 4, 0])


def units(seed: int, dim: int = 8) -> Tensor:
    return normalize(torch.randn(6, dim, generator=torch.Generator().manual_seed(seed)), dim=1)


def literal(vectors: Tensor, in_context: Tensor, temperature: float) -> float:
    """The divergence, message by message."""
    total = 0.0
    for row in range(6):
        others = [
            column for column in range(6) if CONVERSATION[column] != CONVERSATION[row] and TEXTS[column] != TEXTS[row]
        ]
        found = torch.tensor([vectors[row] @ vectors[one] / temperature for one in others]).softmax(0)
        wanted = torch.tensor([in_context[row] @ in_context[one] / temperature for one in others]).softmax(0)
        total += float((wanted * (wanted / found).log()).sum())
    return total / 6


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_the_literal_formula(temperature: float) -> None:
    vectors, in_context = units(0), units(1, dim=5)
    loss = in_context_loss(vectors, in_context, CONVERSATION, TEXTS, temperature)
    assert float(loss.mean()) == pytest.approx(literal(vectors, in_context, temperature), rel=1e-4)


def test_nothing_to_learn_where_both_agree() -> None:
    in_context = units(2)
    assert in_context_loss(in_context, in_context, CONVERSATION, TEXTS, 0.05).abs().max() < 1e-5


def test_one_conversation_teaches_nothing() -> None:
    vectors = units(3).requires_grad_()
    loss = in_context_loss(vectors, units(4), torch.zeros(6, dtype=torch.long), TEXTS, 0.05).sum()
    loss.backward()
    assert float(loss) == 0 and vectors.grad is not None and not vectors.grad.any()


def test_learning_brings_messages_near_that_are_alike_in_context() -> None:
    vectors, in_context = units(5), units(6)
    in_context[2] = in_context[0]  # of two conversations
    learned = vectors.clone().requires_grad_()
    optimizer = torch.optim.Adam([learned], 0.05)
    for _ in range(50):
        optimizer.zero_grad()
        in_context_loss(normalize(learned, dim=1), in_context, CONVERSATION, TEXTS, 0.2).sum().backward()
        optimizer.step()
    after = normalize(learned.detach(), dim=1)
    cosines = after[0] @ after.T
    assert cosines[2] > vectors[0] @ vectors[2] and cosines[[2, 3, 4]].argmax() == 0
