"""How well a store finds: messages by mode, and next replies against the model's own ranking of all messages.

(a) For random messages with an intent: the share of the ten nearest with the same one, among other texts that have any,
each text once, by mode, with 95 % bootstrap intervals. (b) With a model that has a reply head or views: for random
contexts, the replies that the store finds against `ReplyModel`'s scores of all its messages: whether the exact
search is the same, and recall@10 of the index.

Run: python benchmarks/study_store.py [--model FOLDER] [--store DIR] [--queries 500]
Data: $TURNWISE_DATA/sgd/test.jsonl.gz, indexed with the model into the store unless it is there.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import turnwise
from quick import add_quick, data_folder
from turnwise.evaluation.metrics import bootstrap_interval, paired_bootstrap_p
from turnwise.replies.reply_model import next_speaker
from turnwise.store import ConversationStore

SGD = data_folder() / "sgd" / "test.jsonl.gz"
LIMIT, NEAREST = 200, 10
Row = dict[str, Any]


def by_mode(store: ConversationStore, rows: list[Row], queries: int) -> None:
    """Print (a)."""
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


def replies(store: ConversationStore, model: str, rows: list[Row], queries: int) -> None:
    """Print (b)."""
    sequence = turnwise.ReplyModel(turnwise.load_encoder(model))
    tables = store._folder.tables()
    table, column = tables.messages, "reply"
    texts = sorted({message["content"] for row in store.export() for message in row["messages"]})
    candidates = sequence.encode_candidates(texts)
    random = np.random.default_rng(0)
    differences, equal, recalls = [], [], []
    for number in random.choice(len(rows), queries):
        context = rows[number]["messages"][: random.integers(1, len(rows[number]["messages"]))]
        running = sequence.start(next_speaker(context))
        for message in context:
            running.add(message["content"], message["role"])
        scores = np.sort(running.score(candidates))[::-1][:NEAREST]
        query = running.query_of().astype(np.float32)
        exact = distinct_scores(table.ranked(table.nearest(column, query, None, LIMIT, is_exact=True), ["text"]))
        found = distinct_scores(table.ranked(table.nearest(column, query, None, LIMIT), ["text"]))
        count = min(len(exact), NEAREST)  # a text that is said very often leaves fewer
        differences.append(float(np.abs(exact[:count] - scores[:count]).max()))
        equal.append(differences[-1] < 1e-4 * max(1.0, abs(scores[0])))
        recalls.append(np.mean(found[:count] >= exact[count - 1] - 1e-4) if len(found) >= count else 0.0)
    print(
        f"{queries} contexts, {len(texts):,} distinct of {table.count_rows():,} messages: the best {NEAREST} scores "
        f"equal ReplyModel's for {sum(equal)}, largest difference {max(differences):.1e}; recall@{NEAREST} of the "
        f"index {np.mean(recalls):.3f}"
    )


def distinct_scores(found: Any) -> np.ndarray:
    """Scores, the best first, each text once."""
    best: dict[str, float] = {}
    for text, score in zip(found["text"].to_pylist(), found["score"].to_pylist()):
        best.setdefault(text, score)
    return np.array(list(best.values()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    add_quick(parser, queries=10)
    arguments = parser.parse_args()
    conversations = turnwise.read_conversations(SGD)
    with tempfile.TemporaryDirectory() as folder:
        store = ConversationStore.open(arguments.store or Path(folder) / "store", encoder=arguments.model)
        store.add(conversations)
        store.compact()
        rows = conversations.to_list()
        print(f"{len(rows):,} conversations; {store.stats().indexes}")
        by_mode(store, rows, arguments.queries)
        if store._folder.tables().state.has_replies:
            replies(store, arguments.model, rows, arguments.queries)


if __name__ == "__main__":
    main()
