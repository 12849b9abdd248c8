"""Training in float32 with linear layers through oneDNN against torch's own, which take MKL: processor time of a step.

Run: python benchmarks/bench_training.py [--steps 12] [--rounds 2] [--methods dialogue-cse,ccl]
Generated conversations, the default encoder; both train alike, and the losses must agree.
"""

from __future__ import annotations

import argparse
import statistics
import time
from unittest import mock

import torch

import turnwise
from quick import add_quick, is_quick
from turnwise import _compat
from turnwise.encoders import onednn


def seconds_a_step(method: str, steps: int, through_onednn: bool) -> tuple[float, float]:
    """Processor seconds of a step, between a short and a longer training, and a sum of the trained weights."""
    conversations = turnwise.sample_conversations(16 if is_quick() else 200, seed=0)
    took = []
    with mock.patch.object(onednn, "is_quicker", lambda: through_onednn):
        for count in (2, 2 + steps):
            start = time.process_time()
            encoder = turnwise.train(conversations, method=method, settings={"max_steps": count})
            took.append(time.process_time() - start)
    return (took[1] - took[0]) / steps, sum(float(weight.double().abs().sum()) for weight in encoder.parameters())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--methods", default="dialogue-cse,ccl")
    add_quick(parser, steps=1, rounds=1, methods="ccl")
    arguments = parser.parse_args()
    if not _compat.has_onednn_linear():
        raise SystemExit("torch is built without MKL or oneDNN here: there is nothing to compare")
    for method in arguments.methods.split(","):
        rounds = [
            [seconds_a_step(method, arguments.steps, through_onednn) for through_onednn in (False, True)]
            for _ in range(arguments.rounds)
        ]
        (torch_seconds, onednn_seconds) = (statistics.median(one[side][0] for one in rounds) for side in (0, 1))
        weights = [one[1] for one in rounds[0]]
        if abs(weights[0] - weights[1]) > 1e-5 * weights[0]:
            raise SystemExit(f"{method}: the trained weights differ: {weights}")
        print(
            f"{method}, {torch.get_num_threads()} threads: {torch_seconds:.2f} s a step, through oneDNN "
            f"{onednn_seconds:.2f} s, {torch_seconds / onednn_seconds:.2f} x"
        )


if __name__ == "__main__":
    main()
