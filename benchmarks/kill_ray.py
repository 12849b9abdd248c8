"""Kill -9 the actors and the driver of an embedding job on Ray at random moments, and look at what is left.

A killed actor must not be noticed: the job ends by itself. After a killed driver, the same command with ``--resume``
must end the job without embedding again what had a part; whatever of Ray outlives it ends too. In the end the output
must be, byte for byte, what one process writes: no shard lost, none twice.

With --nodes, the job runs on a cluster of a head and two nodes, each with processes and memory of its own but all on
this machine. A node is lost at random moments, with all that runs there, and another one comes. That must not be
noticed either.

Run: python benchmarks/kill_ray.py [--kills 20] [--nodes]
Needs the extra ray and psutil. Generated conversations, a tiny encoder with one thread.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from quick import add_quick, skip

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench_ray import CHILD, write_corpus
from tiny_encoder import save_tiny_encoder

SHARD_SIZE = 4
FILES = 3
ACTOR = "MapWorker(Map(_Actor))"
MOST_PARTS = 40  # of one life of the job, before the kill


def start(corpus: Path, output: Path, model: Path, cluster: Any) -> subprocess.Popen[bytes]:
    """The job, going on with whatever is there, on a cluster if there is one."""
    code = CHILD.replace("import sys, torch, turnlens", "import sys, torch, turnlens; torch.set_num_threads(1)")
    code = code.replace("engine=engine,", "engine=engine, resume=True,").replace(
        "torch.set_num_threads(int(actors))", "pass"
    )
    arguments = [str(corpus), str(output), str(model), "ray", "2", str(SHARD_SIZE)]
    environment = {**os.environ, **({"RAY_ADDRESS": cluster.address} if cluster else {})}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL, env=environment)


def parts(output: Path) -> dict[str, int]:
    """The parts that are there, and when each was written, in nanoseconds."""
    return {path.name: path.stat().st_mtime_ns for path in output.glob("part-*")}


def actors(driver: psutil.Process) -> list[psutil.Process]:
    """The processes that embed."""
    return [child for child in driver.children(recursive=True) if ACTOR in " ".join(child.cmdline()[:1])]


def wait_for_parts(process: subprocess.Popen[bytes], output: Path, count: int) -> bool:
    """Wait until there are so many parts and a moment more; whether the job still runs."""
    while len(parts(output)) < count and process.poll() is None:
        time.sleep(0.05)
    time.sleep(random.uniform(0, 0.5))
    return process.poll() is None


def kill_driver(process: subprocess.Popen[bytes], output: Path, cluster: Any) -> str:
    """Kill it and wait until nothing of its cluster writes any more."""
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(family[1:], timeout=15)
    for one in alive:
        one.kill()
    psutil.wait_procs(alive)
    return f"{len(alive)} processes of Ray had to be ended" if alive else "its cluster ended too"


def kill_actor(process: subprocess.Popen[bytes], output: Path, cluster: Any) -> str:
    """Kill one of the actors, if there are any."""
    found = actors(psutil.Process(process.pid))
    if not found:
        return "no actor was there yet"
    random.choice(found).kill()
    return "the job went on"


def start_cluster() -> Any:
    """A head that does not embed, and two nodes that do."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    return cluster


def lose_node(process: subprocess.Popen[bytes], output: Path, cluster: Any) -> str:
    """Lose a node with whatever runs there, and let another one come."""
    node = random.choice(sorted(cluster.worker_nodes, key=lambda node: node.unique_id))
    cluster.remove_node(node, allow_graceful=False)
    cluster.add_node(num_cpus=2)
    return "the job went on"


KILLS = {"driver": kill_driver, "actor": kill_actor, "node": lose_node}


def written_by_one_process(corpus: Path, output: Path, model: Path) -> Path:
    """The output that is expected."""
    code = CHILD.replace("torch.set_num_threads(int(actors))", "torch.set_num_threads(1)")
    arguments = [str(corpus), str(output), str(model), "local", "1", str(SHARD_SIZE)]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stderr=subprocess.DEVNULL)
    return output


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--conversations", type=int, default=3000)
    parser.add_argument("--nodes", action="store_true", help="lose nodes of a cluster, not single processes")
    add_quick(parser, kills=1, conversations=60)
    arguments = parser.parse_args()
    if arguments.quick and find_spec("ray") is None:
        skip("the extra ray is not installed")
    random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder) / "corpus", arguments.conversations, FILES)
        model, output = save_tiny_encoder(Path(folder)), Path(folder) / "output"
        cluster = start_cluster() if arguments.nodes else None
        kills, again, before = 0, 0, dict[str, int]()
        process = start(corpus, output, model, cluster)
        while kills < arguments.kills:
            wanted = len(parts(output)) + random.randrange(MOST_PARTS)
            if not wait_for_parts(process, output, wanted):
                if process.returncode:
                    raise SystemExit(f"the job failed by itself with {process.returncode}")
                process = start(corpus, output, model, cluster)  # it was done: from the beginning, with less of it
                for name in random.sample(sorted(parts(output)), len(parts(output)) // 2):
                    (output / name).unlink()
                before = parts(output)
                continue
            kills += 1
            victim = "node" if cluster else random.choice(["driver", "actor"])
            told = KILLS[victim](process, output, cluster)
            now = parts(output)
            lost = before.keys() - now.keys()
            again += sum(now[name] != written for name, written in before.items() if name in now)
            print(f"kill {kills}, {victim}: {told}; {len(now)} parts, {len(lost)} lost", flush=True)
            before = now
            if victim == "driver":
                process = start(corpus, output, model, cluster)
        if process.wait():
            raise SystemExit(f"the job failed with {process.returncode}")
        if cluster:
            cluster.shutdown()
        same = contents(output) == contents(written_by_one_process(corpus, Path(folder) / "expected", model))
        told = "is byte for byte" if same else "IS NOT"
        print(f"{kills} kills, {again} parts written again; the output {told} what one process writes")
        if not same:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
