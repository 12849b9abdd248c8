"""How much of what was said before should be added to a message: share and decay of `turnwise.encoders.history`.

MAP of intents on development sets, by vectors to which earlier messages were added with each share and decay: the
intents of Schema-Guided Dialogue, which last until the next one; the acts of the assistants of STAR, and the intents of
the sample corpus, of which each message has its own; and the intents of MultiDoGO, of which there are the customers'
messages only. A line for each share and decay goes to the terminal, with the mean over the sets. The chosen ones are
then measured on the test parts (`--parts test`).

Run: python benchmarks/study_history.py [--encoder MODEL] [--parts dev]
Data: $TURNWISE_DATA (sgd, star, multidogo/airline; .jsonl.gz each).
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import turnwise
from quick import add_quick, data_folder
from turnwise.encoders.history import DECAY, SHARE
from turnwise.encoders.messages import encode_messages
from turnwise.evaluation import RetrievalResult, evaluate_retrieval
from turnwise.evaluation.messages.retrieval_with_history import (
    RetrievalWithHistory,
    build_retrieval_with_history,
    evaluate_retrieval_with_history,
)

DATA = data_folder()
LABELS = {"sgd": "intent", "star": "act", "multidogo/airline": "intent"}
GRID = [(0.25, 0.5), (0.5, 0.5), (0.5, 0.7), (0.7, 0.7), (1.0, 0.5), (1.0, 0.7), (1.0, 0.85), (1.0, 1.0), (2.0, 0.5)]


def tasks(parts: str, queries: int) -> dict[str, RetrievalWithHistory]:
    """The task of each data set that is there, and of the sample corpus."""
    sample = turnwise.sample_conversations(300, seed=5 if parts == "dev" else 6)
    built = {"sample": build_retrieval_with_history(sample, max_queries=queries)}
    for name, label in LABELS.items():
        if (path := DATA / f"{name}/{parts}.jsonl.gz").is_file():
            built[name] = build_retrieval_with_history(turnwise.read_conversations(path), label, max_queries=queries)
    return built


def embedded(encoder: Any, task: RetrievalWithHistory) -> dict[str, np.ndarray]:
    """The vector of each distinct text of a task."""
    texts = list(dict.fromkeys(text for talk in task.conversations for text in talk))
    return dict(zip(texts, encode_messages(encoder, texts, dtype="bfloat16")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", help="a folder or a Hub name; by default the encoder that ships")
    parser.add_argument("--parts", choices=("dev", "test"), default="dev")
    parser.add_argument("--queries", type=int, default=600)
    add_quick(parser, queries=20)
    given = parser.parse_args()
    built = tasks(given.parts, given.queries)
    encoder = turnwise.load_encoder(given.encoder, device="cpu")
    vectors = {name: embedded(encoder, task) for name, task in built.items()}

    def encode(name: str, texts: list[str]) -> np.ndarray:
        return np.stack([vectors[name][text] for text in texts])

    def show(title: str, results: dict[str, RetrievalResult]) -> None:
        figures = [result.summary() for result in results.values()]
        cells = ("{map:.1f} [{:.1f}, {:.1f}]".format(*figure["map_interval"], **figure) for figure in figures)
        mean = np.mean([figure["map"] for figure in figures])
        print(f"{title:9}", *(f"{cell:>18}" for cell in cells), f"{mean:.1f}", flush=True)

    print(f"{'':9}", *(f"{name:>18}" for name in built), "mean")
    show("alone", {name: evaluate_retrieval(partial(encode, name), task.task) for name, task in built.items()})
    for share, decay in GRID if given.parts == "dev" else [(SHARE, DECAY)]:
        results = {
            name: evaluate_retrieval_with_history(partial(encode, name), task, 0, share, decay)
            for name, task in built.items()
        }
        show(f"{share:g}, {decay:g}", results)


if __name__ == "__main__":
    main()
