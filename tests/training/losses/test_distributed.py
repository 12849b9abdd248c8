"""Two processes over gloo compute the loss and the gradients of one process with the joined batch."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch import nn

from turnlens.encoders.rendering import make_conversational
from turnlens.papers.baselines.dual_encoders import SiameseLoss, SiameseSettings, SingleVectorLoss, SingleVectorSettings
from turnlens.papers.dial2vec.collator import ConversationCollator
from turnlens.papers.dial2vec.loss import Dial2vecLoss
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings
from turnlens.papers.in_batch import JoinedContextCollator
from turnlens.papers.triple_encoders import turn_order
from turnlens.papers.triple_encoders.c3l import C3LLoss, C3LSettings
from turnlens.papers.triple_encoders.ccl import CCLLoss, CCLSettings
from turnlens.papers.triple_encoders.collator import TurnOrderCollator
from turnlens.papers.triple_encoders.views import add_views
from turnlens.training.collators import TextCollator

# For each loss its collator, made from the encoder and all conversations, and the loss itself.
LOSSES = {
    "dialogue-cse": (lambda encoder, rows: TextCollator(encoder), DialogueCSELoss),
    "dialogue-cse-attention": (
        lambda encoder, rows: TextCollator(encoder),
        lambda encoder: DialogueCSELoss(encoder, DialogueCSESettings(aggregation="attention")),
    ),
    "siamese": (
        lambda encoder, rows: JoinedContextCollator(encoder),
        lambda encoder: SiameseLoss(encoder, SiameseSettings(context="multi")),
    ),
    "single-vector": (
        lambda encoder, rows: JoinedContextCollator(encoder),
        lambda encoder: SingleVectorLoss(encoder, SingleVectorSettings(context="averaged")),
    ),
    "dial2vec": (
        lambda encoder, rows: ConversationCollator(make_conversational(encoder), Dataset.from_list(rows)),
        Dial2vecLoss,
    ),
}
# Those whose negatives come from the process's own conversations.
LOCAL_LOSSES = {
    "ccl": (
        lambda encoder, rows: TurnOrderCollator(add_views(encoder, "ccl"), window=3, directional=True),
        lambda encoder: CCLLoss(encoder, CCLSettings(window=3, negatives="batch")),
    ),
    "c3l": (
        lambda encoder, rows: TurnOrderCollator(add_views(encoder, "c3l"), window=3),
        lambda encoder: C3LLoss(encoder, C3LSettings(window=3, negatives="batch")),
    ),
}
SHARES = [[0, 1, 2], [3, 4]]  # uneven, in conversations and in turns


def loss_and_gradients(name: str, encoder_path: str, rows: list, share: list[int]) -> dict[str, torch.Tensor]:
    """The loss and all gradients, averaged over the processes as a trainer would."""
    encoder = SentenceTransformer(encoder_path, device="cpu").eval()
    torch.manual_seed(0)  # the same new weights in the losses of all processes
    make_collator, make_loss = (LOSSES | LOCAL_LOSSES)[name]
    collator, loss = make_collator(encoder, rows), make_loss(encoder)
    batch = collator([rows[number] for number in share])
    head = {key: p for key, p in loss.named_parameters() if not key.startswith("model.")}
    if dist.is_initialized():
        loss.model = nn.parallel.DistributedDataParallel(encoder, find_unused_parameters=True)
    value = loss([{key.removeprefix("messages_"): tensor for key, tensor in batch.items()}])
    value.backward()
    found = {"loss": value.detach(), **{key: p.grad for key, p in head.items()}}
    if dist.is_initialized():
        for tensor in found.values():
            dist.all_reduce(tensor)
            tensor /= dist.get_world_size()
    return {**found, **{key: p.grad for key, p in encoder.named_parameters() if p.grad is not None}}


def work(rank: int, folder: str, encoder_path: str, rows: list) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", world_size=2, rank=rank)
    for name in LOSSES | LOCAL_LOSSES:
        vectors = loss_and_gradients(name, encoder_path, rows, SHARES[rank])
        if rank == 0:
            save_file(vectors, Path(folder) / f"{name}.safetensors")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_equal_one_with_the_joined_batch(tmp_path, tiny_encoder_path, conversations, monkeypatch) -> None:
    rows = list(conversations)
    torch.multiprocessing.spawn(work, (str(tmp_path), str(tiny_encoder_path), rows), nprocs=2)

    def assert_equal(name: str, one: dict[str, torch.Tensor]) -> None:
        two = load_file(tmp_path / f"{name}.safetensors")
        assert set(two) >= set(one)
        for key, expected in one.items():
            torch.testing.assert_close(two[key], expected, rtol=1e-3, atol=1e-6, msg=f"{name}: {key} differs")

    for name in LOSSES:
        assert_equal(name, loss_and_gradients(name, str(tiny_encoder_path), rows, [*SHARES[0], *SHARES[1]]))

    counts = []
    process_mean = turn_order.process_mean
    monkeypatch.setattr(
        turn_order, "process_mean", lambda total, count: (counts.append(count), process_mean(total, count))[1]
    )
    for name in LOCAL_LOSSES:
        # Alone, each process has the mean over its own terms; together, over all terms.
        counts.clear()
        first, second = (loss_and_gradients(name, str(tiny_encoder_path), rows, share) for share in SHARES)
        shares = [count / sum(counts) for count in counts]
        assert shares[0] != pytest.approx(0.5, abs=0.1)
        assert_equal(name, {key: shares[0] * first[key] + shares[1] * second[key] for key in first})
