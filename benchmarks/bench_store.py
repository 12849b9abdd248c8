"""The conversation store against one exact pass of numpy over the same vectors, in CPU seconds of all threads.

Prints (a) the store's exact search and its indexed search, with recall@10 and what building costs, (b)
hybrid against vector search, (c) adding one per cent against indexing all, nothing encoded, and (d) the peak memory of
indexing a quarter and all of the messages, each in a process of its own.

The vectors are random, in clusters within topics, so that nothing needs to be encoded; the texts have words as frequent
as in language (Zipf).

Run: python benchmarks/bench_store.py [--messages 200000]
"""

from __future__ import annotations

import argparse
import re
import resource
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from quick import add_quick, output_of
from turnlens._utils.processes import keep_little_free_memory
from turnlens.store import ConversationStore, indexes
from turnlens.store.store_encoder import StoreEncoder

DIM, TURNS, QUERIES = 384, 16, 20
MESSAGES_IN_CLUSTER, CLUSTERS_IN_TOPIC = 20, 200


class RandomVectors(StoreEncoder):
    """Gives the n-th message ("message n: …") the n-th of some random vectors, and any other text one of them."""

    has_replies, dim, name = False, DIM, "random"

    def __init__(self, vectors: Vectors) -> None:
        super().__init__(SimpleNamespace(centre={}), "messages")
        self._vectors = vectors

    def digest(self) -> str:
        return "random"

    def messages(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        found = [re.match(r"message (\d+):", text) for text in texts]
        numbers = [int(match[1]) if match else zlib.crc32(text.encode()) for match, text in zip(found, texts)]
        return {"vector": self._vectors.of(numbers), "tokens": np.ones(len(texts), np.int64)}

    def _text_query(self, text: str) -> np.ndarray:
        return self.messages([text])["vector"][0]


class Vectors:
    """Random vectors of length 1, made when they are asked for, so that memory is the store's."""

    def __init__(self, messages: int) -> None:
        random, clusters = np.random.default_rng(0), messages // MESSAGES_IN_CLUSTER
        topics = random.standard_normal((clusters // CLUSTERS_IN_TOPIC + 1, DIM), np.float32)
        self._clusters = random.standard_normal((clusters, DIM), np.float32)
        self._clusters += topics[np.arange(clusters) // CLUSTERS_IN_TOPIC]

    def of(self, numbers: Sequence[int]) -> np.ndarray:
        vectors = np.empty((len(numbers), DIM), np.float32)
        for row, number in enumerate(numbers):
            random = np.random.default_rng(number)
            cluster = self._clusters[random.integers(len(self._clusters))]
            vectors[row] = cluster + random.standard_normal(DIM, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def conversations(first: int, last: int) -> Iterator[dict[str, Any]]:
    """Conversations of sixteen messages."""
    for start in range(first, last, TURNS):
        words = np.random.default_rng(start).zipf(1.3, (TURNS, 8)) % 50_000
        yield {
            "id": f"talk-{start}",
            "messages": [
                {"role": ("user", "agent")[turn % 2], "content": f"message {start + turn}: {said(words[turn])}"}
                for turn in range(TURNS)
            ],
        }


def said(words: np.ndarray) -> str:
    return " ".join(f"word{word}" for word in words)


def cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def per_query(search: Callable[[int], Any]) -> float:
    for query in range(3):
        search(query)
    return cpu(lambda: [search(query) for query in range(QUERIES)]) / QUERIES


def measure(folder: Path, messages: int) -> None:
    vectors = Vectors(messages)
    store = ConversationStore.open(folder / "store", encoder=RandomVectors(vectors))
    making = cpu(lambda: [vectors.of(range(start, start + 1000)) for start in range(0, messages, 1000)])
    whole = cpu(lambda: store.add(conversations(0, messages))) - making
    matrix = vectors.of(range(messages))
    queries = matrix[np.random.default_rng(1).integers(0, messages, QUERIES)]
    numpy_pass = per_query(lambda query: np.argpartition(-(matrix @ queries[query]), 10)[:10])
    print(f"one numpy pass over {messages:,} × {DIM}: {1000 * numpy_pass:.1f} ms")

    def report(what: str, seconds: float, further: str = "") -> None:
        print(f"{what:34} {1000 * seconds:8.1f} ms {seconds / numpy_pass:7.2f} passes{further}", flush=True)

    building = cpu(store.compact)
    whole += building
    facts = store.stats().indexes["vector"]
    table = store.tables().messages

    def exact(query: int) -> Any:
        return table.ranked(table.nearest("vector", queries[query], None, 10, is_exact=True), ["turn"])

    report("exact search", per_query(exact))
    recall = ", ".join(f"{part.recall:.3f} of {part.rows:,} with {part.probes} probes" for part in facts)
    further = f", recall@10 {recall}; built in {building / numpy_pass:.0f} passes, compaction and all"
    report("indexed search", per_query(lambda query: store.search_messages(queries[query])), further)
    compare_hybrid(store, messages)
    hundredth = messages // 100 // TURNS * TURNS
    more = cpu(lambda: store.add(conversations(messages, messages + hundredth)))
    more -= cpu(lambda: vectors.of(range(messages, messages + hundredth)))
    tidying = cpu(store.compact)
    print(
        f"adding 1 %: {100 * more / whole:.2f} % of indexing all, {100 * (more + tidying) / whole:.2f} % with compact"
    )


def compare_hybrid(store: ConversationStore, messages: int) -> None:
    numbers = np.random.default_rng(2).integers(0, messages, QUERIES)
    texts = [store.get(f"talk-{n // TURNS * TURNS}")["messages"][n % TURNS]["content"] for n in numbers]
    costs = {
        mode: per_query(lambda query, mode=mode: store.search_messages(texts[query], mode=mode))
        for mode in ("vector", "text", "hybrid")
    }
    told = ", ".join(f"{mode} {1000 * seconds:.1f} ms" for mode, seconds in costs.items())
    print(f"{told}: hybrid / vector = {costs['hybrid'] / costs['vector']:.2f}")


def peak_memory(messages: int, quick: bool) -> float:
    """Peak of a process that indexes so many messages, in MB."""
    return float(output_of(__file__, "--peak", "--messages", str(messages), quick=quick))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=200_000)
    add_quick(parser, messages=3200)
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    messages = arguments.messages // TURNS * TURNS
    with tempfile.TemporaryDirectory() as folder:
        if arguments.peak:
            keep_little_free_memory()  # as turnlens index does
            store = ConversationStore.open(Path(folder) / "store", encoder=RandomVectors(Vectors(20_000)))
            store.add(conversations(0, messages))
            store.compact()
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            return
        # first, since a process is told the peak of the one that started it, if that is higher
        for part in (messages // 4, messages):
            print(f"peak memory of indexing {part:,}: {peak_memory(part, arguments.quick):,.0f} MB", flush=True)
        smallest = 1000 if arguments.quick else indexes.SMALLEST_INDEXED
        with mock.patch.object(indexes, "SMALLEST_INDEXED", smallest):
            measure(Path(folder), messages)


if __name__ == "__main__":
    main()
