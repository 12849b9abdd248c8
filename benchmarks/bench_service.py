"""The service against its model: what HTTP costs, and what happens to requests beyond its capacity.

Prints (a) the tokens per second of processor time of the service, asked by several clients at a time, against those of
the same batches given to the encoder's own `encode` in this process, in turns; processor time, since the clients run on
the same cores, and so perhaps does something else. (b) With requests that arrive at four times the service's speed,
whatever it does: how many are served and refused, the times of those served, against what the queue lets them wait, and
the times of /health meanwhile. (c) What 16 clients get that each send one text at a time, and (d) one hybrid search
of a store: answers in a second by the clock and in a second of the service's processor time, times, and the memory of
the service then. No text or query is sent twice.

Run: python benchmarks/bench_service.py [--model NAME] [--requests 16] [--rounds 5]
Generated conversations.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil

import turnlens
from quick import add_quick, is_quick, tiny_encoder
from turnlens.store import ConversationStore

SINGLE_CLIENTS = 16
TEXTS, CLIENTS, QUEUE = 8 if is_quick() else 64, 4, 4096
OVERLOAD, ARRIVING_TEXTS = 4, 4 if is_quick() else 32
ARRIVING_QUEUES = 10  # how many full queues arrive in the end


@contextmanager
def server(*options: str) -> Iterator[tuple[str, psutil.Process]]:
    """A service in a process of its own, with options of `turnlens serve`; gives its address, and the process."""
    command = [sys.executable, "-m", "turnlens", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
        next(line for line in process.stderr if "INFO serving" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()  # its log must not fill the pipe
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def numbered(texts: list[str], mark: int | str) -> list[str]:
    """Texts that the service has not embedded before: it does not embed recent ones again."""
    return [f"{text} {mark}" for text in texts]


def wait_until_embedded(url: str, body: dict[str, Any]) -> None:
    """Ask for an embedding until the service gives it."""
    while httpx2.post(f"{url}/v1/embeddings", json=body, timeout=60).status_code != 200:
        time.sleep(0.02)


def wait_until_loaded(url: str) -> None:
    """Wait until torch is there: until then only texts are embedded, while loading takes half of the time."""
    wait_until_embedded(url, {"messages": [{"role": "user", "content": "a probe"}]})


async def post(client: httpx2.AsyncClient, texts: list[str]) -> httpx2.Response:
    return await client.post("/v1/embeddings", json={"input": texts, "encoding_format": "base64"})


def vectors_of(response: httpx2.Response) -> np.ndarray:
    return np.stack([np.frombuffer(base64.b64decode(item["embedding"]), "<f4") for item in response.json()["data"]])


async def ask_all(url: str, batches: list[list[str]]) -> list[httpx2.Response]:
    """Send requests one after the other by each of several clients."""
    waiting, answers = iter(enumerate(batches)), dict[int, httpx2.Response]()

    async with httpx2.AsyncClient(base_url=url, timeout=600) as client:

        async def ask() -> None:
            for number, batch in waiting:
                answers[number] = await post(client, batch)

        await asyncio.gather(*(ask() for _ in range(CLIENTS)))
    return [answers[number] for number in sorted(answers)]


async def overload(
    url: str, texts: list[str], every: float, seconds: float
) -> tuple[Counter, list[float], list[float]]:
    """Statuses, seconds of the requests that were served, and seconds of /health."""
    statuses: Counter = Counter()
    served: list[float] = []
    healthy: list[float] = []
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as client:

        async def ask(number: int) -> None:
            start = time.perf_counter()
            first = number * ARRIVING_TEXTS % (len(texts) - ARRIVING_TEXTS)
            answer = await post(client, numbered(texts[first : first + ARRIVING_TEXTS], f"overload {number}"))
            statuses[answer.status_code] += 1
            if answer.status_code == 200:
                served.append(time.perf_counter() - start)

        async def ask_for_health() -> None:
            start = time.perf_counter()
            answer = await client.get("/health")
            assert answer.status_code == 200, answer.text
            healthy.append(time.perf_counter() - start)

        begin = time.perf_counter()
        tasks = []
        for number in range(int(seconds / every)):
            await asyncio.sleep(max(0.0, begin + number * every - time.perf_counter()))
            tasks.append(asyncio.ensure_future(ask(number)))
            if number % max(1, int(0.5 / every)) == 0:
                tasks.append(asyncio.ensure_future(ask_for_health()))
        await asyncio.gather(*tasks)
    return statuses, served, healthy


async def ask_singly(url: str, path: str, bodies: list[dict[str, str]]) -> list[float]:
    """Seconds of each of the requests that several clients send, each of them one after the other."""
    waiting, seconds = iter(bodies), []
    async with httpx2.AsyncClient(base_url=url, timeout=600) as client:

        async def ask() -> None:
            for body in waiting:
                start = time.perf_counter()
                answer = await client.post(path, json=body)
                assert answer.status_code == 200, answer.text
                seconds.append(time.perf_counter() - start)

        await asyncio.gather(*(ask() for _ in range(SINGLE_CLIENTS)))
    return seconds


def report_singles(queries: list[str], quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = turnlens.sample_conversations(20 if quick else 600)
        store = ConversationStore.open(Path(folder) / "talks")
        store.add(rows)
        store.compact()
        count = store.tables().messages.count_rows()
        with server("--store", str(Path(folder) / "talks")) as (url, process):
            hybrid = [{"query": query, "mode": "hybrid"} for query in queries]
            single = [{"input": text} for text in numbered(queries, "single")]
            wait_until_loaded(url)
            asyncio.run(ask_singly(url, "/v1/search", [{"query": f"{query}?"} for query in queries[:50]]))
            for name, path, bodies in (
                ("(c) one text", "/v1/embeddings", single),
                (f"(d) hybrid search of {count:,} messages", "/v1/search", hybrid),
            ):
                start, wall = sum(process.cpu_times()[:2]), time.perf_counter()
                seconds = asyncio.run(ask_singly(url, path, bodies))
                wall, cpu = time.perf_counter() - wall, sum(process.cpu_times()[:2]) - start
                middle, late = np.quantile(seconds, [0.5, 0.99])
                print(
                    f"{name}, {SINGLE_CLIENTS} clients: {len(seconds) / wall:.0f} a second, {len(seconds) / cpu:.0f} a "
                    f"second of processor time; p50 {1000 * middle:.0f} ms, p99 {1000 * late:.0f} ms; "
                    f"memory {process.memory_info().rss / 1e6:,.0f} MB"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    add_quick(parser, requests=4, rounds=1, model=tiny_encoder)
    options = parser.parse_args()

    encoder = turnlens.load_encoder(options.model, device="cpu")
    conversations = turnlens.sample_conversations(300, seed=0)
    texts = [message["content"] for row in conversations for message in row["messages"]][: options.requests * TEXTS]
    batches = [texts[start : start + TEXTS] for start in range(0, len(texts), TEXTS)]
    direct, over_http, walls = [], [], []
    limits = ["--set", f"queue_tokens={QUEUE}", "--set", f"max_tokens={QUEUE}", "--set", "max_requests=4096"]
    with server(*limits, *(["--model", str(options.model)] if options.model else [])) as (url, process):
        wait_until_loaded(url)
        asyncio.run(ask_all(url, batches[:CLIENTS]))
        for number in range(options.rounds):
            new = [numbered(batch, number) for batch in batches]
            start = time.process_time()
            expected = [encoder.encode(batch, batch_size=TEXTS) for batch in new]
            direct.append(time.process_time() - start)
            start, wall = sum(process.cpu_times()[:2]), time.perf_counter()
            answers = asyncio.run(ask_all(url, new))
            over_http.append(sum(process.cpu_times()[:2]) - start)
            walls.append(time.perf_counter() - wall)
        tokens = sum(answer.json()["usage"]["total_tokens"] for answer in answers)
        error = max(float(np.abs(vectors_of(answer) - own).max()) for answer, own in zip(answers, expected))
        ratio = min(direct) / min(over_http)
        print(
            f"(a) {len(batches)} requests of {TEXTS} texts, {tokens:,} tokens: in process {tokens / min(direct):,.0f} "
            f"tokens per second of processor time, the service {tokens / min(over_http):,.0f}, ratio {ratio:.2f} "
            f"(target: at least 0.85); largest difference of a number {error:.0e}"
        )
        capacity = tokens / min(walls)
        queues = 0.5 if options.quick else ARRIVING_QUEUES
        every = tokens / len(texts) * ARRIVING_TEXTS / (OVERLOAD * capacity)
        statuses, served, healthy = asyncio.run(overload(url, texts, every, queues * QUEUE / capacity / OVERLOAD))
    total = sum(statuses.values())
    others = total - statuses[200] - statuses[429]
    p50, p99 = np.percentile(served, [50, 99])
    bound = QUEUE / capacity
    print(
        f"(b) {total:,} requests of {ARRIVING_TEXTS} texts, one every {1000 * every:.1f} ms: {statuses[200]:,} served, "
        f"{statuses[429]:,} refused with 429 ({100 * statuses[429] / total:.0f} %), {others} "
        f"anything else (target: none); served in {p50:.2f} s (median), {p99:.2f} s (99 %), where a full queue of "
        f"{QUEUE:,} tokens takes {bound:.2f} s, ratio {p99 / bound:.2f} (target: at most 2); /health within "
        f"{1000 * max(healthy):.0f} ms (target: 100)"
    )
    asked = turnlens.sample_conversations(20 if options.quick else 300, seed=1)
    report_singles(list(dict.fromkeys(row["messages"][0]["content"] for row in asked)), options.quick)
    if options.quick:
        return int(others > 0 or error > 1e-5)
    return int(ratio < 0.85 or error > 1e-5 or others > 0 or p99 > 2 * bound or max(healthy) > 0.1)


if __name__ == "__main__":
    sys.exit(main())
