"""The worth of answers for groups of customers' messages: groups with and without them, against intents.

`turnlens cluster` finds groups in conversations of Schema-Guided Dialogue ($TURNLENS_DATA) and in generated ones, with
and without adding to a message what its answer says about it. The figures are of all customers' messages with an
intent, means over seeds: groups, accuracy (groups and intents matched one to one), NMI and ARI.

Run: python docs/research-log/studies/study_answers.py [--encoder FOLDER] [--conversations 1000]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import turnlens
from quick import add_quick, data_folder
from turnlens.data.dataset_operations import draw_conversations
from turnlens.evaluation.clustering_metrics import discovery_figures

GUESS = "turnlens.report.analysis.fit_answer_guess"
SHOWN = ("accuracy", "nmi", "ari")


def figures_of(store: Path, intents: dict[tuple[str, int], str], seed: int) -> dict[str, float]:
    """The agreement with intents of the groups that are found in a store, which keeps none; and their number."""
    with tempfile.TemporaryDirectory() as folder:
        table = turnlens.cluster(shutil.copytree(store, Path(folder) / "store"), seed=seed).to_pandas()
    labels = [intents.get(place) for place in zip(table["id"], table["turn"])]
    known = np.array([label is not None for label in labels])
    groups = table["group"].fillna(-1).to_numpy(np.int64)[known]
    found = discovery_figures(groups, [label for label in labels if label is not None])
    return {"groups": len(np.unique(groups[groups >= 0]))} | {name: 100 * found[name] for name in SHOWN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", help="the encoder, by default the one that ships")
    parser.add_argument("--conversations", type=int, default=1000)
    parser.add_argument("--corpora", nargs="*", default=["sgd/test", "sgd/dev", "generated"])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    add_quick(parser, conversations=60, corpora=["generated"], seeds=[0])
    options = parser.parse_args()
    for corpus in options.corpora:
        if corpus == "generated":
            rows: Any = turnlens.sample_conversations(options.conversations, seed=5)
        else:
            rows = turnlens.read_conversations(data_folder() / f"{corpus}.jsonl.gz")
            rows = draw_conversations(rows, options.conversations, seed=3)
        intents = {
            (str(row["id"]), turn): str(message["intent"])
            for row in rows
            for turn, message in enumerate(row["messages"])
            if message["role"] == "user" and message.get("intent")
        }
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            turnlens.ConversationStore.create(store, rows, encoder=options.encoder)
            for way in ("without answers", "with answers"):
                learned = mock.patch(GUESS, return_value=None) if way == "without answers" else nullcontext()
                with learned:
                    runs = [figures_of(store, intents, seed) for seed in options.seeds]
                means = ", ".join(f"{name} {np.mean([run[name] for run in runs]):.1f}" for name in runs[0])
                print(f"{corpus}, {len(set(intents.values()))} intents, {way}: {means}", flush=True)


if __name__ == "__main__":
    main()
