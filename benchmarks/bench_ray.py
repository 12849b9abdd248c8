"""Two actors of Ray against one process with as many threads: what the cluster costs.

Both embed the same corpus shard by shard into a folder, each in a fresh process, in turns. Printed are the seconds from
the first part of the output to the last, for each row embedded meanwhile, and the seconds before the first part:
importing, starting Ray and loading encoders, which a long job pays once. Parts that differ are an error.

Run: python benchmarks/bench_ray.py [--conversations 2000] [--actors 2] [--rounds 3] [--model NAME] [--keep FOLDER]
Needs the extra ray. Data: $TURNLENS_DATA/sgd/train.jsonl.gz if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import turnlens
from quick import add_quick, data_folder, skip, tiny_encoder
from turnlens.scale.output import MANIFEST

SGD = data_folder() / "sgd" / "train.jsonl.gz"
CHILD = """
import sys, torch, turnlens
corpus, output, model, engine, actors, shard = sys.argv[1:]
if engine == "local":
    torch.set_num_threads(int(actors))
turnlens.scale.embed_corpus(corpus, output=output, encoder=model or None, engine=engine, shard_size=int(shard),
                      actors=int(actors) if engine == "ray" else None)
"""


@dataclass(frozen=True)
class Timing:
    """One run.

    Attributes:
        before: Seconds until the first part was there.
        per_row: Seconds for each row from then on.
        total: Seconds altogether.
    """

    before: float
    per_row: float
    total: float


def run(corpus: Path, output: Path, model: str, engine: str, actors: int, shard_size: int) -> Timing:
    """Embed the corpus in a process of its own; the times of the parts tell how it went."""
    began = time.time()
    arguments = [str(corpus), str(output), model, engine, str(actors), str(shard_size)]
    subprocess.run([sys.executable, "-c", CHILD, *arguments], check=True, stderr=subprocess.DEVNULL)
    total = time.time() - began
    parts = json.loads((output / MANIFEST).read_text(encoding="utf-8"))["parts"]
    finished = sorted(((output / part["name"]).stat().st_mtime, part["rows"]) for part in parts)
    rows = sum(count for _, count in finished[1:])
    return Timing(finished[0][0] - began, (finished[-1][0] - finished[0][0]) / rows, total)


def write_corpus(folder: Path, count: int, files: int) -> Path:
    """Conversations in some files."""
    conversations = turnlens.read_conversations(SGD) if SGD.is_file() else turnlens.sample_conversations(count)
    conversations = conversations.select(range(min(count, len(conversations))))
    folder.mkdir()
    for number in range(files):
        rows = conversations.shard(files, number, contiguous=True)
        rows.select_columns(["id", "messages"]).to_json(str(folder / f"file-{number}.jsonl"))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--shard-size", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default="")
    parser.add_argument("--keep", type=Path, help="a folder for what is written")
    add_quick(parser, conversations=40, files=2, shard_size=5, rounds=1, model=lambda: str(tiny_encoder()))
    arguments = parser.parse_args()
    if arguments.quick and find_spec("ray") is None:
        skip("the extra ray is not installed")
    with nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory() as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        corpus = write_corpus(Path(folder) / "corpus", arguments.conversations, arguments.files)
        timings: dict[str, list[Timing]] = {"local": [], "ray": []}
        for number in range(arguments.rounds):
            for engine, found in timings.items():
                output = Path(folder) / f"{engine}-{number}"
                found.append(run(corpus, output, arguments.model, engine, arguments.actors, arguments.shard_size))
                print(f"{engine}, round {number + 1}: {found[-1]}", flush=True)
        names = [sorted(path.name for path in (Path(folder) / f"{engine}-0").iterdir()) for engine in timings]
        if names[0] != names[1]:
            raise SystemExit("the engines wrote different parts")
    per_row = {engine: statistics.median(one.per_row for one in found) for engine, found in timings.items()}
    before = {engine: statistics.median(one.before for one in found) for engine, found in timings.items()}
    print(
        f"{arguments.actors} actors of one thread against one process of {arguments.actors}: "
        f"overhead {100 * (per_row['ray'] / per_row['local'] - 1):+.1f} % a row "
        f"({1e3 * per_row['ray']:.2f} and {1e3 * per_row['local']:.2f} ms); "
        f"before the first part {before['ray']:.1f} and {before['local']:.1f} s"
    )


if __name__ == "__main__":
    main()
