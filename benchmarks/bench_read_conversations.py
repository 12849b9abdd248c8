"""Read a large JSONL file of conversations: rows a second and peak memory.

    python benchmarks/bench_read_conversations.py --rows 1000000
    python benchmarks/bench_read_conversations.py --spans --rows 24500   # 200,000 spans of traces

With ``--spans``, the file is a log of traces: each call repeats its history and has three spans, and five sessions are
interleaved. Exits with 1 if the peak resident memory while reading is above 1 GB, or if other conversations come out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import track

from quick import add_quick

_LIMIT_MB = 1000
_INTERLEAVED = 5
_WORDS = "the a my your order room table train ticket please could you book find tomorrow tonight for two at seven yes"

# Runs in a process of its own, so that the peak memory is that of reading. ru_maxrss counts pages of memory-mapped
# files as well; walking through all rows maps the whole Arrow file, so that peak is reported apart.
_CHILD = """
import json, resource, sys, time
def peak_mb():
    divisor = 1_000_000 if sys.platform == "darwin" else 1_000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / divisor
from turnwise.data.conversations import read_conversations
measured = {"imports_mb": peak_mb()}
began = time.perf_counter()
conversations = read_conversations(sys.argv[1])
measured |= {"rows": len(conversations), "seconds": time.perf_counter() - began, "read_mb": peak_mb()}
began = time.perf_counter()
read_conversations(sys.argv[1])
measured["again_seconds"] = time.perf_counter() - began
began = time.perf_counter()
messages = sum(len(row) for batch in conversations.iter(1000) for row in batch["messages"])
measured |= {"messages": messages, "walk_seconds": time.perf_counter() - began, "walk_mb": peak_mb()}
print(json.dumps(measured))
"""


def write_conversations(path: Path, rows: int, console: Console) -> None:
    """Write ``rows`` conversations of four to eight short messages."""
    draw = random.Random(0)
    words = _WORDS.split()
    sentences = [" ".join(draw.choices(words, k=draw.randint(3, 14))) for _ in range(10_000)]
    with path.open("w", encoding="utf-8") as file:
        for number in track(range(rows), description="writing", console=console, transient=True):
            messages = [
                {"role": ("user", "assistant")[turn % 2], "content": draw.choice(sentences)}
                for turn in range(draw.randint(4, 8))
            ]
            file.write(json.dumps({"id": f"c{number}", "messages": messages, "topic": words[number % 7]}) + "\n")


def write_spans(path: Path) -> Path:
    """Write the conversations of ``path`` as Langfuse's observations."""
    draw = random.Random(0)
    spans = path.with_name("spans.jsonl")
    with path.open(encoding="utf-8") as file, spans.open("w", encoding="utf-8") as log:
        for group in iter(lambda: [json.loads(line) for line in islice(file, _INTERLEAVED)], []):
            calls = {row["id"]: [n for n, m in enumerate(row["messages"]) if m["role"] == "assistant"] for row in group}
            said = {row["id"]: row["messages"] for row in group}
            while calls := {name: left for name, left in calls.items() if left}:
                name = draw.choice(list(calls))
                _write_call(log, name, said[name][: calls[name].pop(0) + 1])
    return spans


def _write_call(log: TextIO, name: str, messages: list[dict[str, str]]) -> None:
    trace, minute = f"{name}-{len(messages)}", f"2026-01-01T00:{len(messages):02}"
    shared = {"traceId": trace, "sessionId": name, "level": "DEFAULT", "usageDetails": {}}
    *history, answer = messages
    kinds = (("SPAN", history[-1]["content"], answer["content"]), ("RETRIEVER", "x", ["a document"]))
    for number, (kind, given, out) in enumerate((*kinds, ("GENERATION", history, answer))):
        span = {
            "id": f"{trace}-{number}",
            "type": kind,
            "startTime": f"{minute}:0{number}Z",
            "input": given,
            "output": out,
        }
        log.write(json.dumps({**shared, **span, "parentObservationId": f"{trace}-0" if number else None}) + "\n")


def differing(path: Path, spans: Path) -> int:
    """How many conversations of ``path``, up to their last answer, are not those read from ``spans``."""
    from turnwise.data.conversations import (
        iterate_conversations,
    )  # late: a child's peak memory begins with its parent's

    read = {row["id"]: [m["content"] for m in row["messages"]] for row in iterate_conversations(spans)}
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    expected = {row["id"]: [m["content"] for m in row["messages"]][: len(row["messages"]) // 2 * 2] for row in rows}
    return len(expected.keys() ^ read.keys()) + sum(read.get(name) != said for name, said in expected.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--spans", action="store_true", help="as a log of traces")
    add_quick(parser, rows=200)
    arguments = parser.parse_args()
    rows = arguments.rows
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.jsonl"
        write_conversations(path, rows, console)
        written = path
        path = write_spans(path) if arguments.spans else path
        size_mb = path.stat().st_size / 1e6
        environment = {**os.environ, "HF_DATASETS_CACHE": str(Path(folder) / "cache")}
        began = time.perf_counter()
        child = [sys.executable, "-c", _CHILD, str(path)]
        output = subprocess.run(child, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        whole = time.perf_counter() - began
        wrong = differing(written, path) if arguments.spans else 0
        if arguments.spans:
            with path.open(encoding="utf-8") as log:
                count = sum(1 for _ in log)
    measured = json.loads(output.splitlines()[-1])
    rows, messages, seconds = measured["rows"], measured["messages"], measured["seconds"]
    print(f"file                   {size_mb:10,.0f} MB, {rows:,} conversations, {messages:,} messages")
    print(f"reading                {rows / seconds:10,.0f} conversations/s, {seconds:.1f} s")
    if arguments.spans:
        print(f"spans                  {count / seconds:10,.0f} a second, of {count:,}")
        print(f"conversations that differ  {wrong:6,}")
    print(f"reading again          {measured['again_seconds'] * 1000:10,.1f} ms")
    print(f"walking all rows       {rows / measured['walk_seconds']:10,.0f} conversations/s")
    print(f"whole process          {whole:10,.1f} s")
    print(f"peak RSS after imports {measured['imports_mb']:10,.0f} MB")
    print(f"peak RSS after reading {measured['read_mb']:10,.0f} MB (limit {_LIMIT_MB:,} MB)")
    print(f"peak RSS after walking {measured['walk_mb']:10,.0f} MB (with the pages of the memory-mapped file)")
    return int(measured["read_mb"] > _LIMIT_MB or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
