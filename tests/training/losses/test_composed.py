import math

import pytest
import torch
from torch.nn.functional import normalize

from closeness import rounding
from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.losses.composed import ComposedSettings, composed_loss, composed_ranks, last_turns


def random_head(dim: int, turns: int) -> ReplyHead:
    head = ReplyHead(dim, turns)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in head.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return head


def batch(dim: int = 6) -> dict[str, torch.Tensor]:
    """Three conversations of 4, 3 and 1 turns; a text recurs."""
    generator = torch.Generator().manual_seed(0)
    return {
        "vectors": normalize(torch.randn(8, dim, generator=generator), dim=1),
        "speaker": torch.tensor([0, 1, 0, 2, 0, 1, 1, 0]),
        "conversation": torch.tensor([0, 0, 0, 0, 1, 1, 1, 2]),
        "text_key": torch.tensor([1, 2, 3, 4, 5, 3, 6, 7]),
    }


def literal_query(head: ReplyHead, vectors, speakers, candidate_speaker) -> torch.Tensor:
    """The formula of the module, term by term; vectors oldest first."""
    query = torch.zeros(vectors.shape[1])
    for distance in range(1, min(head.turns, len(vectors)) + 1):
        relation = int(speakers[-distance] != candidate_speaker)
        matrix = torch.eye(vectors.shape[1]) + head.context[relation]
        query = query + head.recency[relation, distance - 1] * (matrix @ vectors[-distance])
    return query / query.norm()


def literal_loss(
    head: ReplyHead, data: dict[str, torch.Tensor], temperature: float, teacher: tuple[torch.Tensor, ...] = ()
) -> torch.Tensor:
    vectors, speaker, conversation, key = (data[name] for name in ("vectors", "speaker", "conversation", "text_key"))
    losses = []
    for turn in range(len(vectors)):
        before = [row for row in range(turn) if conversation[row] == conversation[turn]]
        if not before:
            continue
        query = literal_query(head, vectors[before], speaker[before], speaker[turn])
        others = [r for r in range(len(vectors)) if conversation[r] != conversation[turn] and key[r] != key[turn]]
        scores = []
        for row in [turn, *others]:
            candidate = vectors[row] + head.candidate @ vectors[row]
            scores.append(query @ (candidate / candidate.norm()) / temperature)
        losses.append(torch.stack(scores).logsumexp(0) - scores[0])
        if teacher:
            contexts, responses = teacher
            taught = torch.stack([contexts[turn] @ responses[row] / temperature for row in [turn, *others]]).softmax(0)
            losses[-1] = losses[-1] + (taught * (taught.log() - torch.stack(scores).log_softmax(0))).sum()
    return torch.stack(losses).mean()


def test_last_turns_stay_within_the_conversation() -> None:
    expected = [[-1, -1], [0, -1], [1, 0], [-1, -1], [3, -1]]
    assert last_turns(torch.tensor([0, 0, 0, 1, 1]), 2).tolist() == expected


def test_hand_arithmetic() -> None:
    head = ReplyHead(2, turns=1)  # untouched: the query is the turn before
    data = {
        "vectors": torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]),
        "speaker": torch.tensor([0, 1, 0]),
        "conversation": torch.tensor([0, 0, 1]),
        "text_key": torch.tensor([1, 2, 3]),
    }
    loss = composed_loss(head, **data, settings=ComposedSettings(context_turns=1, temperature=1.0))
    assert loss.item() == pytest.approx(
        math.log(math.exp(0.6) + 1.0) - 0.6, abs=rounding()
    )  # cosines 0.6 with the true one, 0


def test_ranks_are_among_other_conversations_without_equal_texts() -> None:
    head = ReplyHead(2, turns=1)  # untouched: the query is the turn before
    data = {
        "vectors": torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [1.0, 0.0], [0.0, 1.0], [0.96, 0.28]]),
        "speaker": torch.tensor([0, 1, 0, 0, 1, 0]),
        "conversation": torch.tensor([0, 0, 0, 1, 1, 2]),
        "text_key": torch.tensor([1, 2, 3, 4, 5, 2]),
    }
    # Cosines of the second turn with the first: 0.6, and of others 1, 0; the last has its text. Of the third with the
    # second: 0.96, and of others 0.6, 0.8, 0.8. Of the fifth with the fourth: 0, and of others 1, 0.6, 0.8, 0.96.
    assert composed_ranks(head, **data).tolist() == [2, 1, 5]


@pytest.mark.parametrize("turns", [1, 2, 10])
def test_equals_the_literal_formula(turns: int) -> None:
    head, data = random_head(6, turns), batch()
    settings = ComposedSettings(context_turns=turns, temperature=0.2)
    found, expected = composed_loss(head, **data, settings=settings), literal_loss(head, data, 0.2)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(loss, list(head.parameters()), retain_graph=True) for loss in (found, expected))
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_a_teacher_adds_the_divergence_from_its_distribution() -> None:
    head, data, settings = random_head(6, 3), batch(), ComposedSettings(context_turns=3, temperature=0.2)
    generator = torch.Generator().manual_seed(2)
    teacher = tuple(normalize(torch.randn(8, 4, generator=generator), dim=1) for _ in range(2))
    loss = composed_loss(head, **data, settings=settings, teacher=teacher)
    torch.testing.assert_close(loss, literal_loss(head, data, 0.2, teacher))
    assert loss > composed_loss(head, **data, settings=settings)


def test_agreement_with_the_teacher_has_no_loss() -> None:
    head, data, settings = random_head(6, 1), batch(), ComposedSettings(context_turns=1)
    before = last_turns(data["conversation"], 1)
    with torch.no_grad():
        same = data["speaker"][before] == data["speaker"][:, None]
        teacher = head.queries(data["vectors"][before], same, before >= 0), head.candidates(data["vectors"])
    loss = composed_loss(head, **data, settings=settings, teacher=teacher)
    torch.testing.assert_close(loss, composed_loss(head, **data, settings=settings))


def test_a_better_match_has_a_lower_loss() -> None:
    data = batch()
    near = {**data, "vectors": data["vectors"].clone()}
    near["vectors"][1:4] = near["vectors"][0]  # what follows is what was said
    head = ReplyHead(6)
    assert composed_loss(head, **near, settings=ComposedSettings()) < composed_loss(
        head, **data, settings=ComposedSettings()
    )


def test_every_weight_of_the_head_learns() -> None:
    head = random_head(6, 3)
    composed_loss(head, **batch(), settings=ComposedSettings(context_turns=3)).backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in head.parameters())
