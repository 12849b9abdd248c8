"""Kill -9 a service while clients add conversations over HTTP, and look at what its store holds.

Several clients send conversations, each once for every message that it has more; what was answered with 200 is
confirmed. After each kill the store must open, hold at least what was confirmed, hold nothing in part or twice, and
be searchable; the next service goes on with it. In the end all of it is sent once more, and the store must be whole.

Run: python benchmarks/kill_service.py [--kills 50] [--quick]
Data: $TURNLENS_DATA/sgd/train.jsonl.gz if there, else generated conversations; a tiny encoder.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from bench_service import server
from kill_store import Rows, check, conversations, said
from turnlens.store import ConversationStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from tiny_encoder import save_tiny_encoder

CLIENTS = 4
MOST_COMMITS = 40  # of a service that is killed
Turns = dict[str, int]


def grow(url: str, rows: Rows, confirmed: Turns, refused: Counter[str]) -> None:
    """Send conversations, message by message, until that fails; what is answered with 503 is sent again."""
    try:
        with httpx2.Client(base_url=url, timeout=60) as client:
            for row in rows:
                for turns in range(confirmed.get(row["id"], 0) + 1, len(row["messages"]) + 1):
                    body = {"conversations": [{**row, "messages": row["messages"][:turns]}]}
                    while (answer := client.post("/v1/conversations", json=body)).status_code == 503:
                        refused[answer.json()["error"]["message"]] += 1
                        time.sleep(0.1)
                    answer.raise_for_status()
                    confirmed[row["id"]] = turns
    except httpx2.TransportError:  # it was killed
        pass


def killed(encoder: Path, folder: Path, rows: Rows, confirmed: Turns, refused: Counter[str]) -> None:
    """Kill a service while it commits, after none to forty of its answers."""
    with server("--model", str(encoder), "--store", str(folder)) as (url, process), ThreadPoolExecutor(CLIENTS) as pool:
        before, wanted, began = sum(confirmed.values()), random.randrange(MOST_COMMITS), time.monotonic()
        sending = [pool.submit(grow, url, rows[client::CLIENTS], confirmed, refused) for client in range(CLIENTS)]
        while sum(list(confirmed.values())) - before < wanted and not all(client.done() for client in sending):
            time.sleep(0.001)
        each = (time.monotonic() - began) / wanted if wanted else 0.1
        time.sleep(random.uniform(0, 2 * each))
        process.kill()
        for client in sending:
            client.result()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="one kill")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.kills = 1
    random.seed(0)
    rows = conversations(2000)
    confirmed: Turns = {}
    faults: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as parent:
        folder, encoder = Path(parent) / "store", save_tiny_encoder(Path(parent))
        ConversationStore.open(folder, encoder=str(encoder))
        for _ in range(arguments.kills):
            killed(encoder, folder, rows, confirmed, refused)
            faults += check(folder, rows, confirmed, str(encoder))
        commits = sum(confirmed.values())
        begun = [row for row in rows if row["id"] in confirmed]
        with server("--model", str(encoder), "--store", str(folder)) as (url, _):
            answer = httpx2.post(f"{url}/v1/conversations", json={"conversations": begun}, timeout=600)
            answer.raise_for_status()
        faults += check(folder, rows, {row["id"]: len(row["messages"]) for row in begun}, str(encoder))
    counted = f"{arguments.kills} kills, {commits:,} confirmed messages of {len(begun)} conversations"
    print(f"adds over HTTP: {counted}: {said(faults)}")
    for message, count in refused.items():
        print(f"{count} times answered with 503, and sent again: {message}")


if __name__ == "__main__":
    main()
