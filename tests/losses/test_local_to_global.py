from __future__ import annotations

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

import turnwise
from turnwise.collators import PartsCollator
from turnwise.encoders.centre import Centre
from turnwise.losses.local_to_global import LocalToGlobalLoss, LocalToGlobalSettings, local_to_global


def unit_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def features(collator: PartsCollator, conversations) -> list[dict[str, torch.Tensor]]:
    return [{name.removeprefix("messages_"): tensor for name, tensor in collator(list(conversations)).items()}]


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


def test_what_agrees_with_the_teacher_is_lower(tiny_encoder: SentenceTransformer) -> None:
    wholes, anchors = unit_rows(6, 32).float(), unit_rows(20, 32, seed=1).float()
    for given in (None, anchors.numpy()):
        loss = LocalToGlobalLoss(tiny_encoder, anchors=given)
        assert abs(loss.compute_loss_from_embeddings(3 * wholes, wholes)) < 1e-5
        assert loss.compute_loss_from_embeddings(wholes.roll(1, 0), wholes) > 0.5


def test_anchors_are_centred_and_stretched_as_dialogues_are(tiny_encoder: SentenceTransformer) -> None:
    parts, wholes, anchors = (unit_rows(count, 32, seed=count) for count in (3, 3, 40))
    settings = LocalToGlobalSettings(temperature=0.2, stretch=0.2)
    found = LocalToGlobalLoss(tiny_encoder, settings, anchors.float().numpy()).compute_loss_from_embeddings(
        parts.float(), wholes.float()
    )
    centre = Centre.fit(anchors.numpy(), 0.2)
    p, w, a = (torch.from_numpy(centre.apply(vectors.numpy())) for vectors in (parts, wholes, anchors))
    expected = local_to_global(p @ a.T, w @ a.T, torch.zeros(3, 40, dtype=torch.bool), 0.2).mean()
    assert float(found) == pytest.approx(float(expected), abs=1e-3)


def test_a_dialogue_is_not_its_own_neighbour_in_half_precision_either(tiny_encoder: SentenceTransformer) -> None:
    anchors = unit_rows(40, 32).float()
    loss = LocalToGlobalLoss(tiny_encoder, anchors=anchors.numpy())
    coarse = anchors[:5].bfloat16().float()
    values = [loss.compute_loss_from_embeddings(part, coarse).item() for part in (anchors[:5], anchors[5:10])]
    mean, stretch, units = loss._anchors
    wholes = normalize((normalize(coarse, dim=1) - mean) @ stretch, dim=1)
    for value, part in zip(values, (units[:5], units[5:10])):
        expected = local_to_global(part @ units.T, wholes @ units.T, torch.eye(5, 40, dtype=torch.bool), 0.05)
        assert value == pytest.approx(float(expected.mean()), abs=1e-3)


@pytest.mark.parametrize("with_anchors", [False, True])
def test_steps_move_the_encoder_but_not_its_teacher(
    tiny_encoder: SentenceTransformer, conversations, check_learning, with_anchors
) -> None:
    anchors = turnwise.encode_conversations(tiny_encoder, conversations["messages"][:]) if with_anchors else None
    loss = LocalToGlobalLoss(tiny_encoder, anchors=anchors)
    batch = features(PartsCollator(tiny_encoder), conversations)
    (teacher,) = loss._teacher
    before = {name: weight.clone() for name, weight in teacher.state_dict().items()}
    check_learning(loss, batch)
    assert all(torch.equal(weight, before[name]) for name, weight in teacher.state_dict().items())
    assert not any("teacher" in name for name, _ in loss.named_parameters())


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"stretch": 2.0}])
def test_settings_out_of_range(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        LocalToGlobalSettings(**settings)
