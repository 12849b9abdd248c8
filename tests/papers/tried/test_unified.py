from __future__ import annotations

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from turnwise.collators import TextCollator
from turnwise.encoders.contexts import encode_contexts
from turnwise.encoders.messages import encode_messages
from turnwise.encoders.reply_head import ReplyHead
from turnwise.losses import composed_loss
from turnwise.papers.dialogue_cse.loss import DialogueCSELoss
from turnwise.papers.joined_contexts import JoinedContextCollator
from turnwise.papers.tried.taught_collator import TaughtCollator
from turnwise.papers.tried.teacher_vectors import TeacherVectors
from turnwise.papers.tried.unified import UnifiedLoss, UnifiedSettings

ROWS = [
    {"messages": [{"role": "a", "content": "my card"}, {"role": "b", "content": "cancel it"}]},
    {
        "messages": [
            {"role": "x", "content": "i want pizza"},
            {"role": "y", "content": "the order"},
            {"role": "x", "content": "thanks"},
        ]
    },
    {"messages": [{"role": "a", "content": "a flight to"}, {"role": "a", "content": "thanks"}]},
]


def features(encoder: SentenceTransformer, teacher: SentenceTransformer | None = None) -> dict[str, torch.Tensor]:
    taught = teacher and TeacherVectors(JoinedContextCollator(teacher, context_turns=10))
    batch = TaughtCollator(TextCollator(encoder), taught)(ROWS)
    return {name.removeprefix("messages_"): tensor for name, tensor in batch.items()}


@pytest.fixture
def teacher(tiny_encoder_path) -> SentenceTransformer:
    other = SentenceTransformer(str(tiny_encoder_path), device="cpu").eval()
    with torch.no_grad():
        for weight in other.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(3))
    return other


def test_speakers_are_numbered_by_who_speaks_first(tiny_encoder) -> None:
    assert features(tiny_encoder)["speaker"].tolist() == [0, 1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("weight", [0.0, 1.0, 0.5])
def test_the_sum_of_both_losses_of_the_same_pass(tiny_encoder, weight: float) -> None:
    batch, head = features(tiny_encoder), ReplyHead(32)
    settings = UnifiedSettings(utterance_weight=weight)
    vectors = torch.from_numpy(encode_messages(tiny_encoder, [m["content"] for r in ROWS for m in r["messages"]]))
    turns = {name: batch[name] for name in ("speaker", "conversation", "text_key")}
    expected = composed_loss(head, normalize(vectors, dim=1), **turns, settings=settings)
    expected = expected + weight * DialogueCSELoss(tiny_encoder).compute_loss(batch)
    tiny_encoder.reply_head = head
    found = UnifiedLoss(tiny_encoder, settings).compute_loss(batch)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_the_teacher_reads_the_turns_before_as_one_text(tiny_encoder, teacher) -> None:
    batch, head = features(tiny_encoder, teacher), ReplyHead(32)
    settings = UnifiedSettings(utterance_weight=0.0)
    texts = [[message["content"] for message in row["messages"]] for row in ROWS]
    contexts = [turns[:turn] or ["my"] for turns in texts for turn in range(len(turns))]
    with torch.no_grad():
        responses = torch.from_numpy(encode_messages(teacher, [text for turns in texts for text in turns]))
        taught = torch.from_numpy(encode_contexts(teacher, contexts)), normalize(responses, dim=1)
        own = encode_messages(tiny_encoder, [text for turns in texts for text in turns])
    turns = {name: batch[name] for name in ("speaker", "conversation", "text_key")}
    expected = composed_loss(head, normalize(torch.from_numpy(own), dim=1), **turns, settings=settings, teacher=taught)
    tiny_encoder.reply_head = head
    found = UnifiedLoss(tiny_encoder, settings).compute_loss(batch)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_step_moves_encoder_and_head_and_leaves_the_teacher(tiny_encoder, teacher) -> None:
    head = ReplyHead(32)
    tiny_encoder.reply_head = head
    loss = UnifiedLoss(tiny_encoder)
    names = [name for name, _ in loss.named_parameters()]
    assert {name for name in names if not name.startswith("model.")} == {
        "head.recency",
        "head.context",
        "head.candidate",
    }
    loss.compute_loss(features(tiny_encoder, teacher)).backward()
    learning = [weight for weight in (*tiny_encoder[0].model.encoder.parameters(), *head.parameters())]
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in learning)
    assert all(weight.grad is None for weight in teacher.parameters())


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="utterance_weight"):
        UnifiedSettings(utterance_weight=-1)
