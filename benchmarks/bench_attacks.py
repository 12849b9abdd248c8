"""A service under each attack of a table, while ordinary clients ask for what it is there for.

The attacks: clients that send the same again and again, of very many values in several shapes, very long texts,
nested filters and halves of surrogate pairs, while fifty connections say a byte of a header every eight seconds; the
same to /mcp, as large as may be and as small as is still read; two thousand messages to label, or to say what comes
next; 48 clients that embed many texts; 256 connections that send a body a byte at a time; 250 that ask for a
conversation of seven megabytes and read nothing, or 64 KB every nine seconds. Meanwhile 24 ordinary clients embed,
search by meaning and by words, and look whether the service is well. For each attack, prints how long these requests
took, the most memory that the service held, and how long it took to end after SIGTERM, sent in the midst of all that.

With ``--files``, files are read instead, each in a process of its own: see `file_attacks`.

Run: python benchmarks/bench_attacks.py [--seconds 60] [--attacks NAMES] [--model NAME] [--quick] [--files [NAME …]]
Needs the extras service, store, explorer and mcp. Generated conversations.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import numpy as np
import psutil

import file_attacks
import turnlens
from bench_service import server, wait_until_loaded
from quick import add_quick, tiny_encoder
from turnlens.store import ConversationStore

CLIENTS, SLOW_CONNECTIONS = 24, 50
MOST_MEMORY, MOST_SECONDS_TO_STOP, MOST_SECONDS = 1.5, 5.0, 2.0  # GB, s, s (99 % of ordinary requests)
_LARGE = "large"  # the id of a conversation
_LENGTH = 7_900_000  # bytes; a body may have 8 MiB
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
Hostile = tuple[str, bytes]  # a path, and a body
Connection = tuple[bytes, float, int]  # what is sent, seconds, bytes read


def repeated(part: str, before: str, after: str, numbered: bool = False) -> bytes:
    """A body as long as may be, of one part again and again."""
    count = _LENGTH // (len(part) + 2 + (6 if numbered else 0))
    parts = (part.format(number) for number in range(count)) if numbered else itertools.repeat(part, count)
    return (before + ", ".join(parts) + after).encode()


@dataclass(frozen=True)
class Attack:
    """An attack.

    Attributes:
        bodies: What clients send again and again, by their names.
        connections: After its head, each sends a byte and reads so many bytes, again and again after so many seconds.
    """

    bodies: dict[str, Hostile] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)


def attacks() -> dict[str, Attack]:
    """The table of attacks."""
    post = b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n"
    get = f"GET /v1/conversations/{_LARGE} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    headers = (b"GET / HTTP/1.1\r\nX-Slow: ", 8.0, 1)
    turns = ", ".join(f'{{"role": "u{n % 2}", "content": "my card is lost again {n}"}}' for n in range(2000))
    next_ = ("v1/next", f'{{"candidates": ["a"], "messages": [{turns}]}}'.encode())
    label = ("v1/label", f'{{"messages": [{turns}]}}'.encode())
    texts = ("v1/embeddings", f'{{"messages": [{turns[:9000].rpartition(", {")[0]}]}}'.encode())
    return {
        "shapes": Attack(hostile_bodies(), [headers] * SLOW_CONNECTIONS),
        "mcp": Attack(mcp_bodies()),
        "labels": Attack({f"label {n}": label for n in range(8)}),
        "long histories": Attack({f"next {n}": next_ for n in range(8)}),
        "many clients": Attack({f"embed {n}": texts for n in range(48)}),
        "slow bodies": Attack(connections=[(post, 0.5, 0)] * 256),
        "unread answers": Attack(connections=[(get, 9.0, 0)] * 150 + [(get, 9.0, 65_536)] * 100),
    }


def mcp_bodies() -> dict[str, Hostile]:
    """Return bodies for /mcp: three far beyond its limits, and others just within them."""
    call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}'

    def arguments(count: int) -> str:
        return call % ("search", "{" + ",".join(f'"{number:x}":0' for number in range(count)) + "}")

    bodies = {
        "600,000 arguments": arguments(600_000),
        "2.6 million objects": call % ("search", '{"query": [' + ",".join(["{}"] * 2_600_000) + "]}"),
        "a batch of 190,000": "[" + ",".join(['{"jsonrpc": "2.0", "id": 1, "method": "a"}'] * 190_000) + "]",
        "7,000 arguments": arguments(7000),
        "21,000 objects": call % ("search", '{"query": [' + ",".join(["{}"] * 21_000) + "]}"),
        "a batch of 21,000": "[" + ",".join(["{}"] * 21_000) + "]",
        "a long conversation": call % ("conversation", f'{{"id": "{_LARGE}"}}'),
        "many groups": call % ("groups", '{"limit": 200}'),
    }
    return {name: ("mcp", body.encode()) for name, body in bodies.items()}


def hostile_bodies() -> dict[str, Hostile]:
    """Return the bytes of each hostile client."""
    filters = {
        "nots": "not " * 2400 + "role = 'user'",
        "parentheses": "turn = 0 and not (label.a != 1 or " * 10 + "role = 'user'" + ")" * 10,
        "labels": "label.a in (" + ", ".join(["'x'"] * 1900) + ")",
    }
    bodies = {
        "unknown keys": ("v1/embeddings", repeated('"k{}": 0', '{"input": "a", ', "}", numbered=True)),
        "lists": ("v1/embeddings", repeated("[]", '{"input": [', "]}")),
        "messages": ("v1/embeddings", repeated("{}", '{"messages": [', "]}")),
        "whole messages": ("v1/search", repeated('{"role":"u","content":""}', '{"messages": [', "]}")),
        "conversations": ("v1/conversations", repeated('{"id":"1"}', '{"conversations": [', "]}")),
        "many texts": ("v1/rerank", repeated('"a b c d e f g h"', '{"query": "a", "documents": [', "]}")),
        "short words": ("v1/embeddings", b'{"input": "' + b"a " * (_LENGTH // 2) + b'"}'),
        "one word": ("v1/embeddings", b'{"input": "' + b"a" * _LENGTH + b'"}'),
        "signs": ("v1/search", b'{"mode": "hybrid", "query": "' + b"! " * (_LENGTH // 2) + b'"}'),
        "half a pair": ("v1/embeddings", b'{"input": "\\ud800"}'),
        "long turns": (
            "v1/next",
            b'{"candidates": ["a"], "messages": [{"role": "u", "content": "' + b"a " * 3_900_000 + b'"}]}',
        ),
    }
    return bodies | {
        name: ("v1/search", f'{{"query": "a", "where": "{where}"}}'.encode()) for name, where in filters.items()
    }


@dataclass
class Told:
    """The outcome."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    ordinary: Counter[int] = field(default_factory=Counter)
    hostile: dict[str, Counter[str]] = field(default_factory=dict)
    memory: float = 0.0  # GB
    dropped: int = 0  # slow connections that the service closed
    is_over: bool = False


async def ask(client: httpx2.AsyncClient, told: Told, texts: list[str]) -> None:
    """An ordinary client: asks, waits for the answer, and thinks a little."""
    while not told.is_over:
        kind = random.choice(("embed", "search", "health"))
        start = time.perf_counter()
        if kind == "embed":
            answer = await client.post("/v1/embeddings", json={"input": random.sample(texts, 2)})
        elif kind == "search":
            body = {"query": random.choice(texts), "mode": random.choice(("vector", "hybrid"))}
            body |= {"where": "role = 'user' and not text contains 'zzz'"} if random.random() < 0.5 else {}
            answer = await client.post("/v1/search", json=body)
        else:
            answer = await client.get("/health")
        told.ordinary[answer.status_code] += 1
        if answer.status_code == 200:
            told.seconds.setdefault(kind, []).append(time.perf_counter() - start)
        await asyncio.sleep(random.uniform(0.1, 1.0))


async def send(client: httpx2.AsyncClient, told: Told, name: str, hostile: Hostile) -> None:
    """A hostile client: sends the same again as soon as it is answered."""
    path, body = hostile
    statuses = told.hostile.setdefault(name, Counter())
    while not told.is_over:
        try:
            answer = await client.post(f"/{path}", content=body, headers=_JSON)
            statuses[str(answer.status_code)] += 1
        except httpx2.TransportError as error:
            statuses[type(error).__name__] += 1
            await asyncio.sleep(0.1)


async def dawdle(url: str, told: Told, head: bytes, every: float, size: int) -> None:
    """A connection that sends a head, and now and then sends a byte and reads some; a new one when it is closed."""
    host, port = url.removeprefix("http://").split(":")
    while not told.is_over:
        # Ordinary clients come from another address, which has connections of its own.
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**10, local_addr=("127.0.0.2", 0))
        writer.write(head)
        try:
            while not told.is_over:
                await asyncio.sleep(every)
                if not head.startswith(b"GET /v1"):
                    writer.write(b"a")
                    await writer.drain()
                left = size
                while left > 0:
                    part = await asyncio.wait_for(reader.read(left), 1)
                    if not part:
                        raise ConnectionError
                    left -= len(part)
        except ConnectionError:
            told.dropped += 1
        except TimeoutError:
            pass
        writer.transport.abort()


async def watch(process: psutil.Process, told: Told) -> None:
    """Look at the memory of the service."""
    while not told.is_over:
        told.memory = max(told.memory, process.memory_info().rss / 1e9)
        await asyncio.sleep(0.05)


async def trouble(
    url: str, process: psutil.Process, texts: list[str], attack: Attack, seconds: float, told: Told
) -> float:
    """All clients at once for some time; then SIGTERM, and the seconds until the service has ended."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as ordinary,
        httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as hostile,
    ):
        asking = [asyncio.ensure_future(ask(ordinary, told, texts)) for _ in range(CLIENTS)]
        others = [asyncio.ensure_future(send(hostile, told, name, body)) for name, body in attack.bodies.items()]
        others += [asyncio.ensure_future(dawdle(url, told, *how)) for how in attack.connections]
        others.append(asyncio.ensure_future(watch(process, told)))
        done, _ = await asyncio.wait(asking, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()  # an ordinary client that failed is an error
        await cancelled(asking)
        start = time.perf_counter()
        process.terminate()
        await asyncio.to_thread(process.wait, 4 * MOST_SECONDS_TO_STOP)
        took = time.perf_counter() - start
        told.is_over = True
        await cancelled(others)
    return took


async def cancelled(tasks: list[asyncio.Future]) -> None:
    """End tasks, whatever they are at."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main() -> int:
    table = attacks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of each attack")
    parser.add_argument("--attacks", default=",".join(table))
    parser.add_argument("--model")
    add_quick(parser, seconds=3, model=tiny_encoder)
    parser.add_argument("--files", nargs="*", metavar="NAME", help="attacks by files; all, or those with these words")
    options = parser.parse_args()
    if options.files is not None:
        return file_attacks.run(options.files)
    random.seed(0)
    rows = [dict(row) for row in turnlens.sample_conversations(50 if options.quick else 300, seed=0)]
    with tempfile.TemporaryDirectory() as folder:
        store = ConversationStore.create(f"{folder}/talks", rows, encoder=options.model)
        turnlens.cluster(store)
        names = options.attacks.split(",")
        failed = [name for name in names if not withstood(name, table[name], rows, store.path, options)]
    print(f"not withstood: {', '.join(failed)}" if failed else "all withstood")
    return int(bool(failed))


def withstood(name: str, attack: Attack, rows: list[dict], store: Path, options: argparse.Namespace) -> bool:
    """Print how a service of its own bears an attack, and say whether it did."""
    texts = [message["content"] for row in rows for message in row["messages"]]
    large = [{"role": "user", "content": "again " * 580}] * (2000 if name in ("unread answers", "mcp") else 2)
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(store, f"{folder}/talks")
        with server("--store", f"{folder}/talks") as (url, process):
            wait_until_loaded(url)
            body = {"conversations": [{"id": _LARGE, "messages": large}]}
            httpx2.post(f"{url}/v1/conversations", json=body, timeout=600).raise_for_status()
            before = process.memory_info().rss / 1e9
            took = asyncio.run(trouble(url, process, texts, attack, options.seconds, told))
    print(f"## {name}")
    for client, statuses in told.hostile.items():
        print(f"{client}: " + ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items())))
    for kind, seconds in sorted(told.seconds.items()):
        print(f"{kind}: {len(seconds):,} served, {_spread(seconds)}")
    served = list(itertools.chain.from_iterable(told.seconds.values()))
    others = {status: count for status, count in told.ordinary.items() if status not in (200, 429)}
    print(
        f"ordinary requests: {len(served):,} served, {_spread(served)} (target: {MOST_SECONDS:g}); "
        f"{told.ordinary[429]:,} refused with 429, {sum(others.values())} anything else (target: none); "
        f"memory {before:.2f} GB before, at most {told.memory:.2f} GB (target: {MOST_MEMORY:g}); {told.dropped} "
        f"slow connections closed; ended {took:.1f} s after SIGTERM (target: {MOST_SECONDS_TO_STOP:g})",
        flush=True,
    )
    if not served or others or told.memory > MOST_MEMORY:
        return False
    return options.quick or (took <= MOST_SECONDS_TO_STOP and float(np.percentile(served, 99)) <= MOST_SECONDS)


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"{p50:.2f} s (median), {p99:.2f} s (99 %), {max(seconds):.2f} s (most)"


if __name__ == "__main__":
    sys.exit(main())
