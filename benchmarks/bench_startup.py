"""What commands cost before they do anything: CPU seconds of the process and of its children, the median of several.

Prints a line for each command: help, wrong arguments, and what is done with a store that does not change. The store is
made of sample conversations.

Run: python benchmarks/bench_startup.py [--runs 5] [--conversations 300]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import turnwise
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
    "reply turnwise/encoder --conversation one.jsonl --store talks",
    "label one.jsonl --groups talks --output labels.parquet --force",
    "cluster --store talks --output groups.parquet --force",
)


def cpu_seconds(command: list[str], folder: Path) -> float:
    """What a command takes, user and system."""
    before = os.times()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def report(name: str, command: list[str], folder: Path, runs: int) -> None:
    seconds = [cpu_seconds(command, folder) for _ in range(runs)]
    print(f"{statistics.median(seconds):6.2f} CPU s  ({min(seconds):.2f} to {max(seconds):.2f})  {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--conversations", type=int, default=300)
    add_quick(parser, runs=1, conversations=30)
    arguments = parser.parse_args()
    commands = COMMANDS[:4] if arguments.quick else COMMANDS  # the others take seconds each
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turnwise.sample_conversations(arguments.conversations).to_json(str(folder / "chats.jsonl"))
        turnwise.sample_conversations(1, seed=1).to_json(str(folder / "one.jsonl"))
        turnwise_command = [sys.executable, "-m", "turnwise"]
        if not arguments.quick:
            for line in ("index chats.jsonl --store talks", COMMANDS[-1]):
                subprocess.run([*turnwise_command, *line.split()], cwd=folder, check=True, capture_output=True)
        report("import turnwise", [sys.executable, "-c", "import turnwise"], folder, arguments.runs)
        for line in commands:
            report(f"turnwise {line}", [*turnwise_command, *line.split()], folder, arguments.runs)


if __name__ == "__main__":
    main()
