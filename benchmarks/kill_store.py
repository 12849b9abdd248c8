"""Kill -9 a process that writes to a store, at random moments, and look at what is left.

Two kinds of writer are killed, each many times: one that indexes a corpus, and one that adds messages to conversations
one by one, as a service does. After each kill the store must open, hold every conversation whose commit the writer had
confirmed, hold none in part or twice, and be searchable. In the end the same command must complete it.

The vectors are made from the texts by a hash: what is tested is the store.

Run: python benchmarks/kill_store.py [--kills 50] [--conversations 3000]
Data: $TURNWISE_DATA/sgd/train.jsonl.gz if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import turnwise
from turnwise.store import ConversationStore, adding
from turnwise.store.encoding import StoreEncoder

SGD = Path(os.environ.get("TURNWISE_DATA", "../shared/data")) / "sgd" / "train.jsonl.gz"
DIM = 32
MOST_COMMITS = 5  # of a writer that is killed
Rows = list[dict[str, Any]]


class HashVectors(StoreEncoder):
    """Gives each text a random vector of its own."""

    has_replies, dim, name, pooling = False, DIM, "hash", "messages"

    def __init__(self) -> None:
        pass

    def digest(self) -> str:
        return "hash"

    def messages(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        vectors = np.stack([np.random.default_rng(seed).standard_normal(DIM, np.float32) for seed in seeds])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return {"vector": vectors, "tokens": np.ones(len(texts), np.int64)}

    def text_query(self, text: str) -> np.ndarray:
        return self.messages([text])["vector"][0]


def index_all(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """A writer that indexes a corpus and tells how many conversations are confirmed."""
    confirmed.send(None)
    adding._MESSAGES_IN_BATCH = 256  # so that there are many moments to be killed in
    ConversationStore.open(folder, HashVectors()).add(rows, confirmed.send)


def grow(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """A writer that adds conversations a message at a time and tells of each commit."""
    confirmed.send(None)
    store = ConversationStore.open(folder, HashVectors())
    for number, row in enumerate(rows):
        stored = store.get(row["id"])
        for turns in range(len(stored["messages"]) + 1 if stored else 1, len(row["messages"]) + 1):
            store.add([{**row, "messages": row["messages"][:turns]}])
            confirmed.send((number, turns))


def killed(writer: Callable[..., None], folder: Path, rows: Rows) -> tuple[list[Any], bool]:
    """Start a writer and kill it within or between some of its first commits; what it confirmed, and if it was done."""
    # LanceDB's threads do not survive a fork; those of a server that has imported all but never used it need not.
    context = multiprocessing.get_context("forkserver")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=writer, args=(folder, rows, sending))
    process.start()
    sending.close()
    confirmed: list[Any] = []
    try:
        receiving.recv()  # it has started
        began = time.monotonic()
        wanted = random.randrange(MOST_COMMITS)
        while len(confirmed) < wanted:
            confirmed.append(receiving.recv())
        each = (time.monotonic() - began) / wanted if wanted else 1.0
        time.sleep(random.uniform(0, 1.2 * each))
        with suppress(ProcessLookupError):  # it is done
            os.kill(process.pid, signal.SIGKILL)
        while receiving.poll(0):
            confirmed.append(receiving.recv())
    except EOFError:  # the writer is done, or dead
        pass
    process.join()
    return confirmed, process.exitcode == 0


def check(
    folder: Path, rows: Rows, confirmed: dict[str, int], encoder: StoreEncoder | str | None = None
) -> Counter[str]:
    """What is wrong with a store.

    Args:
        folder: The store.
        rows: All conversations.
        confirmed: How many turns of a conversation must be there.
        encoder: The store's encoder; by default, `HashVectors`.
    """
    faults: Counter[str] = Counter()
    try:
        store = ConversationStore.open(folder, encoder or HashVectors(), create=False)
        found = list(store.export())
    except (ValueError, OSError) as error:
        return Counter({f"does not open: {error}": 1})
    by_id = {row["id"]: row for row in found}
    expected = {row["id"]: row["messages"] for row in rows}
    faults["doubled"] = len(found) - len(by_id) + store.stats().messages - sum(len(r["messages"]) for r in found)
    faults["in part"] = sum(row["messages"] != expected[name][: len(row["messages"])] for name, row in by_id.items())
    faults["lost"] = sum(len(by_id.get(name, {"messages": []})["messages"]) < n for name, n in confirmed.items())
    for row in found[-3:]:
        text = row["messages"][0]["content"]
        for mode in ("vector", "text"):
            hits = store.search_messages(text, mode, where=f"conversation = '{row['id']}'")
            faults[f"not found by {mode}"] += not any(hit.text == text for hit in hits)
    return +faults


def run(name: str, writer: Callable[..., None], rows: Rows, kills: int) -> None:
    """Kill a writer many times, then let it finish."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "store"
        confirmed: dict[str, int] = {}
        faults: Counter[str] = Counter()
        rounds = commits = done = 0
        while done < kills:
            told, finished = killed(writer, folder, rows)
            if finished:  # begin another store
                folder, rounds, confirmed = Path(parent) / f"store-{rounds + 1}", rounds + 1, {}
                continue
            done += 1
            commits += len(told)
            note(confirmed, rows, told)
            if (folder / "store.json").exists():
                faults += check(folder, rows, confirmed)
        ConversationStore.open(folder, HashVectors()).add(rows)
        faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in rows})
        told = ", ".join(f"{count} {fault}" for fault, count in faults.items()) or "nothing lost, doubled or in part"
        print(
            f"{name}: {kills} kills, {commits:,} confirmed commits, {rounds} stores finished before: {told}", flush=True
        )


def note(confirmed: dict[str, int], rows: Rows, told: list[Any]) -> None:
    """Remember what a writer confirmed: the number of further conversations, or a conversation and its turns."""
    place = 0
    for one in told:
        if isinstance(one, tuple):
            number, turns = one
            confirmed[rows[number]["id"]] = turns
        else:
            confirmed |= {row["id"]: len(row["messages"]) for row in rows[place : place + one]}
            place += one


def conversations(count: int) -> Rows:
    """Conversations without labels."""
    corpus = turnwise.read_conversations(SGD) if SGD.is_file() else turnwise.sample_conversations(count)
    return [
        {"id": row["id"], "messages": [{"role": m["role"], "content": m["content"]} for m in row["messages"]]}
        for row in corpus.select(range(min(count, len(corpus))))
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--conversations", type=int, default=3000)
    arguments = parser.parse_args()
    random.seed(0)
    multiprocessing.set_forkserver_preload(["turnwise.store", "__main__"])
    rows = conversations(arguments.conversations)
    run("index", index_all, rows, arguments.kills)
    run("messages one by one", grow, rows[:200], arguments.kills)


if __name__ == "__main__":
    main()
