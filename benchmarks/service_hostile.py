"""A service while some clients send what is made to stop it, and others ask for what it is there for.

Each hostile client sends one kind of request again and again: very many values of several shapes, very long texts,
filters nested in themselves, halves of surrogate pairs; and fifty connections say a byte of a header every eight
seconds. Meanwhile 24 ordinary clients embed, search and look whether the service is well. Prints how long ordinary
requests took, the most memory that the service held, and how long it took to end after SIGTERM, sent in the midst of
all that.

Run: python benchmarks/service_hostile.py [--seconds 120] [--model NAME] [--quick]
Needs the extras service and store. Generated conversations.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx2
import numpy as np
import psutil

import turnwise
from bench_service import server

CLIENTS, SLOW_CONNECTIONS = 24, 50
MOST_MEMORY, MOST_SECONDS_TO_STOP = 2.0, 30.0  # GB, s
_LENGTH = 7_900_000  # bytes; a body may have 8 MiB
_JSON = {"Content-Type": "application/json"}
Hostile = tuple[str, bytes]  # a path, and a body


def repeated(part: str, before: str, after: str, numbered: bool = False) -> bytes:
    """A body as long as may be, of one part again and again."""
    count = _LENGTH // (len(part) + 2 + (6 if numbered else 0))
    parts = (part.format(number) for number in range(count)) if numbered else itertools.repeat(part, count)
    return (before + ", ".join(parts) + after).encode()


def hostile_bodies() -> dict[str, Hostile]:
    """What each hostile client sends."""
    filters = {
        "nots": "not " * 45 + "role = 'user'",
        "parentheses": "(" * 45 + "role = 'user'" + ")" * 45,
        "labels": "label.a in (" + ", ".join(["'x'"] * 1900) + ")",
    }
    bodies = {
        "unknown keys": ("embeddings", repeated('"k{}": 0', '{"input": "a", ', "}", numbered=True)),
        "lists": ("embeddings", repeated("[]", '{"input": [', "]}")),
        "messages": ("embeddings", repeated("{}", '{"messages": [', "]}")),
        "whole messages": ("search", repeated('{"role":"u","content":""}', '{"messages": [', "]}")),
        "conversations": ("conversations", repeated('{"id":"1"}', '{"conversations": [', "]}")),
        "many texts": ("rerank", repeated('"a b c d e f g h"', '{"query": "a", "documents": [', "]}")),
        "short words": ("embeddings", b'{"input": "' + b"a " * (_LENGTH // 2) + b'"}'),
        "one word": ("embeddings", b'{"input": "' + b"a" * _LENGTH + b'"}'),
        "signs": ("search", b'{"mode": "hybrid", "query": "' + b"! " * (_LENGTH // 2) + b'"}'),
        "half a pair": ("embeddings", b'{"input": "\\ud800"}'),
        "long turns": (
            "next",
            b'{"candidates": ["a"], "messages": [{"role": "u", "content": "' + b"a " * 3_900_000 + b'"}]}',
        ),
    }
    return bodies | {
        name: ("search", f'{{"query": "a", "where": "{where}"}}'.encode()) for name, where in filters.items()
    }


@dataclass
class Told:
    """What was seen."""

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
            body = {"query": random.choice(texts), "where": "role = 'user' and not text contains 'zzz'"}
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
            answer = await client.post(f"/v1/{path}", content=body, headers=_JSON)
            statuses[str(answer.status_code)] += 1
        except httpx2.TransportError as error:
            statuses[type(error).__name__] += 1
            await asyncio.sleep(0.1)


async def dawdle(url: str, told: Told, every: float) -> None:
    """A connection that says a byte of a header now and then; a new one when it is closed."""
    host, port = url.removeprefix("http://").split(":")
    while not told.is_over:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
        try:
            while not told.is_over:
                writer.write(b"a")
                try:
                    await asyncio.wait_for(reader.read(1), every)
                    told.dropped += 1
                    break
                except TimeoutError:
                    pass
        except ConnectionError:
            told.dropped += 1
        writer.close()


async def watch(process: psutil.Process, told: Told) -> None:
    """Look at the memory of the service."""
    while not told.is_over:
        told.memory = max(told.memory, process.memory_info().rss / 1e9)
        await asyncio.sleep(0.05)


async def trouble(url: str, process: psutil.Process, texts: list[str], seconds: float, told: Told) -> float:
    """All clients at once for some time; then SIGTERM, and the seconds until the service has ended."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as ordinary,
        httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as hostile,
    ):
        asking = [asyncio.ensure_future(ask(ordinary, told, texts)) for _ in range(CLIENTS)]
        others = [asyncio.ensure_future(send(hostile, told, name, body)) for name, body in hostile_bodies().items()]
        others += [asyncio.ensure_future(dawdle(url, told, every=8)) for _ in range(SLOW_CONNECTIONS)]
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--model")
    parser.add_argument("--quick", action="store_true", help="five seconds of it")
    options = parser.parse_args()
    random.seed(0)
    rows = turnwise.sample_conversations(50 if options.quick else 300, seed=0)
    texts = [message["content"] for row in rows for message in row["messages"]]
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/talks"
        chosen = ["--model", options.model] if options.model else []
        with server("--store", place, *chosen) as (url, process):
            sent = {"conversations": [dict(row) for row in rows]}
            httpx2.post(f"{url}/v1/conversations", json=sent, timeout=600).raise_for_status()
            before = process.memory_info().rss / 1e9
            took = asyncio.run(trouble(url, process, texts, 5 if options.quick else options.seconds, told))
    for name, statuses in told.hostile.items():
        print(f"{name}: " + ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items())))
    for kind, seconds in sorted(told.seconds.items()):
        print(f"{kind}: {len(seconds):,} served, {_spread(seconds)}")
    served = list(itertools.chain.from_iterable(told.seconds.values()))
    others = {status: count for status, count in told.ordinary.items() if status not in (200, 429)}
    print(
        f"ordinary requests: {len(served):,} served, {_spread(served)}; {told.ordinary[429]:,} refused with 429, "
        f"{sum(others.values())} anything else (target: none); memory {before:.2f} GB before, at most "
        f"{told.memory:.2f} GB (target: {MOST_MEMORY:g}); {told.dropped} slow connections closed; ended "
        f"{took:.1f} s after SIGTERM (target: {MOST_SECONDS_TO_STOP:g})"
    )
    return int(not served or bool(others) or told.memory > MOST_MEMORY or took > MOST_SECONDS_TO_STOP)


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"{p50:.2f} s (median), {p99:.2f} s (99 %), {max(seconds):.2f} s (most)"


if __name__ == "__main__":
    sys.exit(main())
