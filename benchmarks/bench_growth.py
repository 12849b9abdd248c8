"""Growth of the cost of each stage with the corpus: the constants and exponents of docs/results.md#what-it-costs.

Runs every stage at several sizes, each in a process of its own, and prints its CPU seconds (of all threads) and peak
memory; then the exponent b of time = a · messages^b by least squares on the logarithms, with its 95 % interval, and the
time for a billion messages at the largest size's rate. Stages: reading a JSONL file, embedding (by the default encoder,
and by a static one with random vectors), indexing (store and indexes, nothing
encoded), one search, the groups and the map, the explorer's files, and training (ten steps of the same size, so what
grows is what comes before them). Vectors are random, in clusters, but for embedding.

Run: python benchmarks/bench_growth.py [--sizes 10000 30000 100000] [--stages reading …]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

import turnlens
from bench_store import TURNS, RandomVectors, Vectors, conversations, cpu, per_query
from quick import add_quick, output_of
from turnlens.store import ConversationStore

if TYPE_CHECKING:
    from turnlens.encoders.encoder import Encoder

_LARGEST = {"embedding": 30_000}  # a step of more takes minutes and grows as it did before
_BILLION = 10**9


def chats(folder: Path, messages: int) -> Path:
    """A file of generated conversations."""
    path = folder / "chats.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in conversations(0, messages))
    return path


def filled(folder: Path, messages: int) -> ConversationStore:
    store = ConversationStore.open(folder / "store", encoder=RandomVectors(Vectors(messages)))
    store.add(conversations(0, messages))
    return store


def reading(folder: Path, messages: int) -> Callable[[], object]:
    path = chats(folder, messages)
    return lambda: len(turnlens.read_conversations(path))


def embedding(folder: Path, messages: int) -> Callable[[], object]:
    return _embedding(turnlens.load_encoder(), messages)


def static(folder: Path, messages: int) -> Callable[[], object]:
    return _embedding(static_encoder(256), messages)


def static_encoder(dim: int) -> turnlens.ConversationEncoder:
    """An encoder of random word vectors, which takes hardly any time."""
    import torch  # here, since other stages need none of it, and its memory would be measured
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(0)
    table = StaticEmbedding(turnlens.load_encoder(device="cpu").tokenizer.backend_tokenizer, embedding_dim=dim)
    return turnlens.ConversationEncoder(modules=[table, Normalize()], device="cpu")


def _embedding(encoder: Encoder, messages: int) -> Callable[[], object]:
    texts = [message["content"] for row in conversations(0, messages) for message in row["messages"]]
    encoder.encode_messages(texts[:100])
    return lambda: encoder.encode_messages(texts)


def indexing(folder: Path, messages: int) -> Callable[[], object]:
    store = ConversationStore.open(folder / "store", encoder=RandomVectors(Vectors(messages)))

    def index() -> None:
        store.add(conversations(0, messages))
        store.compact()

    return index


def searching(folder: Path, messages: int) -> Callable[[], object]:
    store = filled(folder, messages)
    store.compact()
    queries = Vectors(messages).of(range(20))
    return lambda: per_query(lambda number: store.search_messages(queries[number]))


def grouping(folder: Path, messages: int) -> Callable[[], object]:
    from turnlens.report import build_report

    store = filled(folder, messages)
    return lambda: build_report(store)


def exploring(folder: Path, messages: int) -> Callable[[], object]:
    from turnlens.page import write_report
    from turnlens.report import build_report

    report = build_report(filled(folder, messages))
    return lambda: write_report(report, folder / "report")


def training(folder: Path, messages: int) -> Callable[[], object]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from tiny_encoder import save_tiny_encoder

    rows = turnlens.read_conversations(chats(folder, messages))
    encoder = turnlens.load_encoder(str(save_tiny_encoder(folder)))
    recipe = turnlens.training.recipes.get_recipe("dialogue-cse", settings={"max_steps": 10, "batch_size": 4})
    return lambda: turnlens.train(rows, method=recipe, encoder=encoder)


STAGES = {
    stage.__name__: stage for stage in (reading, embedding, static, indexing, searching, grouping, exploring, training)
}


def measure(stage: str, messages: int, quick: bool) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a stage, in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:  # what an earlier run has read is not read again
        environment = {**os.environ, "HF_DATASETS_CACHE": cache}
        given = ("--one", stage, "--sizes", str(messages))
        printed = output_of(__file__, *given, quick=quick, environment=environment)
    return tuple(json.loads(printed.splitlines()[-1]))


def once(stage: str, messages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = STAGES[stage](Path(folder), messages // TURNS * TURNS)
        # of one query, not of twenty and the first ones
        seconds = float(work()) if stage == "searching" else cpu(work)
        print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def exponent(sizes: list[int], costs: list[float]) -> tuple[float, float]:
    """The exponent b of cost = a · size^b by least squares on the logarithms, and half its 95 % interval."""
    line = stats.linregress(np.log(sizes), np.log(costs))
    return float(line.slope), float(stats.t.ppf(0.975, len(sizes) - 2) * line.stderr)


def report(stage: str, sizes: list[int], quick: bool) -> None:
    sizes = [size for size in sizes if size <= _LARGEST.get(stage, size)]
    seconds = []
    for size in sizes:
        taken, memory = measure(stage, size, quick)
        seconds.append(taken)
        print(f"{stage:10} {size:>10,} messages {taken:10.3f} s, peak {memory:,.0f} MB", flush=True)
    if len(sizes) > 2:
        slope, margin = exponent(sizes, seconds)
        billion = seconds[-1] * (_BILLION / sizes[-1]) ** slope
        print(f"{stage:10} exponent {slope:.2f} ± {margin:.2f}; at that, a billion messages: {billion:,.3g} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--stages", choices=STAGES, nargs="+", default=list(STAGES))
    add_quick(parser, sizes=[800])
    parser.add_argument("--one", choices=STAGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        once(arguments.one, arguments.sizes[0])
        return
    for stage in arguments.stages:
        report(stage, arguments.sizes, arguments.quick)


if __name__ == "__main__":
    main()
