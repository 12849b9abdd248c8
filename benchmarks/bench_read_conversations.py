"""Read a large JSONL file of conversations: rows a second and peak memory.

    python benchmarks/bench_read_conversations.py --rows 1000000
    TURNLENS_DATA=… python benchmarks/bench_read_conversations.py --spans --shared --rows 13700

With ``--spans``, the file is a log of traces as Langfuse exports them: each call repeats its history and has three
spans, and five sessions are interleaved. With ``--shared``, its conversations are not generated. Exits with 1 if the
peak resident memory while reading is above 1 GB, or if other conversations come out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, count, islice, zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from quick import add_quick

_LIMIT_MB = 1000
_INTERLEAVED = 5
_SHARED = ("twitter_support", "sgd", "self_dialogue", "taskmaster4")
Message = dict[str, str]
_WORDS = "the a my your order room table train ticket please could you book find tomorrow tonight for two at seven yes"

# Runs in a process of its own, so that the peak memory is that of reading (on Linux; elsewhere it begins with its
# parent's). It counts pages of memory-mapped files as well; walking through all rows maps the whole Arrow file, so that
# peak is reported apart.
_CHILD = """
import json, re, resource, sys, time
def peak_mb():
    if sys.platform == "linux":
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000_000
from turnlens.data.conversations import read_conversations
measured = {"imports_mb": peak_mb()}
began, cpu = time.perf_counter(), time.process_time()
conversations = read_conversations(sys.argv[1])
measured |= {"cpu": time.process_time() - cpu}
measured |= {"rows": len(conversations), "seconds": time.perf_counter() - began, "read_mb": peak_mb()}
began = time.perf_counter()
read_conversations(sys.argv[1])
measured["again_seconds"] = time.perf_counter() - began
began = time.perf_counter()
messages = sum(len(row) for batch in conversations.iter(1000) for row in batch["messages"])
measured |= {"messages": messages, "walk_seconds": time.perf_counter() - began, "walk_mb": peak_mb()}
print(json.dumps(measured))
"""


def generated_conversations(rows: int) -> Iterator[dict[str, Any]]:
    """Conversations of four to eight short messages."""
    draw = random.Random(0)
    words = _WORDS.split()
    sentences = [" ".join(draw.choices(words, k=draw.randint(3, 14))) for _ in range(10_000)]
    for number in range(rows):
        messages = [
            {"role": ("user", "assistant")[turn % 2], "content": draw.choice(sentences)}
            for turn in range(draw.randint(4, 8))
        ]
        yield {"id": f"c{number}", "messages": messages, "topic": words[number % 7]}


def shared_conversations(rows: int) -> Iterator[dict[str, Any]]:
    """Conversations of several corpora in turn, with at least an answer each."""
    data = Path(os.environ.get("TURNLENS_DATA", "../shared/data"))
    corpora = [_rows(name, sorted((data / name).glob("*.jsonl.gz"))) for name in _SHARED]
    in_turn = (row for row in chain.from_iterable(zip_longest(*corpora)) if row)
    answered = (
        {
            "id": row["id"],
            "messages": [{name: message[name] for name in ("role", "content")} for message in row["messages"]],
        }
        for row in in_turn
        if any(message["role"] == "assistant" for message in row["messages"])
    )
    return islice(answered, rows)


def _rows(corpus: str, paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, row in enumerate(map(json.loads, file)):
                yield {**row, "id": f"{path.stem}-{corpus}-{number}"}


def write_spans(path: Path) -> Path:
    """Write the conversations of ``path`` as a log of traces."""
    draw, seconds = random.Random(0), count(1_700_000_000)
    log_path = path.with_name("spans.jsonl")
    with path.open(encoding="utf-8") as file, log_path.open("w", encoding="utf-8") as log:
        for group in iter(lambda: [json.loads(line) for line in islice(file, _INTERLEAVED)], []):
            calls = {row["id"]: [n for n, m in enumerate(row["messages"]) if m["role"] == "assistant"] for row in group}
            said = {row["id"]: row["messages"] for row in group}
            while calls := {name: left for name, left in calls.items() if left}:
                name = draw.choice(list(calls))
                spans = _langfuse(_call(name, said[name][: calls[name].pop(0) + 1], seconds))
                log.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in spans)
    return log_path


def _call(name: str, messages: list[Message], seconds: Iterator[int]) -> list[dict[str, Any]]:
    """The trace of an answer: the step that holds the others, a retriever and the call."""
    *history, answer = messages
    question = next((message["content"] for message in reversed(history) if message["role"] == "user"), None)
    steps = (("step", question, answer["content"]), ("retriever", "x", ["a document"]), ("call", history, answer))
    trace = f"{name}-{len(messages)}"
    return [
        {"session": name, "trace": trace, "id": f"{trace}-{number}", "parent": f"{trace}-0" if number else None}
        | {"kind": kind, "in": given, "out": out, "second": next(seconds)}
        for number, (kind, given, out) in enumerate(steps)
    ]


def _langfuse(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = {"step": "SPAN", "retriever": "RETRIEVER", "call": "GENERATION"}
    return [
        {"id": span["id"], "traceId": span["trace"], "sessionId": span["session"], "type": kinds[span["kind"]]}
        | {"parentObservationId": span["parent"], "level": "DEFAULT", "usageDetails": {}}
        | {"startTime": datetime.fromtimestamp(span["second"], UTC).isoformat()}
        | {"input": span["in"], "output": span["out"]}
        for span in spans
    ]


def differing(path: Path, spans: Path) -> int:
    """The number of conversations of ``path`` that, up to their last answer, are not those read from ``spans``."""
    from turnlens.data.conversations import iterate_conversations  # late: a child's peak begins with its parent's

    said = lambda messages: [(message["role"], message["content"]) for message in messages]  # noqa: E731
    read = {row["id"]: said(row["messages"]) for row in iterate_conversations(spans)}
    expected = {}
    with path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            last = max(number for number, message in enumerate(row["messages"]) if message["role"] == "assistant")
            expected[row["id"]] = said(row["messages"][: last + 1])
    return len(expected.keys() ^ read.keys()) + sum(read.get(name) != turns for name, turns in expected.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--spans", action="store_true", help="as a log of traces")
    parser.add_argument("--shared", action="store_true", help="conversations of the folder TURNLENS_DATA")
    add_quick(parser, rows=200)
    arguments = parser.parse_args()
    rows = arguments.rows
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.jsonl"
        made = (shared_conversations if arguments.shared else generated_conversations)(rows)
        with path.open("w", encoding="utf-8") as file:
            for row in track(made, description="writing", total=rows, console=console, transient=True):
                file.write(json.dumps(row) + "\n")
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
                spans = sum(len(re.findall(r'"parentObservationId":', line)) for line in log)
    measured = json.loads(output.splitlines()[-1])
    rows, messages, seconds = measured["rows"], measured["messages"], measured["seconds"]
    print(f"file                   {size_mb:10,.0f} MB, {rows:,} conversations, {messages:,} messages")
    print(f"reading                {rows / seconds:10,.0f} conversations/s, {seconds:.1f} s")
    if arguments.spans:
        print(f"spans                  {spans / measured['cpu']:10,.0f} a CPU second, of {spans:,}")
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
