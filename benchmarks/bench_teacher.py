"""`unified` with a teacher whose vectors are kept, against one that reads each batch anew: processor time of a step.

Run: python benchmarks/bench_teacher.py [--conversations 64] [--epochs 3] [--bf16]
Generated conversations and the default encoder, also as the teacher, or those given by --data, --encoder and --teacher.
Both ways train alike, and the weights must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from unittest import mock

import torch
from datasets import Dataset
from torch import Tensor
from torch.nn.functional import normalize

import turnwise
from quick import add_quick
from turnwise.collators import TextCollator
from turnwise.encoders.forward import encode_sliced, sliced_means, take
from turnwise.encoders.inference import inference
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.papers.tried.taught_collator import TaughtCollator
from turnwise.papers.tried.teacher_vectors import TeacherVectors
from turnwise.papers.tried.unified_recipe import Unified


class ReadsEachBatch(TeacherVectors):
    """The literal formula: whatever the batch holds goes through the teacher."""

    def __init__(self, collator: TextCollator) -> None:
        super().__init__(collator)
        self._literal = collator

    def __call__(self, conversations: Sequence[dict[str, Any]], device: torch.device) -> tuple[Tensor, Tensor]:
        batch = {name: tensor.to(device) for name, tensor in self._literal(conversations).items()}
        teacher = self._literal.encoder.to(device)
        with inference(device):
            rows = encode_sliced(teacher, batch["messages_input_ids"], batch["messages_attention_mask"])
            vectors = normalize(sliced_means(rows), dim=1)
        return take(vectors, batch["messages_context_text"]), take(vectors, batch["messages_turn_text"])


def trained(
    recipe: Unified, conversations: Dataset, encoder: str, vectors: type[TeacherVectors]
) -> tuple[list[float], float]:
    """Processor seconds of a step in each epoch, and a sum of the trained weights."""
    starts: list[float] = []
    collate = TaughtCollator.__call__

    def timed(self: TaughtCollator, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        starts.append(time.process_time())
        return collate(self, rows)

    with (
        mock.patch.object(TaughtCollator, "__call__", timed),
        mock.patch("turnwise.papers.tried.unified_recipe.TeacherVectors", vectors),
    ):
        model = turnwise.train(conversations, method=recipe, encoder=encoder)
    steps = round(len(starts) / recipe.epochs)
    ends = [*starts[::steps], time.process_time()]
    seconds = [(end - start) / steps for start, end in pairwise(ends)]
    return seconds, sum(float(weight.detach().double().abs().sum()) for weight in model.parameters())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--data")
    parser.add_argument("--encoder", default=BASE_ENCODER)
    parser.add_argument("--teacher", default=BASE_ENCODER)
    parser.add_argument("--bf16", action="store_true", help="the encoder in bfloat16; the teacher stays in float32")
    parser.add_argument("--utterance-weight", type=float, default=1.0)
    parser.add_argument("--frozen-layers", type=int)
    add_quick(parser, conversations=4, epochs=1)
    arguments = parser.parse_args()
    conversations = turnwise.sample_conversations(arguments.conversations, seed=0)
    if arguments.data is not None:
        conversations = turnwise.read_conversations(arguments.data)
        conversations = conversations.select(range(min(arguments.conversations, len(conversations))))
    recipe = Unified(
        epochs=float(arguments.epochs),
        teacher=arguments.teacher,
        utterance_weight=arguments.utterance_weight,
        frozen_layers=arguments.frozen_layers,
        bf16=arguments.bf16 or None,
    )
    (literal, expected), (kept, found) = (
        trained(recipe, conversations, arguments.encoder, vectors) for vectors in (ReadsEachBatch, TeacherVectors)
    )
    if abs(found - expected) > 1e-5 * expected:
        raise SystemExit(f"the trained weights differ: {expected} and {found}")
    for epoch, (before, after) in enumerate(zip(literal, kept), start=1):
        print(f"epoch {epoch}: {before:.2f} s a step, kept {after:.2f} s, {before / after:.2f} x")
    print(f"all: {sum(literal):.2f} s for a step of each, kept {sum(kept):.2f} s, {sum(literal) / sum(kept):.2f} x")


if __name__ == "__main__":
    main()
