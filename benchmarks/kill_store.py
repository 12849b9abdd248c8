"""Kill -9 a process that writes to a store, at random moments, and look at what is left.

Five kinds of writer are killed, each many times: one that indexes a corpus, one that also writes an index of vectors at
each commit, one that adds messages to conversations one by one, as a service does, two of these that share a store,
and one that erases conversations and writes the indexes again each time. After each kill the store must open, hold
every conversation whose commit the writer had confirmed, hold none in part or twice, and be searchable. In the end the
same command must complete it and leave no index that is not used; after erasing, no file may hold the id of what was
erased.

The vectors are made from the texts by a hash: what is tested is the store.

Run: python benchmarks/kill_store.py [--kills 50] [--conversations 3000] [--quick]
Data: $TURNLENS_DATA/sgd/train.jsonl.gz if there, else generated conversations.
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

import turnlens
from turnlens.data.messages import Message
from turnlens.encoders.messages import pool_messages
from turnlens.store import ConversationStore, StoreLockedError, batches, indexes
from turnlens.store.store_encoder import StoreEncoder

SGD = Path(os.environ.get("TURNLENS_DATA", "../shared/data")) / "sgd" / "train.jsonl.gz"
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

    def conversations(
        self, conversations: Sequence[Sequence[Message]], vectors: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        starts = np.cumsum([0, *map(len, conversations)])[:-1]
        return pool_messages(vectors, tokens, starts)

    def text_query(self, text: str) -> np.ndarray:
        return self.messages([text])["vector"][0]


def index_all(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """A writer that indexes a corpus and tells how many conversations are confirmed."""
    confirmed.send(None)
    batches._MESSAGES_IN_BATCH = 256  # so that there are many moments to be killed in
    ConversationStore.open(folder, encoder=HashVectors()).add(rows, progress=confirmed.send)


def index_vectors(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """As `index_all`, with an index of vectors written at each commit."""
    index_early()
    index_all(folder, rows, confirmed)


def index_early() -> None:
    """In this process, let a store write an index of few vectors, and at each commit."""
    indexes.SMALLEST_INDEXED, indexes._COMMITS_UNTIL_TIDY = 100, 1


def grow(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """A writer that adds conversations a message at a time and tells of each commit."""
    confirmed.send(None)
    store = ConversationStore.open(folder, encoder=HashVectors())
    for number, row in enumerate(rows):
        stored = store.get(row["id"])
        for turns in range(len(stored["messages"]) + 1 if stored else 1, len(row["messages"]) + 1):
            while True:
                with suppress(StoreLockedError):  # where another one writes, wait on
                    store.add([{**row, "messages": row["messages"][:turns]}])
                    break
            confirmed.send((number, turns))


def erase_each(folder: Path, rows: Rows, confirmed: Connection) -> None:
    """A writer that erases conversations one by one and tells of each."""
    confirmed.send(None)
    index_early()
    store = ConversationStore.open(folder, encoder=HashVectors())
    for row in rows:
        if store.erase([row["id"]]):
            confirmed.send(row["id"])


class Writer:
    """A writer in a process of its own.

    Args:
        writer: What it does.
        folder: The store.
        rows: The conversations it is given.
    """

    def __init__(self, writer: Callable[..., None], folder: Path, rows: Rows) -> None:
        # LanceDB's threads do not survive a fork; those of a server that has imported all but never used it need not.
        context = multiprocessing.get_context("forkserver")
        self._receiving, sending = context.Pipe(duplex=False)
        self._process = context.Process(target=writer, args=(folder, rows, sending))
        self._process.start()
        sending.close()
        self.told: list[Any] = []

    def follow(self, commits: int) -> None:
        """Wait until it has started and confirmed some commits, or is done; and then until some moment in the next."""
        with suppress(EOFError):
            if not self.told:
                self._receiving.recv()
            began = time.monotonic()
            for _ in range(commits):
                self.told.append(self._receiving.recv())
            each = (time.monotonic() - began) / commits if commits else 1.0
            time.sleep(random.uniform(0, 1.2 * each))

    def kill(self) -> bool:
        """Kill it, and hear what it had confirmed; whether it was done before."""
        with suppress(ProcessLookupError):
            os.kill(int(self._process.pid or 0), signal.SIGKILL)
        with suppress(EOFError):
            while True:
                self.told.append(self._receiving.recv())
        self._process.join()
        return self._process.exitcode == 0


def killed(writer: Callable[..., None], folder: Path, rows: Rows) -> tuple[list[Any], bool]:
    """Start a writer and kill it within or between some of its first commits; what it confirmed, and if it was done."""
    process = Writer(writer, folder, rows)
    process.follow(random.randrange(MOST_COMMITS))
    done = process.kill()
    return [told for told in process.told if told is not None], done


def check(
    folder: Path, rows: Rows, confirmed: dict[str, int], encoder: StoreEncoder | str | None = None
) -> Counter[str]:
    """List the faults of a store.

    Args:
        folder: The store.
        rows: All conversations.
        confirmed: How many turns of a conversation must be there.
        encoder: The store's encoder; by default, `HashVectors`.
    """
    faults: Counter[str] = Counter()
    try:
        store = ConversationStore.open(folder, encoder=encoder or HashVectors(), create=False)
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
            hits = store.search_messages(text, mode=mode, where=f"conversation = '{row['id']}'")
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
        ConversationStore.open(folder, encoder=HashVectors()).add(rows)
        faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in rows})
        faults["unused index left"] += len(unused_indexes(folder))
        finished_before = f"{rounds} stores finished before"
        print(f"{name}: {kills} kills, {commits:,} confirmed commits, {finished_before}: {said(+faults)}", flush=True)


def run_two(rows: Rows, kills: int) -> None:
    """Let two writers share a store, kill one of them, and the other one after further commits."""
    halves = [rows[0::2], rows[1::2]]
    faults: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "store"
        ConversationStore.open(folder, encoder=HashVectors())
        confirmed: dict[str, int] = {}
        commits = 0
        for _ in range(kills):
            writers = [Writer(grow, folder, half) for half in halves]
            order = random.sample([0, 1], 2)
            for writer in order:
                writers[writer].follow(random.randrange(1, MOST_COMMITS))
                if writers[writer].kill():
                    raise RuntimeError("there are too few conversations: a writer was done before it was killed")
            for half, writer in zip(halves, writers):
                told = [told for told in writer.told if told is not None]
                commits += len(told)
                note(confirmed, half, told)
            faults += check(folder, rows, confirmed)
        ConversationStore.open(folder, encoder=HashVectors()).add(rows)
        faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in rows})
    print(f"two at once: {kills} times both killed, {commits:,} confirmed commits: {said(faults)}", flush=True)


def run_erasing(rows: Rows, kills: int) -> None:
    """Kill a process that erases conversations one by one; then erase once more, and look for what should be gone."""
    rows = [{"id": f"erasable-{number:04}-", "messages": row["messages"]} for number, row in enumerate(rows)]
    faults: Counter[str] = Counter()
    erased = done = 0
    with tempfile.TemporaryDirectory() as parent:
        folder, left = Path(parent) / "store", list[dict[str, Any]]()
        while done < kills:
            if len(left) <= MOST_COMMITS:  # begin with all of them again
                ConversationStore.open(folder, encoder=HashVectors()).add(rows)
                left = rows
                faults["not to be seen in the files"] += sum(not holding(folder, row["id"]) for row in rows[:5])
            told, finished = killed(erase_each, folder, left)
            done += not finished
            erased += len(told)
            left = left[len(told) :]
            faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in left[1:]})  # one was under way
            store = ConversationStore.open(folder, encoder=HashVectors())
            store.erase()
            kept = {row["id"] for row in store.export()}
            left = [row for row in left if row["id"] in kept]
            faults["there again"] += sum(id in kept for id in told)
            faults["not erased"] += sum(holding(folder, row["id"]) for row in rows if row["id"] not in kept)
            faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in left})
    print(f"erasing: {kills} kills, {erased} conversations confirmed as erased: {said(+faults)}", flush=True)


def unused_indexes(folder: Path) -> set[str]:
    """The files of vectors that a store which has been tidied does not use."""
    store = ConversationStore.open(folder, encoder=HashVectors())
    store.compact()
    used = {facts.file for parts in store.stats().indexes.values() for facts in parts}
    return {path.stem for path in folder.rglob("vectors/*")} - used


def holding(folder: Path, text: str) -> bool:
    """Say whether any file holds a text."""
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def said(faults: Counter[str]) -> str:
    """Faults in words."""
    return ", ".join(f"{count} {fault}" for fault, count in faults.items()) or "nothing lost, doubled or in part"


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
    corpus = turnlens.read_conversations(SGD) if SGD.is_file() else turnlens.sample_conversations(count)
    return [
        {"id": row["id"], "messages": [{"role": m["role"], "content": m["content"]} for m in row["messages"]]}
        for row in corpus.select(range(min(count, len(corpus))))
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--conversations", type=int, default=3000)
    parser.add_argument("--quick", action="store_true", help="two kills of each kind, in seconds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.kills, arguments.conversations = 2, 120
    random.seed(0)
    multiprocessing.set_forkserver_preload(["turnlens.store", "__main__"])
    rows = conversations(arguments.conversations)
    run("index", index_all, rows, arguments.kills)
    run("index, with an index of vectors at each commit", index_vectors, rows[:400], arguments.kills)
    run("messages one by one", grow, rows[:200], arguments.kills)
    run_two(rows[:400], arguments.kills)
    run_erasing(rows[:100], arguments.kills)


if __name__ == "__main__":
    main()
