"""Damage each file of a small store in turn, and look at what whoever uses the store is told.

Each file is cut to half, emptied, removed, or has one byte changed, in a store with several versions and all of its
indexes. Then the store is opened, searched, read, added to, deleted from, compacted and erased from, each time as it
was damaged. All of these may work, since not every file counts, or say in a `StoreError` what is damaged; anything
else is a fault, as is a process that dies.

Run: python benchmarks/damage_store.py [--most 1000] [--quick]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from kill_store import HashVectors, Rows
from turnlens.store import ConversationStore, StoreError, indexing, vector_index

SMALLEST_INDEXED = 5  # vectors
QUERIES_OF_RECALL = 2  # how well the indexes find is not what is tried here
PLACES = (0.1, 0.5, 0.97)  # of the bytes that are changed
QUERY = "hello number 1"


def small_store(folder: Path) -> Rows:
    """Make a store with several versions and all of its indexes; gives what was added."""
    indexing.SMALLEST_INDEXED, vector_index._SAMPLE = SMALLEST_INDEXED, QUERIES_OF_RECALL
    rows = [
        {
            "id": f"talk-{number}",
            "messages": [
                {"role": "user", "content": f"hello number {number}", "intent": "greet"},
                {"role": "bot", "content": f"answer {number} to you"},
            ],
        }
        for number in range(30)
    ]
    store = ConversationStore.open(folder, encoder=HashVectors())
    store.add(rows[:20])
    store.compact()
    store.delete(["talk-3"])
    store.add(rows[20:])
    return rows


def _more(store: ConversationStore, rows: Rows) -> None:
    store.add([{**rows[1], "messages": [*rows[1]["messages"], {"role": "user", "content": "and more"}]}])


def _vector() -> Any:
    return HashVectors().text_query(QUERY)


USES: dict[str, Callable[[ConversationStore, Rows], object]] = {
    "open": lambda store, rows: ConversationStore.open(store.path, encoder=HashVectors()),
    "stats": lambda store, rows: store.stats(),
    "get": lambda store, rows: store.get("talk-1"),
    "export": lambda store, rows: list(store.export()),
    "search": lambda store, rows: store.search_messages(_vector()),
    "search by text": lambda store, rows: store.search_messages(QUERY, mode="text"),
    "search filtered": lambda store, rows: store.search_messages(_vector(), where="text contains 'hello'"),
    "add": lambda store, rows: store.add([{**rows[0], "id": "new"}]),
    "grow": _more,
    "delete": lambda store, rows: store.delete(["talk-2"]),
    "compact": lambda store, rows: store.compact(),
    "erase": lambda store, rows: store.erase(["talk-5"]),
}


def damages(content: bytes) -> dict[str, bytes | None]:
    """What may become of a file; ``None`` is none."""
    made: dict[str, bytes | None] = {"cut to half": content[: len(content) // 2], "emptied": b"", "removed": None}
    for place in PLACES:
        at = int(len(content) * place)
        made[f"byte {at} changed"] = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
    return made


class Task(NamedTuple):
    """A use of the store in which one file holds something else, or is not there."""

    file: Path
    damage: str
    content: bytes | None
    use: str


def try_all(folder: Path, tasks: Sequence[Task], rows: Rows, told: Connection) -> None:
    """Use a damaged store in each way, and tell what came of it."""
    indexing.SMALLEST_INDEXED, vector_index._SAMPLE = SMALLEST_INDEXED, QUERIES_OF_RECALL
    for task in tasks:
        with tempfile.TemporaryDirectory() as parent:
            # LanceDB never writes into a file that is there, so links do
            copy = Path(shutil.copytree(folder, Path(parent) / "store", copy_function=os.link))
            (copy / task.file).unlink()
            if task.content is not None:
                (copy / task.file).write_bytes(task.content)
            told.send(outcome(USES[task.use], copy, rows))


def outcome(use: Callable[[ConversationStore, Rows], object], folder: Path, rows: Rows) -> str:
    """What came of using a store."""
    try:
        use(ConversationStore(folder, HashVectors(), "hash", read_only=False), rows)
    except StoreError as error:
        return "told" if str(folder) in str(error) else f"no place told: {error}"
    except BaseException as error:  # what LanceDB panics with is no Exception
        return f"{type(error).__name__}: {error}"
    return "works"


def outcomes(folder: Path, tasks: Sequence[Task], rows: Rows) -> Iterator[tuple[Task, str]]:
    """What came of each task, in a process that may die of it."""
    context = multiprocessing.get_context("forkserver")  # see kill_store.py
    done = 0
    while done < len(tasks):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=try_all, args=(folder, tasks[done:], rows, sending))
        process.start()
        sending.close()
        with suppress(EOFError):
            while True:
                said = receiving.recv()
                yield tasks[done], said
                done += 1
        process.join()
        if done < len(tasks):
            yield tasks[done], f"the process died with {process.exitcode}"
            done += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, help="try this many uses, chosen at random; by default all")
    parser.add_argument("--quick", action="store_true", help="try 25, in seconds")
    arguments = parser.parse_args()
    most = 25 if arguments.quick else arguments.most
    multiprocessing.set_forkserver_preload(["turnlens.store", "__main__"])
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "store"
        rows = small_store(folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
        tasks = [
            Task(path.relative_to(folder), damage, content, use)
            for path in files
            for damage, content in damages(path.read_bytes()).items()
            for use in USES
        ]
        tasks = tasks if most is None else random.Random(0).sample(tasks, min(most, len(tasks)))
        for task, said in outcomes(folder, tasks, rows):
            kind = said if said in ("works", "told") else "died" if "died" in said else "fault"
            counts[kind] += 1
            if kind in ("died", "fault"):
                print(f"{task.file}, {task.damage}: {task.use}: {said[:300]}", flush=True)
    print(
        f"{len(files)} files, {counts.total():,} uses: {counts['works']:,} worked, {counts['told']:,} named it, "
        f"{counts['fault']:,} said something else, {counts['died']:,} ended the process"
    )


if __name__ == "__main__":
    main()
