"""Read a large JSONL file of conversations: rows a second and peak memory.

    python benchmarks/bench_read_conversations.py --rows 1000000

Exits with 1 if the peak resident memory while reading is above 1 GB.
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
from pathlib import Path

from rich.console import Console
from rich.progress import track

from quick import add_quick

_LIMIT_MB = 1000
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    add_quick(parser, rows=200)
    rows = parser.parse_args().rows
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.jsonl"
        write_conversations(path, rows, console)
        size_mb = path.stat().st_size / 1e6
        environment = {**os.environ, "HF_DATASETS_CACHE": str(Path(folder) / "cache")}
        began = time.perf_counter()
        child = [sys.executable, "-c", _CHILD, str(path)]
        output = subprocess.run(child, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        whole = time.perf_counter() - began
    measured = json.loads(output.splitlines()[-1])
    rows, messages, seconds = measured["rows"], measured["messages"], measured["seconds"]
    print(f"file                   {size_mb:10,.0f} MB, {rows:,} conversations, {messages:,} messages")
    print(f"reading                {rows / seconds:10,.0f} conversations/s, {seconds:.1f} s")
    print(f"reading again          {measured['again_seconds'] * 1000:10,.1f} ms")
    print(f"walking all rows       {rows / measured['walk_seconds']:10,.0f} conversations/s")
    print(f"whole process          {whole:10,.1f} s")
    print(f"peak RSS after imports {measured['imports_mb']:10,.0f} MB")
    print(f"peak RSS after reading {measured['read_mb']:10,.0f} MB (limit {_LIMIT_MB:,} MB)")
    print(f"peak RSS after walking {measured['walk_mb']:10,.0f} MB (with the pages of the memory-mapped file)")
    return int(measured["read_mb"] > _LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
