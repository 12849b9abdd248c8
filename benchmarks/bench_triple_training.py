"""Speed of a C3L training step, as a ratio within one run.

(a) Windows per second against encoding the three texts of every triple: of a window of 5 that is 6 positive and 12
negative triples, 54 texts. Both run the same encoder forwards and backwards over slices of similar length; the literal
way may use slices as large, but knows no text that occurs twice.

Run: python benchmarks/bench_triple_training.py [--conversations 8]
Data: $TURNWISE_DATA/sgd/train.jsonl.gz if there, else generated conversations. Shorter conversations have fewer windows
for each text, and so a smaller ratio; --data takes another file.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize
from torch.nn.utils.rnn import pad_sequence

import turnwise
from quick import add_quick, data_folder
from turnwise.encoders.forward import encode_sliced, sliced_means
from turnwise.papers.triple_encoders.c3l import C3LLoss, C3LSettings, c3l_targets
from turnwise.papers.triple_encoders.collator import TurnOrderCollator
from turnwise.papers.triple_encoders.views import View, add_views, view_prompt

DATA = data_folder() / "sgd" / "train.jsonl.gz"
WINDOW = 5
Features = dict[str, Tensor]


def corpus(path: Path) -> Dataset:
    return turnwise.read_conversations(path) if path.is_file() else turnwise.sample_conversations(200)


def literal_triples(encoder: SentenceTransformer, row: dict[str, Any], every: list[str]) -> tuple[Features, Tensor]:
    """The texts of all triples of a conversation, three after three, and the triples' targets."""
    generator = random.Random(0)
    texts: list[str] = []
    targets: list[float] = []

    def view(name: View, text: str, same: bool = True) -> str:
        return f"{encoder.prompts[view_prompt(encoder, name, same)]}{text}"

    turns = [(message["content"], message["role"]) for message in row["messages"]]
    for start in range(len(turns) - WINDOW + 1):
        *context, (candidate, speaker) = turns[start : start + WINDOW]
        befores = [(text, role == speaker) for text, role in context]
        triples = list(combinations(befores, 2))
        for own in befores:
            others = [(generator.choice(every), own[1]) for _ in range(4)]
            triples += [(own, others[0]), (others[1], own), (others[2], others[3])]
        for first, second in triples:
            texts += [view("before1", *first), view("before2", *second), view("after", candidate)]
        positive = c3l_targets(WINDOW).tolist()
        targets += [*positive, *[0.0] * (len(triples) - len(positive))]
    ids = [torch.tensor(ids) for ids in encoder.tokenizer(texts, truncation=True, max_length=64)["input_ids"]]
    features = {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=encoder.tokenizer.pad_token_id),
        "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
    }
    return features, torch.tensor(targets)


def literal_step(encoder: SentenceTransformer, batches: list[tuple[Features, Tensor]]) -> None:
    """The triples of one conversation after the other, as those of all would not fit in memory."""
    for features, targets in batches:
        rows = sliced_means(encode_sliced(encoder, features["input_ids"], features["attention_mask"]))
        first, second, after = normalize(rows, dim=1).unflatten(0, (-1, 3)).unbind(1)
        ((cosine_similarity((first + second) / 2, after) - targets) ** 2).mean().backward()


def our_step(loss: C3LLoss, features: Features) -> None:
    loss([features]).backward()


def seconds(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    add_quick(parser, conversations=1, repeats=1)
    options = parser.parse_args()

    encoder = add_views(turnwise.load_encoder(device="cpu"), "c3l").train()
    long_enough = turnwise.data.keep_long_enough(
        turnwise.data.merge_consecutive_messages(corpus(options.data)), min_turns=WINDOW
    )
    rows = list(long_enough.shuffle(seed=0).select(range(options.conversations)))
    windows = sum(len(row["messages"]) - WINDOW + 1 for row in rows)
    batch = TurnOrderCollator(encoder, WINDOW)(rows)
    features = {name.removeprefix("messages_"): tensor for name, tensor in batch.items()}
    every = [message["content"] for row in rows for message in row["messages"]]
    triples = [literal_triples(encoder, row, every) for row in rows]
    loss = C3LLoss(encoder, C3LSettings(window=WINDOW, negatives=1))
    times = [  # in turns, so that both meet the same machine
        (seconds(lambda: our_step(loss, features)), seconds(lambda: literal_step(encoder, triples)))
        for _ in range(options.repeats)
    ]
    ours, literal = (windows / statistics.median(column) for column in zip(*times))
    encoded = len(features["input_ids"]) / windows
    print(
        f"(a) C3L windows per second: {ours:.2f} against {literal:.2f} literal, ratio {ours / literal:.1f} "
        f"(target: at least 8); texts encoded per window {encoded:.2f} against 54"
    )
    return int(ours / literal < 8 and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
