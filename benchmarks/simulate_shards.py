"""How long a job of many shards takes on actors that differ, stall and die, by simulation and against a run on Ray.

An actor has `AHEAD` shards at a time, one that it embeds and one that is ready, and gets the next when one is done, as
`turnwise embed --engine ray` does it. A killed actor is there again after a while and begins its shard anew; a slow one
keeps what it was given. Printed, for clusters of several sizes: the time against the ideal (all work, divided by
the speed of all actors), the share of work done twice, and what other rules would give: shards handed out beforehand
in equal numbers, and ten times larger ones.

With --run, the shards are those of a finished run on Ray, and the speed is that of a run in one process with as many
threads as there were actors: the simulated time stands beside the measured one. Without, an hour of work for each actor
is simulated. `bench_ray.py --keep FOLDER` leaves both runs.

Run: python benchmarks/simulate_shards.py [--run FOLDER/ray-0 --reference FOLDER/local-0 --actors 2]
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quick import add_quick

AHEAD = 2
START = 60.0  # seconds until a killed actor embeds again: a process, its imports, an encoder


@dataclass(frozen=True)
class Cluster:
    """Actors and what befalls them.

    Attributes:
        speeds: Rows a second of each actor.
        lifetime: Mean seconds until an actor is killed; infinite if none is.
        start: Seconds until a killed one is there again.
    """

    speeds: Sequence[float]
    lifetime: float = float("inf")
    start: float = START


@dataclass(frozen=True)
class Outcome:
    """A simulated job.

    Attributes:
        seconds: Until the last shard was done.
        twice: Rows embedded for nothing, as a share of all.
    """

    seconds: float
    twice: float


def simulate(rows: Sequence[float], cluster: Cluster, seed: int, ahead: int = AHEAD) -> Outcome:
    """The job, shard by shard.

    Args:
        rows: The rows of each shard, in the order in which readers hand them on.
        cluster: The actors.
        seed: For when actors are killed.
        ahead: Shards an actor has at a time; as many as there are for all handed out beforehand.
    """
    random = np.random.default_rng(seed)
    waiting = deque(rows)
    queues: list[deque[float]] = [deque() for _ in cluster.speeds]
    while waiting and len(queues[-1]) < ahead:  # in turns, as Ray fills its pool
        for queue in queues:
            if waiting:
                queue.append(waiting.popleft())
    deaths = [random.exponential(cluster.lifetime) if np.isfinite(cluster.lifetime) else np.inf for _ in queues]
    events = [(queue[0] / speed, actor) for actor, (queue, speed) in enumerate(zip(queues, cluster.speeds)) if queue]
    begun = [0.0] * len(queues)
    heapq.heapify(events)
    now = lost = 0.0
    while events:
        now, actor = heapq.heappop(events)
        speed, queue = cluster.speeds[actor], queues[actor]
        if deaths[actor] < now:  # it never came to the end of this shard
            lost += max(0.0, deaths[actor] - begun[actor]) * speed
            begun[actor] = max(deaths[actor], begun[actor]) + cluster.start
            deaths[actor] = begun[actor] + random.exponential(cluster.lifetime)
        else:
            queue.popleft()
            if waiting:
                queue.append(waiting.popleft())
            begun[actor] = now
        if queue:
            heapq.heappush(events, (begun[actor] + queue[0] / speed, actor))
    return Outcome(now, lost / sum(rows))


def shard_rows(count: int, seed: int, mean: float = 4000.0) -> np.ndarray:
    """Rows of shards of 200 conversations whose lengths vary as those of support chats do."""
    lengths = np.random.default_rng(seed).lognormal(sigma=1.0, size=(count, 200))
    return lengths.sum(1) * mean / lengths.sum(1).mean()


def compare(actors: int, slow: float, lifetime: float, runs: int) -> str:
    """A line of the table: how several rules do on clusters with slow actors and kills."""
    speed, hour = 200.0, 3600.0
    found: dict[str, list[tuple[float, float]]] = {"as it is": [], "beforehand": [], "ten times larger": []}
    for seed in range(runs):
        random = np.random.default_rng(seed)
        speeds = speed * np.where(random.random(actors) < slow, 0.25, random.uniform(0.9, 1.1, actors))
        rows = shard_rows(round(actors * hour * speed / 4000), seed)
        larger = np.add.reduceat(rows, range(0, len(rows), 10))
        cluster = Cluster(speeds, lifetime)
        ideal = rows.sum() / speeds.sum()
        for name, shards, ahead in (
            ("as it is", rows, AHEAD),
            ("beforehand", rows, len(rows)),
            ("ten times larger", larger, AHEAD),
        ):
            outcome = simulate(shards, cluster, seed, ahead)
            found[name].append((outcome.seconds / ideal, outcome.twice))
    cells = []
    for values in found.values():
        times, twice = np.array(values).T
        cells.append(f"{times.mean():.3f} ({np.quantile(times, 0.95):.3f}) | {100 * twice.mean():.2f} %")
    life = "never" if np.isinf(lifetime) else f"{lifetime / hour:g} h"
    return f"| {actors} | {100 * slow:g} % | {life} | " + " | ".join(cells) + " |"


def parts_of(output: Path) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """When the parts of an output were written, in order, their rows, and these in the order of the corpus."""
    manifest = json.loads((output / "_manifest.json").read_text(encoding="utf-8"))
    found = [((output / part["name"]).stat().st_mtime, part["rows"]) for part in manifest["parts"]]
    times, rows = np.array(sorted(found)).T
    return times, rows, [part["rows"] for part in manifest["parts"]]


def check(output: Path, reference: Path, actors: int) -> None:
    """A run on Ray beside its simulation with the speed of the other run; both from their first part on."""
    times, rows, _ = parts_of(reference)
    speed = rows[1:].sum() / (times[-1] - times[0]) / actors
    times, rows, shards = parts_of(output)
    first = min(shards[:actors]) / speed  # the clock of the run starts with its first part
    simulated = simulate(shards, Cluster([speed] * actors), 0).seconds - first
    measured = times[-1] - times[0]
    print(
        f"{len(shards)} shards, {int(rows.sum())} rows, {actors} actors: measured {measured:.1f} s, "
        f"simulated {simulated:.1f} s ({100 * (measured / simulated - 1):+.1f} %)"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--runs", type=int, default=20)
    add_quick(parser, runs=1)
    arguments = parser.parse_args()
    if arguments.run is not None:
        check(arguments.run, arguments.reference, arguments.actors)
        return
    print("Time against the ideal, mean and 95th percentile, and work done twice.\n")
    print("| actors | 4 × slower | an actor lives | as it is | twice | beforehand | twice | ten times larger | twice |")
    print("|---|---|---|---|---|---|---|---|---|")
    for actors in (2, 16, 128):
        for slow, lifetime in ((0.0, np.inf), (0.1, np.inf), (0.0, 3600.0), (0.1, 3600.0)):
            print(compare(actors, slow, lifetime, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
