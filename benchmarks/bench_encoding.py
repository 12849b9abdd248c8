"""Embedding messages against stock ``encode`` of the same encoder, in CPU seconds of all threads, interleaved.

Prints (a) the ratio with every text embedded, without torch, (b) with distinct texts only and the cache, part by part
as `turnlens embed` goes, on the corpus as it is, (c) the largest difference of a vector, (d) half precision with its
cosines, and (e) whole conversations of 512 tokens at most.

Run: python benchmarks/bench_encoding.py [--messages 8000] [--corpus sgd] [--encoder MODEL]
Data: $TURNLENS_DATA/sgd and $TURNLENS_DATA/taskmaster4 if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

import turnlens
from quick import add_quick, data_folder, is_quick
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.loading import load_sentence_transformer
from turnlens.encoders.vector_cache import VectorCache

DATA = data_folder()
CONVERSATIONS_IN_PART = 10 if is_quick() else 200


def corpora() -> dict[str, list[list[str]]]:
    """The messages of each conversation of each corpus at hand, in an order that mixes what a file has together."""
    found = {}
    for name in ("sgd", "taskmaster4"):
        if (DATA / name).is_dir():
            files = sorted(str(file) for file in (DATA / name).glob("*.jsonl.gz"))
            found[name] = turnlens.read_conversations(files)
    found = found or {"generated": turnlens.sample_conversations(2000)}
    return {
        name: [[message["content"] for message in messages] for messages in rows.shuffle(seed=0)["messages"][:]]
        for name, rows in found.items()
    }


def parts(conversations: Sequence[Sequence[str]], messages: int) -> list[list[str]]:
    """The messages of so many conversations each, in all at least so many."""
    found: list[list[str]] = []
    for start in range(0, len(conversations), CONVERSATIONS_IN_PART):
        if sum(map(len, found)) >= messages:
            break
        found.append([text for texts in conversations[start : start + CONVERSATIONS_IN_PART] for text in texts])
    return found


def seconds(embed: Callable[[list[str]], np.ndarray], texts: list[str]) -> tuple[float, np.ndarray]:
    start = time.process_time()
    vectors = embed(texts)
    return time.process_time() - start, vectors


def ratio(stock: Sequence[float], other: Sequence[float]) -> str:
    """The ratio of the sums, and the range of nine tenths of the parts drawn anew."""
    random = np.random.default_rng(0)
    drawn = random.integers(len(stock), size=(2000, len(stock)))
    low, high = np.quantile(np.array(stock)[drawn].sum(1) / np.array(other)[drawn].sum(1), (0.05, 0.95))
    return f"{sum(stock) / sum(other):.2f} [{low:.2f}, {high:.2f}]"


def conversation_ratio(encoder: Encoder, stock: SentenceTransformer, conversations: Sequence[Sequence[str]]) -> float:
    """Stock ``encode`` of joined turns against ``encode_conversations``."""
    messages = [[{"role": "any", "content": text} for text in texts] for texts in conversations]
    joined = [" ".join(texts) for texts in conversations]
    limit, stock.max_seq_length = stock.max_seq_length, 512
    ours = by_stock = 0.0
    for _ in range(2):
        start = time.process_time()
        encoder.encode_conversations(messages)
        ours += time.process_time() - start
        start = time.process_time()
        stock.encode(joined, show_progress_bar=False)
        by_stock += time.process_time() - start
    stock.max_seq_length = limit
    return by_stock / ours


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=8000)
    parser.add_argument("--corpus", choices=("sgd", "taskmaster4"), help="which to embed; by default the first at hand")
    parser.add_argument("--encoder", help="a folder or a Hub name; by default the default encoder")
    add_quick(parser, messages=50)
    options = parser.parse_args()

    encoder, found = turnlens.load_encoder(options.encoder), corpora()
    stock = load_sentence_transformer(options.encoder, device="cpu")
    name = options.corpus or next(iter(found))
    for each in (encoder, stock):
        each.encode_messages(["a first text takes longer"] * 64)
    with tempfile.TemporaryDirectory() as folder:
        cache = VectorCache(encoder, Path(folder) / "vectors.sqlite")
        ways: dict[str, Callable[[list[str]], np.ndarray]] = {
            "stock": lambda texts: stock.encode(texts, show_progress_bar=False),
            "all": lambda texts: encoder.encode_texts(texts),
            "distinct": lambda texts: encoder.encode_messages(texts, cache=cache),
            "half": lambda texts: stock.encode_texts(texts, dtype="bfloat16"),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        difference, cosine = 0.0, 1.0
        some = parts(found[name], options.messages)
        for texts in some:
            vectors = {}
            for way, embed in ways.items():
                spent, vectors[way] = seconds(embed, texts)
                times[way].append(spent)
            for way in ("all", "distinct"):
                difference = max(difference, float(np.abs(vectors[way] - vectors["stock"]).max()))
            halves, exact = unit_vectors(vectors["half"]), unit_vectors(vectors["stock"])
            cosine = min(cosine, float((halves * exact).sum(1).min()))
    own = {way: ratio(times["stock"], spent) for way, spent in times.items()}
    texts = [text for part in some for text in part]
    print(f"{len(texts):,} messages of {name}, of them {len(set(texts)):,} distinct; stock {sum(times['stock']):.0f} s")
    print(f"(a) every text: ratio {own['all']} (target: at least 1.8)")
    print(f"(b) distinct texts and the cache: ratio {own['distinct']} (target on a whole corpus: at least 2.5)")
    print(f"(c) largest difference of a vector {difference:.1e} (target: at most 1e-6)")
    print(f"(d) bfloat16: ratio {own['half']}; lowest cosine with the exact vector {cosine:.4f}")
    if options.quick:
        found[name] = found[name][:4]
    print(f"(e) 60 whole conversations: ratio {conversation_ratio(encoder, stock, found[name][:60]):.2f}")
    if options.quick:
        return 0
    return int(sum(times["stock"]) < 1.8 * sum(times["all"]) or difference > 1e-6)


if __name__ == "__main__":
    sys.exit(main())
