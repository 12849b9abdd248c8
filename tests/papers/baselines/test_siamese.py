from functools import cache

import pytest
import torch

from turnlens.papers.baselines.dual_encoders import SiameseLoss, SiameseSettings
from turnlens.papers.in_batch import JoinedContextCollator
from turnlens.training.collators import TextCollator


def features_of(encoder, conversations, joined: int = 0) -> list[dict[str, torch.Tensor]]:
    collate = JoinedContextCollator(encoder, context_turns=joined) if joined else TextCollator(encoder)
    batch = collate(list(conversations))
    return [{name.removeprefix("messages_"): value for name, value in batch.items()}]


def literal_loss(loss: SiameseLoss, conversations, turns: int) -> torch.Tensor:
    """Text by text: the context's embedding times the transformed response, softmax over the allowed responses."""

    @cache
    def embed(text: str) -> torch.Tensor:
        ids = loss.model.tokenizer(text, return_tensors="pt")
        return loss.model(dict(ids))["token_embeddings"][0].mean(0)

    rows = [(c, m["content"]) for c, row in enumerate(conversations) for m in row["messages"]]
    losses = []
    for i, (c, text) in enumerate(rows):
        previous = [t for d, t in rows[max(0, i - turns) : i] if d == c]
        if not previous:
            continue
        context = embed(" [SEP] ".join(previous))
        allowed = [t for d, t in rows if d != c and t != text]
        scores = torch.stack([context @ loss.response_network(embed(t)) for t in [text, *allowed]])
        losses.append(scores.logsumexp(0) - scores[0])
    return torch.stack(losses).mean()


@pytest.mark.parametrize(("context", "turns"), [("single", 1), ("multi", 3)])
def test_equals_the_literal_formula(tiny_encoder, conversations, context, turns) -> None:
    loss = SiameseLoss(tiny_encoder, SiameseSettings(context=context))
    with torch.no_grad():
        vectors = loss(features_of(tiny_encoder, conversations, joined=turns if context == "multi" else 0))
        torch.testing.assert_close(vectors, literal_loss(loss, conversations, turns), rtol=1e-4, atol=1e-4)


def test_equals_hand_arithmetic(tiny_encoder) -> None:
    loss = SiameseLoss(tiny_encoder)
    loss.response_network = torch.nn.Identity()
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    conversation, keys = torch.tensor([0, 0, 1, 1]), torch.tensor([10, 11, 12, 13])
    vectors = loss.compute_loss_from_embeddings(
        embeddings, torch.arange(4), torch.tensor([-1, 0, -1, 2]), conversation, keys
    )
    # Row 1: context [1,0], response [2,0] -> 2; negatives 0 and -1. Row 3: context [0,1]: 1; negatives 0 and 0.
    first = torch.tensor([2.0, 0.0, -1.0]).logsumexp(0) - 2
    second = torch.tensor([1.0, 0.0, 0.0]).logsumexp(0) - 1
    torch.testing.assert_close(vectors, (first + second) / 2)


def test_a_response_nearer_to_its_context_has_a_lower_loss(tiny_encoder) -> None:
    loss = SiameseLoss(tiny_encoder)
    loss.response_network = torch.nn.Identity()
    arguments = (torch.arange(3), torch.tensor([-1, 0, -1]), torch.tensor([0, 0, 1]), torch.tensor([1, 2, 3]))
    far = loss.compute_loss_from_embeddings(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), *arguments)
    near = loss.compute_loss_from_embeddings(torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 1.0]]), *arguments)
    assert near < far


@pytest.mark.parametrize("context", ["single", "multi"])
def test_training_steps_move_the_encoder_and_lower_the_loss(
    tiny_encoder, conversations, context, check_learning
) -> None:
    check_learning(
        SiameseLoss(tiny_encoder, SiameseSettings(context=context)),
        features_of(tiny_encoder, conversations, 3 if context == "multi" else 0),
    )


def test_multi_turn_context_needs_joined_contexts(tiny_encoder, conversations) -> None:
    loss = SiameseLoss(tiny_encoder, SiameseSettings(context="multi"))
    with pytest.raises(ValueError, match="JoinedContextCollator"):
        loss(features_of(tiny_encoder, conversations))


def test_unknown_context_is_refused() -> None:
    with pytest.raises(ValueError, match="'single' or 'multi'"):
        SiameseSettings(context="both")
