from __future__ import annotations

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity

from turnwise.collators.utterances import UtteranceCollator
from turnwise.encoders.utterances import encode_utterances
from turnwise.losses import DialogueCSELoss, DialogueCSESettings
from turnwise.losses.untouched import Untouched, structure_divergence

ANCHORED = DialogueCSESettings(anchor=2.0, anchor_temperature=0.1)


def batch_of(encoder: SentenceTransformer, conversations) -> dict[str, Tensor]:
    batch = UtteranceCollator(encoder)(list(conversations))
    return {name.removeprefix("messages_"): tensor for name, tensor in batch.items()}


def disturb(encoder: SentenceTransformer) -> None:
    with torch.no_grad():
        for weight in encoder.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))


def test_divergence_equals_hand_arithmetic() -> None:
    # Of the two candidates the first was three times as likely, now both are alike: ¾ ln (¾ / ½) + ¼ ln (¼ / ½).
    before = torch.tensor([[math.log(3.0), 0.0, 5.0]]) * 0.2
    now = torch.tensor([[0.7, 0.7, -5.0]])
    found = structure_divergence(now, before, torch.tensor([[True, True, False]]), temperature=0.2)
    assert found.item() == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))
    assert structure_divergence(now, before, torch.zeros(1, 3, dtype=torch.bool), temperature=0.2) == 0


def test_equals_the_literal_formula(tiny_encoder, conversations) -> None:
    texts = [message["content"] for row in conversations for message in row["messages"]]
    batch, loss = batch_of(tiny_encoder, conversations), DialogueCSELoss(tiny_encoder.eval(), ANCHORED)
    before = torch.from_numpy(encode_utterances(tiny_encoder, texts))
    disturb(tiny_encoder)
    now = torch.from_numpy(encode_utterances(tiny_encoder, texts))
    divergences = []
    for row, text in enumerate(texts):
        others = [number for number, other in enumerate(texts) if other != text]
        then, since = (
            torch.stack([cosine_similarity(some[row], some[number], dim=0) for number in others]).div(0.1).softmax(0)
            for some in (before, now)
        )
        divergences.append((then * (then / since).log()).sum())
    expected = DialogueCSELoss(tiny_encoder).compute_loss(batch) + 2 * torch.stack(divergences).mean()
    torch.testing.assert_close(loss.compute_loss(batch), expected, rtol=1e-4, atol=1e-5)


def test_an_encoder_that_has_not_moved_pays_nothing(tiny_encoder, conversations) -> None:
    batch = batch_of(tiny_encoder, conversations)
    plain = DialogueCSELoss(tiny_encoder.eval()).compute_loss(batch)
    torch.testing.assert_close(DialogueCSELoss(tiny_encoder, ANCHORED).compute_loss(batch), plain)


def test_the_anchor_pulls_an_encoder_back(tiny_encoder, conversations) -> None:
    batch, untouched = batch_of(tiny_encoder, conversations), Untouched(tiny_encoder)
    loss = DialogueCSELoss(tiny_encoder.eval(), DialogueCSESettings(anchor=1e4))
    disturb(tiny_encoder)
    before = untouched.vectors(batch["input_ids"], batch["attention_mask"])
    optimizer, found = torch.optim.SGD(tiny_encoder.parameters(), lr=1e-6), []
    for _ in range(5):
        optimizer.zero_grad()
        value = loss([batch])
        value.backward()
        optimizer.step()
        found.append(value.item())
    assert found == sorted(found, reverse=True)
    assert torch.equal(untouched.vectors(batch["input_ids"], batch["attention_mask"]), before)


def test_the_copy_is_no_part_of_what_learns(tiny_encoder) -> None:
    names = [name for name, _ in DialogueCSELoss(tiny_encoder, ANCHORED).named_parameters()]
    assert names == [name for name, _ in DialogueCSELoss(tiny_encoder).named_parameters()]


@pytest.mark.parametrize("setting", [{"anchor": -1.0}, {"anchor": math.inf}, {"anchor_temperature": 0.0}])
def test_settings_out_of_range_are_refused(setting) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        DialogueCSESettings(**setting)
