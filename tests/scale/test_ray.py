"""The Ray engine, on a cluster of this machine that all tests here share: starting one takes seconds."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import turnlens
from turnlens.scale import ray_data as ray_engine
from turnlens.scale.ray_data import Actors

from .cases import SHARD_SIZE, contents, manifest, texts

ray = pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("ray.data", reason="needs the extra ray")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module", autouse=True)
def cluster(only_cluster):
    from turnlens.scale import ray_data as cluster

    with cluster.ray_cluster(actors=2):
        yield


def test_both_engines_write_the_same_bytes_though_an_actor_is_killed(embed, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ray_engine, "_Actor", killing_once(tmp_path / "killed"))
    rows = embed(tmp_path / "ray", engine="ray", actors=2)
    assert (tmp_path / "killed").exists()
    assert embed(tmp_path / "local") == rows
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


def killing_once(sign: Path) -> type:
    """An actor like the real one, the first of which dies in the middle of its second shard."""

    class Killed(ray_engine._Actor):
        shards = 0

        def __call__(self, row):
            self.shards += 1
            if self.shards == 2 and not sign.exists():
                sign.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(row)

    return Killed


def test_after_a_killed_driver_only_what_is_missing_is_embedded(embed, corpus, tiny_encoder_path, tmp_path) -> None:
    code = (
        "import sys, turnlens; corpus, output, model = sys.argv[1:];"
        f"turnlens.scale.embed_corpus(corpus, output=output, encoder=model, engine='ray', actors=1, "
        f"shard_size={SHARD_SIZE})"
    )
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    output = tmp_path / "ray"
    driver = subprocess.Popen(
        [sys.executable, "-c", code, str(corpus), str(output), str(tiny_encoder_path)], env=environment
    )
    while not any(output.glob("part-*")) and driver.poll() is None:
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    assert not manifest(output)["complete"]
    first = min(output.glob("part-*"), key=lambda part: part.stat().st_mtime_ns)
    written = first.stat().st_mtime_ns
    embed(output, resume=True)
    embed(tmp_path / "local")
    assert first.stat().st_mtime_ns == written
    assert contents(output) == contents(tmp_path / "local")


def test_what_a_reader_stumbles_on_is_told_as_by_one_process(embed, corpus, tmp_path) -> None:
    (corpus / "bad.jsonl").write_text('{"messages": 3}\n', encoding="utf-8")
    with pytest.raises(turnlens.ConversationError, match=r"bad\.jsonl:1: found 3 as 'messages'"):
        embed(tmp_path / "ray", engine="ray", actors=1)


def test_datasets_of_ray_go_through_an_encoder(embed, corpus, tiny_encoder_path, tmp_path) -> None:
    dataset = turnlens.scale.embed_dataset(
        turnlens.scale.read_dataset(corpus), encoder=str(tiny_encoder_path), actors=1
    )
    rows = dataset.take_all()
    embed(tmp_path / "local")
    assert Counter(row["text"] for row in rows) == Counter(texts(tmp_path / "local"))
    assert {len(row["vector"]) for row in rows} == {32}


def test_actors_leave_room_for_readers() -> None:
    assert Actors.on({"CPU": 3.0}, 2) == Actors(2, 1, 0)
    assert Actors.on({"CPU": 65.0}, None) == Actors(16, 4, 0)
    assert Actors.on({"CPU": 17.0, "GPU": 2.0}, None) == Actors(2, 1, 1)
    assert Actors.on({"CPU": 17.0, "GPU": 2.0}, 3) == Actors(3, 1, 0.5)
    with pytest.raises(ValueError, match="expected 1 to 2, since the cluster has 3 CPUs"):
        Actors.on({"CPU": 3.0}, 3)
