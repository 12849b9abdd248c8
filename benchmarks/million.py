"""What the commands cost on a million messages, from the file to the page: nothing is random, sampled or left out.

Writes conversations of the sample corpus's grammar, a quarter of whose messages are made distinct by a reference
(embedding distinct texts is most of the time, and grows in proportion), and runs `index`, `search`, `cluster` and
`explore --export` on them, each as a user would. Prints each command's time, processor time, peak memory and what it
left on the disk; with several sizes also the exponent b of processor time = a · messages^b, as
benchmarks/bench_growth.py fits it.

Interrupted, the same command goes on: what is done stands in results.json in the folder of its size, and `index`
continues by itself.

Run: python benchmarks/million.py --work million [--sizes 10000 100000 1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import turnlens
from bench_growth import exponent
from quick import add_quick, scratch, tiny_encoder

_AT_A_TIME = 10_000  # conversations that are drawn with one seed
_DISTINCT = 0.25
_BEGINNING = datetime(2025, 1, 1)


def conversations(messages: int) -> Iterator[dict[str, Any]]:
    """Conversations with at least so many messages in all, a minute from message to message."""
    written, numbers = 0, count(1)
    generator = np.random.default_rng(0)
    for seed in count():
        for row in turnlens.sample_conversations(min(_AT_A_TIME, messages), seed=seed).to_list():
            for message in row["messages"]:
                if generator.random() < _DISTINCT:
                    message["content"] += f" Reference {next(numbers)}."
                message["time"] = (_BEGINNING + written * timedelta(minutes=1)).isoformat()
                written += 1
            yield row
            if written >= messages:
                return


def write(path: Path, messages: int) -> None:
    """The file of conversations."""
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in conversations(messages))
    partial.replace(path)


def run(*words: str | Path, cache: Path) -> dict[str, float]:
    """Run a command: its time and processor time in seconds, its peak memory in MB."""
    started = time.monotonic()
    environment = {**os.environ, "HF_DATASETS_CACHE": str(cache)}
    process = subprocess.Popen([sys.executable, "-m", "turnlens", *map(str, words)], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"turnlens {words[0]} ended with {os.waitstatus_to_exitcode(status)}")
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": time.monotonic() - started, "cpu": cpu, "memory": used.ru_maxrss / 1024}


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def measure(work: Path, messages: int, model: list[str]) -> dict[str, dict[str, float]]:
    """What each command costs; what an earlier run has measured is not run again."""
    folder = work / str(messages)
    folder.mkdir(parents=True, exist_ok=True)
    results_file = folder / "results.json"
    results: dict[str, dict[str, float]] = json.loads(results_file.read_text()) if results_file.exists() else {}
    chats, store, page = folder / "chats.jsonl", folder / "store", folder / "page"
    if not chats.exists():
        write(chats, messages)
    commands = {
        "index": (["index", chats, "--store", store, *model], store),
        "search": (["search", store, "I want to end my contract"], store),
        "cluster": (["cluster", "--store", store, "--output", folder / "groups.parquet"], store),
        "explore": (["explore", "--store", store, "--export", page], page),
    }
    for name, (words, left) in commands.items():
        if name not in results:
            results[name] = {**run(*words, cache=folder / "cache"), "disk": megabytes(left)}
            results_file.write_text(json.dumps(results, indent=1))
        cost = results[name]
        times = f"{cost['seconds']:8.1f} s, {cost['cpu']:8.1f} CPU s"
        sizes = f"peak {cost['memory']:6,.0f} MB, disk {cost['disk']:6,.0f} MB"
        print(f"{messages:>10,} {name:8} {times}, {sizes}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required="--quick" not in sys.argv)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    add_quick(parser, sizes=[200], work=scratch)
    arguments = parser.parse_args()
    model = ["--model", str(tiny_encoder())] if arguments.quick else []
    measured = [measure(arguments.work, size, model) for size in arguments.sizes]
    if len(measured) > 2:
        for name in measured[0]:
            slope, margin = exponent(arguments.sizes, [results[name]["cpu"] for results in measured])
            print(f"{name:8} exponent {slope:.2f} ± {margin:.2f}")


if __name__ == "__main__":
    main()
