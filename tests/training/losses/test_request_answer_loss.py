import pytest
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy, normalize

import turnlens
from turnlens.training.collators import TextCollator
from turnlens.training.losses import CosineSettings, RequestAnswerLoss
from turnlens.training.recipes.complete import pairs_of

PAIRS = [
    ("my card is lost", "we will block it"),
    ("where is my parcel", "on its way"),
    ("cancel it", "it is cancelled"),
]


def loss_of(encoder: turnlens.ConversationEncoder, pairs: list[tuple[str, str]]) -> float:
    rows = [{"messages": [{"content": text} for text in pair]} for pair in pairs]
    features = {name.removeprefix("messages_"): value for name, value in TextCollator(encoder)(rows).items()}
    return float(RequestAnswerLoss(encoder, CosineSettings()).compute_loss(features).detach())


def test_the_literal_formula(tiny_encoder) -> None:
    requests, answers = (normalize(torch.from_numpy(tiny_encoder.encode(list(side))), dim=1) for side in zip(*PAIRS))
    scores, own = requests @ answers.T / 0.05, torch.arange(3)
    expected = (cross_entropy(scores, own) + cross_entropy(scores.T, own)) / 2
    assert loss_of(tiny_encoder, PAIRS) == pytest.approx(float(expected), rel=1e-3)


def test_equal_answers_are_not_told_apart(tiny_encoder) -> None:
    """Of two requests answered in the same words, neither is to find its own answer rather than the other's."""
    alike = [PAIRS[0], ("i want my money back", PAIRS[0][1])]
    back = torch.tensor([0.0])  # from request to answer there is one candidate alone
    requests = normalize(torch.from_numpy(tiny_encoder.encode([request for request, _ in alike])), dim=1)
    answer = normalize(torch.from_numpy(tiny_encoder.encode([alike[0][1]])), dim=1)[0]
    scores = (requests @ answer / 0.05).expand(2, 2)
    expected = (back + cross_entropy(scores, torch.arange(2))) / 2
    assert loss_of(tiny_encoder, alike) == pytest.approx(float(expected), rel=1e-3)


def test_all_words_of_each_side_are_a_pair() -> None:
    def said(*turns: tuple[str, str]) -> dict[str, object]:
        return {"messages": [{"role": role, "content": text} for role, text in turns]}

    rows = [
        said(("agent", "Hello."), ("user", "It is lost."), ("agent", "What is?"), ("bot", "Parcels are late.")),
        said(("user", "Anybody there?"), ("user", "Hello?")),
    ]
    (pair,) = pairs_of(Dataset.from_list(rows))
    assert [message["content"] for message in pair] == ["Hello.\nWhat is?", "It is lost.\nParcels are late."]
