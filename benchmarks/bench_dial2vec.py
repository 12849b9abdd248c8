"""dial2vec: a training step against the literal implementation, same encoder, dialogues, negatives and frozen layers.

The opponent is the paper as printed: every row padded to 512 tokens, n x n correlation matrices for both interlocutors,
masked by the window, multiplied with the embeddings and then pooled; a batch of five dialogues at once.

Prints (a) dialogues per second and their ratio, also with the encoder in bfloat16, (b) the peak memory of each, as a
whole and above that of the loaded encoder, (c) how the time of the loss alone grows with the length of a dialogue.

Run: python benchmarks/bench_dial2vec.py [--dialogues 5]
Data: $TURNWISE_DATA/sgd/train.jsonl.gz if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from contextlib import nullcontext

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity, pad

import turnwise
from quick import add_quick, data_folder, is_quick, output_of
from turnwise.encoders.rendering import make_conversational
from turnwise.papers.dial2vec.collator import ConversationCollator
from turnwise.papers.dial2vec.loss import Dial2vecLoss, Dial2vecSettings, cross_representation, self_representation
from turnwise.training.freezing import frozen_lower_layers, no_attention_dropout

SGD = data_folder() / "sgd" / "train.jsonl.gz"
LENGTH, WINDOW, TEMPERATURE = 64 if is_quick() else 512, 10, 0.2
Features = dict[str, Tensor]


def corpus() -> Dataset:
    return turnwise.read_conversations(SGD) if SGD.is_file() else turnwise.sample_conversations(500)


def batches(encoder: SentenceTransformer, dialogues: int, at_once: int) -> list[Features]:
    conversations = corpus()
    rows = list(conversations.shuffle(seed=0).select(range(dialogues)))
    collate = ConversationCollator(encoder, conversations)
    return [
        {name.removeprefix("messages_"): tensor for name, tensor in collate(rows[start : start + at_once]).items()}
        for start in range(0, dialogues, at_once)
    ]


def our_step(encoder: SentenceTransformer, dialogues: list[Features]) -> None:
    loss = Dial2vecLoss(encoder, Dial2vecSettings(WINDOW, TEMPERATURE))
    for features in dialogues:
        (loss([features]) / len(dialogues)).backward()


def literal_step(encoder: SentenceTransformer, batch: Features) -> None:
    """Eq. 1-6 as printed."""
    missing = LENGTH - batch["input_ids"].shape[1]
    ids, mask = pad(batch["input_ids"], (0, missing)), pad(batch["attention_mask"], (0, missing))
    speaker, turn = (pad(batch[name], (0, missing), value=-1) for name in ("speaker", "turn"))
    tokens = encoder({"input_ids": ids, "attention_mask": mask})["token_embeddings"]  # (rows, 512, dim)
    near = (turn.unsqueeze(2) - turn.unsqueeze(1)).abs() <= WINDOW  # (rows, 512, 512)
    first, second = (tokens * (speaker == who).unsqueeze(2) for who in (0, 1))
    logits = []
    for own, other, who in ((first, second, 0), (second, first, 1)):
        correlation = (other @ own.transpose(1, 2)) * near
        cross = (correlation @ own).mean(1)
        mean = own.sum(1) / (speaker == who).sum(1, keepdim=True).clamp(min=1)
        logits.append(cosine_similarity(mean, cross, dim=1) / TEMPERATURE)
    stacked = torch.stack(logits, 1).unflatten(0, (len(batch["speakers"]), -1))  # (dialogues, rows, 2)
    (stacked.logsumexp(1) - stacked[:, 0]).sum(1).mean().backward()


def measure(kind: str, dialogues: int) -> None:
    """One kind in this process: seconds a step, and megabytes at the peak and before the step."""
    encoder = make_conversational(turnwise.load_encoder(device="cpu"), LENGTH).train()
    given = batches(encoder, dialogues, dialogues if kind == "literal" else 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = []
    # Attention dropout needs the n x n weights: the recipe learns without it, the published implementation with it.
    without = no_attention_dropout(encoder) if kind != "literal" else nullcontext()
    with frozen_lower_layers(encoder, 3), without:
        for _ in range(1 if is_quick() else 3):
            start = time.perf_counter()
            if kind == "literal":
                literal_step(encoder, given[0])
            else:
                with torch.autocast("cpu", torch.bfloat16, enabled=kind == "bf16"):
                    our_step(encoder, given)
            times.append(time.perf_counter() - start)
    print(statistics.median(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, before)


def seconds_of_loss(length: int) -> float:
    """Forward and backward of the representations of a row of so many tokens, 15 to a turn."""
    tokens = torch.randn(1, length, 384, requires_grad=True)
    turn = (torch.arange(length) // 15).unsqueeze(0)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        own = self_representation(tokens, turn % 2)
        cosine_similarity(own, cross_representation(tokens, turn % 2, turn, WINDOW), dim=2).sum().backward()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=5)
    add_quick(parser, dialogues=1)
    parser.add_argument("--measure", choices=["ours", "bf16", "literal"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.dialogues)
        return 0
    results = {}
    for kind in ("ours", "bf16", "literal"):
        given = ("--dialogues", str(options.dialogues), "--measure", kind)
        printed = output_of(__file__, *given, quick=options.quick)
        results[kind] = [float(number) for number in printed.split()[-3:]]
    ours, literal = results["ours"], results["literal"]
    speed = literal[0] / ours[0]
    print(
        f"(a) dialogues per second: {options.dialogues / ours[0]:.2f} against {options.dialogues / literal[0]:.2f} "
        f"literal, ratio {speed:.1f} (target: at least 8); in bfloat16 {options.dialogues / results['bf16'][0]:.2f}, "
        f"ratio {literal[0] / results['bf16'][0]:.1f}"
    )
    above = (ours[1] - ours[2]) / max(1.0, literal[1] - literal[2])
    print(
        f"(b) peak memory, MB: {ours[1]:.0f} against {literal[1]:.0f}, ratio {ours[1] / literal[1]:.2f}; above the "
        f"loaded encoder {ours[1] - ours[2]:.0f} against {literal[1] - literal[2]:.0f}, ratio {above:.2f} "
        f"(target: at most 0.33)"
    )
    lengths = (512,) if options.quick else (512, 1024, 2048, 4096)
    times = [seconds_of_loss(length) for length in lengths]
    print("(c) loss alone, milliseconds: " + ", ".join(f"{n} tokens {1000 * t:.1f}" for n, t in zip(lengths, times)))
    if options.quick:
        return 0
    return int(speed < 8 or ours[1] / literal[1] > 1 / 3 or times[-1] / times[0] > 12)


if __name__ == "__main__":
    sys.exit(main())
