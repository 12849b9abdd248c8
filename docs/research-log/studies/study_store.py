"""The quality of a store's search, by mode.

For random messages with an intent: the share of the ten nearest with the same one, among other texts that have any,
each text once, by mode, with 95 % bootstrap intervals.

Run: python docs/research-log/studies/study_store.py [--model FOLDER] [--store DIR] [--queries 500]
Data: $TURNLENS_DATA/sgd/test.jsonl.gz, indexed with the model into the store unless it is there.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import turnlens
from quick import add_quick, data_folder
from turnlens._utils.vectors import bootstrap_interval, paired_bootstrap_p
from turnlens.store import ConversationStore

SGD = data_folder() / "sgd" / "test.jsonl.gz"
LIMIT, NEAREST = 200, 10
Row = dict[str, Any]


def by_mode(store: ConversationStore, rows: list[Row], queries: int) -> None:
    said = [message for row in rows for message in row["messages"] if message.get("intent")]
    chosen = np.random.default_rng(0).choice(len(said), min(queries, len(said)), replace=False)
    shares: dict[str, np.ndarray] = {}
    for mode in ("vector", "hybrid", "text"):
        shares[mode] = np.array([same_intent(store, said[number], mode) for number in chosen])
        low, high = bootstrap_interval(shares[mode], seed=0)
        mean = 100 * shares[mode].mean()
        print(f"{mode}: same intent {mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]", flush=True)
    for mode in ("hybrid", "text"):
        print(f"vector against {mode}: p = {paired_bootstrap_p(shares['vector'], shares[mode]):.4f}")


def same_intent(store: ConversationStore, message: Row, mode: str) -> float:
    """The share of the ten nearest other texts with any intent that have that of a message."""
    intents: dict[str, Any] = {}
    for hit in store.search_messages(message["content"], mode=mode, limit=LIMIT):
        if hit.labels.get("intent") and hit.text != message["content"]:
            intents.setdefault(hit.text, hit.labels["intent"])
    nearest = list(intents.values())[:NEAREST]
    return float(np.mean([intent == message["intent"] for intent in nearest])) if nearest else 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    add_quick(parser, queries=10)
    arguments = parser.parse_args()
    conversations = turnlens.read_conversations(SGD)
    with tempfile.TemporaryDirectory() as folder:
        store = ConversationStore.open(arguments.store or Path(folder) / "store", encoder=arguments.model)
        store.add(conversations)
        store.compact()
        rows = conversations.to_list()
        print(f"{len(rows):,} conversations; {store.stats().indexes}")
        by_mode(store, rows, arguments.queries)


if __name__ == "__main__":
    main()
