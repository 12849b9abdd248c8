"""The cost of commands before they do anything: CPU seconds of the process and of its children, the median of several.

Prints a line for each command: help, wrong arguments, and what is done with a store that does not change; how many
modules it imports, and which of the large libraries. Then what `turnlens serve` takes until its first embedding, in
seconds by the clock, too. The store is made of sample conversations.

Run: python benchmarks/bench_startup.py [--runs 5] [--conversations 300]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import turnlens
from bench_service import server, wait_until_embedded
from quick import add_quick

COMMANDS = (
    "--help",
    "search --help",
    "train chats.jsonl --method nope --output model",
    "train nowhere.jsonl --output model",
    "train chats.jsonl --set nope=1 --output model",
    "evaluate chats.jsonl --task nope",
    "embed nowhere.jsonl --output vectors.parquet",
    "inspect chats.jsonl",
    "store info talks",
    "search talks card --mode text",
    "search talks card",
    "reply turnlens/encoder --conversation one.jsonl --store talks",
    "label one.jsonl --groups talks --output labels.parquet --force",
    "cluster --store talks --output groups.parquet --force",
)
LARGE = ("torch", "transformers", "datasets", "sklearn", "scipy", "pandas", "matplotlib", "lancedb", "fastapi")


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Return the seconds of a command, user and system."""
    before = os.times()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def imports(arguments: list[str], folder: Path) -> set[str]:
    """The modules that a command imports."""
    command = [sys.executable, "-X", "importtime", *arguments]
    lines = subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def report(name: str, arguments: list[str], folder: Path, runs: int) -> None:
    seconds = [cpu_seconds([sys.executable, *arguments], folder) for _ in range(runs)]
    modules = imports(arguments, folder)
    large = (
        ", ".join(name for name in LARGE if any(module.startswith(f"{name}.") for module in modules))
        or "no large library"
    )
    spread = f"{statistics.median(seconds):6.2f} CPU s  ({min(seconds):.2f} to {max(seconds):.2f})"
    print(f"{spread}  {len(modules):5,} modules, {large or 'no large library'}: {name}", flush=True)


def report_service(*options: str) -> None:
    start = time.perf_counter()
    with server(*options) as (url, process):
        wait_until_embedded(url, {"input": "my card is gone"})
        seconds, cpu = time.perf_counter() - start, sum(process.cpu_times()[:2])
    print(f"{cpu:6.2f} CPU s  ({seconds:.2f} s by the clock)  turnlens serve {' '.join(options)}, its first embedding")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--conversations", type=int, default=300)
    add_quick(parser, runs=1, conversations=30)
    arguments = parser.parse_args()
    commands = COMMANDS[:4] if arguments.quick else COMMANDS  # the others take seconds each
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turnlens.sample_conversations(arguments.conversations).to_json(str(folder / "chats.jsonl"))
        turnlens.sample_conversations(1, seed=1).to_json(str(folder / "one.jsonl"))
        command = ["-m", "turnlens"]
        if not arguments.quick:
            for line in ("index chats.jsonl --store talks", COMMANDS[-1]):
                subprocess.run([sys.executable, *command, *line.split()], cwd=folder, check=True, capture_output=True)
        report("import turnlens", ["-c", "import turnlens"], folder, arguments.runs)
        for line in commands:
            report(f"turnlens {line}", [*command, *line.split()], folder, arguments.runs)
        if not arguments.quick:
            report_service()
            report_service("--store", str(folder / "talks"))


if __name__ == "__main__":
    main()
