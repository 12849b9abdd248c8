"""DialogueCSE: what the loss costs on top of the encoder, against the literal formula, and its memory.

Prints ratios measured in one run, each opponent with the same encoder, batch and number of threads:

(a) training step over the encoder's own forward and backward pass;
(b) positives per second against encoding each response, its contexts and 9 negatives on their own and building the
    matching matrices of the paper;
(c) peak memory of a step, by number of negatives.

Run: python benchmarks/bench_dialogue_cse.py [--conversations 8] [--repeats 5]
Data: $TURNWISE_DATA/sgd/train.jsonl.gz if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

import turnwise
from quick import add_quick, data_folder, output_of
from turnwise.collators.texts import TextCollator
from turnwise.encoders.forward import encode_sliced
from turnwise.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings
from turnwise.training.freezing import frozen_lower_layers

Features = dict[str, Tensor]
SGD = data_folder() / "sgd" / "train.jsonl.gz"
TURNS, NEGATIVES, TEMPERATURE, RESPONSES_AT_ONCE = 3, 9, 0.1, 16


def batch_of(encoder: SentenceTransformer, conversations: int) -> Features:
    if SGD.is_file():
        rows = turnwise.read_conversations(SGD).shuffle(seed=0).select(range(conversations))
    else:
        rows = turnwise.sample_conversations(conversations)
    batch = TextCollator(encoder)(list(rows))
    return {name.removeprefix("messages_"): value for name, value in batch.items()}


def encoder_alone(encoder: SentenceTransformer, features: Features) -> None:
    """Forward, and backward from a given gradient at every token."""
    slices = list(encode_sliced(encoder, features["input_ids"], features["attention_mask"]))
    torch.autograd.backward([piece.tokens for piece in slices], [torch.ones_like(piece.tokens) for piece in slices])


def full_step(loss: DialogueCSELoss, features: Features) -> None:
    loss([features]).backward()


def literal_step(encoder: SentenceTransformer, features: Features) -> None:
    """Eq. 1-8 pair by pair; every response, context and negative is encoded where it is used, in batches of texts."""
    conversation, turn_text = features["conversation"], features["turn_text"]
    generator = torch.Generator().manual_seed(0)
    numbers = torch.arange(len(conversation))
    for some in numbers.split(RESPONSES_AT_ONCE):
        groups = []
        for turn in some.tolist():
            around = range(max(0, turn - TURNS), min(len(numbers), turn + TURNS + 1))
            context = [other for other in around if other != turn and conversation[other] == conversation[turn]]
            others = numbers[(conversation != conversation[turn]) & (turn_text != turn_text[turn])]
            negatives = others[torch.randperm(len(others), generator=generator)[:NEGATIVES]].tolist()
            groups.append([[turn, *negatives], context])
        rows = turn_text[[turn for group in groups for part in group for turn in part]]
        tokens: dict[int, Tensor] = {}
        for piece in encode_sliced(encoder, features["input_ids"][rows], features["attention_mask"][rows]):
            for row, matrix, mask in zip(piece.rows.tolist(), piece.tokens, piece.mask):
                tokens[row] = matrix[: int(mask.sum())]
        matrices, losses = iter(tokens[row] for row in range(len(rows))), []
        for candidates, context in groups:
            responses = [next(matrices) for _ in candidates]
            utterances = [next(matrices) for _ in context]
            losses.append(literal_loss(responses, utterances))
        (torch.stack(losses).sum() / len(numbers)).backward()


def literal_loss(responses: list[Tensor], utterances: list[Tensor]) -> Tensor:
    """The loss of one context with its response (the first) and its negatives."""
    logits = []
    for response in responses:
        refined = [(utterance @ response.T / math.sqrt(response.shape[1])) @ response for utterance in utterances]
        aware = torch.stack([matrix.mean(0) for matrix in refined]).mean(0)
        logits.append(torch.cosine_similarity(aware, response.mean(0), dim=0) / TEMPERATURE)
    stacked = torch.stack(logits)
    return stacked.logsumexp(0) - stacked[0]


def seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_memory(negatives: str, conversations: int, quick: bool) -> float:
    """Peak memory in MB of one training step in a process of its own."""
    given = ("--conversations", str(conversations), "--memory-of", negatives)
    return float(output_of(__file__, *given, quick=quick).split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    add_quick(parser, conversations=2, repeats=1)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    encoder = turnwise.load_encoder().train()
    features = batch_of(encoder, options.conversations)
    turns, texts = len(features["turn_text"]), len(features["input_ids"])

    if options.memory_of:
        negatives = options.memory_of if options.memory_of == "batch" else int(options.memory_of)
        with frozen_lower_layers(encoder, 3):
            settings = DialogueCSESettings(context_turns=TURNS, negatives=negatives)
            full_step(DialogueCSELoss(encoder, settings), features)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return 0

    threads = torch.get_num_threads()
    print(f"{options.conversations} conversations, {turns} turns, {texts} distinct texts, {threads} threads")
    failed = False
    for frozen in (3,) if options.quick else (3, 0):
        with frozen_lower_layers(encoder, frozen):
            loss = DialogueCSELoss(encoder, DialogueCSESettings(context_turns=TURNS, temperature=TEMPERATURE))
            encoder_alone(encoder, features), full_step(loss, features)  # warm-up
            ratios = []
            for _ in range(options.repeats):
                alone = seconds(lambda: encoder_alone(encoder, features))
                ratios.append(seconds(lambda: full_step(loss, features)) / alone)  # noqa: B023
            ratio = statistics.median(ratios)
            failed |= ratio > 1.15
            print(f"(a) step / encoder alone, {frozen} layers frozen: {ratio:.3f} (target: at most 1.15)")

    with frozen_lower_layers(encoder, 3):
        ours = statistics.median(seconds(lambda: full_step(loss, features)) for _ in range(options.repeats))
        literal = seconds(lambda: literal_step(encoder, features))
    failed |= literal / ours < 8
    print(
        f"(b) positives per second: {turns / ours:.1f} against {turns / literal:.1f} literal, "
        f"ratio {literal / ours:.1f} (target: at least 8)"
    )

    kinds = ("1",) if options.quick else ("1", "9", "19", "batch")
    peaks = {negatives: peak_memory(negatives, options.conversations, options.quick) for negatives in kinds}
    growth = max(peaks.values()) / min(peaks.values())
    failed |= growth > 1.05
    print(
        "(c) peak memory, MB: "
        + ", ".join(f"{name}: {peak:.0f}" for name, peak in peaks.items())
        + f"; largest / smallest {growth:.3f} (target: at most 1.05)"
    )
    return int(failed and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
