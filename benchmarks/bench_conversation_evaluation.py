"""Evaluate embeddings of many whole dialogues: seconds and peak memory of each task.

    python benchmarks/bench_conversation_evaluation.py [--rows 20000] [--dim 384] [--labels 50]

100,000 rows take minutes. Exits with 1 if the peak resident memory is above 4 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from rich.console import Console
from rich.table import Table

from quick import add_quick

_LIMIT_MB = 4000

# Runs in a process of its own, so that the peak memory is that of the evaluation. The embeddings are noisy label
# centres; the peak after each step includes those before it.
_CHILD = """
import json, resource, sys, time
import numpy as np
from turnwise.evaluation import embed_labelled, evaluate_categorization
from turnwise.evaluation import evaluate_conversation_retrieval, evaluate_relatedness, labelled_conversations
from turnwise.papers import evaluate_alignment_uniformity
rows, dim, labels = map(int, sys.argv[1:])
def peak_mb():
    divisor = 1_000_000 if sys.platform == "darwin" else 1_000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / divisor
generator = np.random.default_rng(0)
codes = generator.integers(labels, size=rows)
centres = generator.normal(size=(labels, dim)).astype(np.float32)
vectors = generator.standard_normal(size=(rows, dim), dtype=np.float32)
vectors *= 3
vectors += centres[codes]
measured = {"imports and data": (0.0, peak_mb())}
def conversations():
    for row in range(rows):
        yield {"messages": [{"role": "user", "content": str(row)}], "domain": str(codes[row])}
def timed(name, function):
    began = time.perf_counter()
    result = function()
    measured[name] = (time.perf_counter() - began, peak_mb())
    return result
labelled = timed("labels", lambda: labelled_conversations(conversations()))
embedded = timed("scaling", lambda: embed_labelled(lambda some: vectors, labelled))
timed("ranking (relatedness and retrieval)", lambda: embedded.ranking)
timed("relatedness", lambda: evaluate_relatedness(embedded))
timed("retrieval", lambda: evaluate_conversation_retrieval(embedded))
timed("uniformity", lambda: evaluate_alignment_uniformity(embedded))
timed("categorization", lambda: evaluate_categorization(embedded))
print(json.dumps(measured))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000, help="dialogues")
    parser.add_argument("--dim", type=int, default=384, help="components of an embedding")
    parser.add_argument("--labels", type=int, default=50, help="distinct labels")
    add_quick(parser, rows=200, labels=5)
    given = parser.parse_args()
    sizes = [str(given.rows), str(given.dim), str(given.labels)]
    child = subprocess.run([sys.executable, "-c", _CHILD, *sizes], check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, tuple[float, float]] = json.loads(child.stdout)
    table = Table("step", "seconds", "peak MB so far", title=f"{given.rows:,} dialogues of {given.dim} components")
    for step, (seconds, peak) in measured.items():
        table.add_row(step, f"{seconds:.1f}", f"{peak:.0f}")
    Console().print(table)
    if max(peak for _, peak in measured.values()) > _LIMIT_MB:
        sys.exit(f"peak memory above {_LIMIT_MB} MB")


if __name__ == "__main__":
    main()
