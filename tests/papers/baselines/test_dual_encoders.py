"""Dual encoders of contexts and responses: siamese, and with one vector of the context."""

from functools import cache

import pytest
import torch
from torch.nn.functional import cosine_similarity, normalize

from turnlens.papers.baselines.dual_encoders import SiameseLoss, SiameseSettings, SingleVectorLoss, SingleVectorSettings
from turnlens.papers.in_batch import JoinedContextCollator
from turnlens.training.collators import TextCollator


def features_of(encoder, conversations, joined: int = 0) -> list[dict[str, torch.Tensor]]:
    collate = JoinedContextCollator(encoder, context_turns=joined) if joined else TextCollator(encoder)
    batch = collate(list(conversations))
    return [{name.removeprefix("messages_"): value for name, value in batch.items()}]


def literal_siamese(loss: SiameseLoss, conversations, turns: int) -> torch.Tensor:
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


def literal_single_vector(loss: SingleVectorLoss, conversations, turns: int) -> torch.Tensor:
    """Text by text: the cosine of the context and the response, softmax over the allowed responses."""

    @cache
    def embed(*texts: str) -> torch.Tensor:
        ids = loss.model.tokenizer(" [SEP] ".join(texts), return_tensors="pt")
        return normalize(loss.model(dict(ids))["token_embeddings"][0].mean(0), dim=0)

    rows = [(c, m["content"]) for c, row in enumerate(conversations) for m in row["messages"]]
    losses = []
    for i, (c, text) in enumerate(rows):
        previous = [t for d, t in rows[:i] if d == c]
        if not previous:
            continue
        if loss.settings.context == "joined":
            context = embed(*previous[-turns:])
        else:
            earlier = previous[:-1][-turns:]
            context = (embed(previous[-1]) + embed(*earlier)) / 2 if earlier else embed(*previous)
        allowed = [t for d, t in rows if d != c and t != text]
        scores = torch.stack([cosine_similarity(context, embed(t), dim=0) for t in [text, *allowed]])
        losses.append((scores / loss.settings.temperature).logsumexp(0) - scores[0] / loss.settings.temperature)
    return torch.stack(losses).mean()


@pytest.mark.parametrize(("context", "turns"), [("single", 1), ("multi", 3)])
def test_siamese_equals_the_literal_formula(tiny_encoder, conversations, context, turns) -> None:
    loss = SiameseLoss(tiny_encoder, SiameseSettings(context=context))
    with torch.no_grad():
        vectors = loss(features_of(tiny_encoder, conversations, turns if context == "multi" else 0))
        torch.testing.assert_close(vectors, literal_siamese(loss, conversations, turns), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("context", ["joined", "averaged"])
def test_single_vector_equals_the_literal_formula(tiny_encoder, conversations, context) -> None:
    loss = SingleVectorLoss(tiny_encoder, SingleVectorSettings(context=context, temperature=0.2))
    with torch.no_grad():
        vectors = loss(features_of(tiny_encoder, conversations, 2))
        torch.testing.assert_close(vectors, literal_single_vector(loss, conversations, 2), rtol=1e-4, atol=1e-4)


def test_siamese_equals_hand_arithmetic(tiny_encoder) -> None:
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


@pytest.mark.parametrize("context", ["joined", "averaged"])
def test_single_vector_equals_hand_arithmetic(tiny_encoder, context) -> None:
    loss = SingleVectorLoss(tiny_encoder, SingleVectorSettings(context=context, temperature=0.5))
    # Conversation 0: texts 0, 1, 2; conversation 1: text 3. Text 4 is texts 0 and 1 joined.
    embeddings = torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    vectors = loss.compute_loss_from_embeddings(
        embeddings,
        turn_text=torch.tensor([0, 1, 2, 3]),
        context_text=torch.tensor([-1, 0, 4, -1]),
        conversation=torch.tensor([0, 0, 0, 1]),
        text_key=torch.tensor([10, 11, 12, 13]),
    )
    # Turn 1: context [1,0], response [0,1]: 0; negative [1,0]: 1.
    first = torch.tensor([0.0, 2.0]).logsumexp(0) - 0
    # Turn 2, response [0,-1], joined context [-1,0]: 0; negative: -1. Averaged, of [0,1] and [1,0]: -√½; negative: √½.
    true, negative = (0.0, -2.0) if context == "joined" else (-(2**0.5), 2**0.5)
    second = torch.tensor([true, negative]).logsumexp(0) - true
    torch.testing.assert_close(vectors, (first + second) / 2)


@pytest.mark.parametrize("kind", [SiameseLoss, SingleVectorLoss])
def test_a_response_nearer_to_its_context_has_a_lower_loss(tiny_encoder, kind) -> None:
    loss = kind(tiny_encoder)
    loss.response_network = torch.nn.Identity()  # of the siamese one
    arguments = (torch.arange(3), torch.tensor([-1, 0, -1]), torch.tensor([0, 0, 1]), torch.tensor([1, 2, 3]))
    far = loss.compute_loss_from_embeddings(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), *arguments)
    near = loss.compute_loss_from_embeddings(torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 1.0]]), *arguments)
    assert near < far


KINDS = [(SiameseLoss, SiameseSettings, context) for context in ("single", "multi")]
KINDS += [(SingleVectorLoss, SingleVectorSettings, context) for context in ("joined", "averaged")]


@pytest.mark.parametrize(("kind", "settings", "context"), KINDS)
def test_training_steps_move_the_encoder_and_lower_the_loss(
    tiny_encoder, conversations, kind, settings, context, check_learning
) -> None:
    features = features_of(tiny_encoder, conversations, 0 if context == "single" else 3)
    check_learning(kind(tiny_encoder, settings(context=context)), *features)


@pytest.mark.parametrize(("kind", "settings", "context"), KINDS[1:])
def test_longer_contexts_need_joined_contexts(tiny_encoder, conversations, kind, settings, context) -> None:
    with pytest.raises(ValueError, match="JoinedContextCollator"):
        kind(tiny_encoder, settings(context=context))(features_of(tiny_encoder, conversations))
