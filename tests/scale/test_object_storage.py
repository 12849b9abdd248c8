"""Corpora on S3: a server on this machine, which Ray's workers reach as they would reach the real one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from turnlens.cli.main import app

from .cases import contents, manifest

moto = pytest.importorskip("moto.server", reason="needs moto, flask and flask-cors")
s3fs = pytest.importorskip("s3fs", reason="needs s3fs")

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The file system of an empty bucket ``logs``."""
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {"ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}
    for name, value in {**settings, "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("logs")
    yield system
    server.stop()


def test_ray_reads_and_writes_buckets(
    bucket, corpus, tiny_encoder_path, tmp_path, monkeypatch, only_cluster, one_thread
) -> None:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    # An actor has as many threads as its CPUs, and the same bytes as one process need as many threads: one.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    *first, last = sorted(corpus.iterdir())
    for file in first:
        bucket.put_file(str(file), f"logs/2026/{file.name}")
    engine = ("--engine", "ray", "--actors", "1")
    embed("s3://logs/2026/*.jsonl", "s3://logs/embedded", tiny_encoder_path, *engine)
    before = bucket.find("logs/embedded", detail=True)
    # What one process adds later joins what Ray has written, and leaves that as it is.
    bucket.put_file(str(last), f"logs/2026/{last.name}")
    assert "is complete" in refused("s3://logs/2026/*.jsonl", "s3://logs/embedded", tiny_encoder_path)
    embed("s3://logs/2026/*.jsonl", "s3://logs/embedded", tiny_encoder_path, "--resume")
    bucket.invalidate_cache()
    after = bucket.find("logs/embedded", detail=True)
    parts = [name for name in before if "/part-" in name]
    assert parts and all(after[name]["LastModified"] == before[name]["LastModified"] for name in parts)
    # Byte for byte what one process writes on a disk, but that the manifest names files of the bucket.
    embed(str(corpus), str(tmp_path / "embedded"), tiny_encoder_path)
    bucket.get("logs/embedded/", str(tmp_path / "copy"), recursive=True)
    expected, vectors = contents(tmp_path / "embedded"), contents(tmp_path / "copy")
    listed = manifest(tmp_path / "copy")
    assert listed["complete"] and listed["files"] == [f"s3://logs/2026/{file.name}" for file in (*first, last)]
    assert expected.keys() == vectors.keys()
    assert all(vectors[name] == expected[name] for name in vectors if name.startswith("part-"))


def embed(data: str, output: str, encoder: Path, *further: str) -> None:
    result = CliRunner().invoke(app, ["embed", data, "--output", output, "--model", str(encoder), *further])
    assert result.exit_code == 0, result.output


def refused(data: str, output: str, encoder: Path) -> str:
    result = CliRunner().invoke(app, ["embed", data, "--output", output, "--model", str(encoder)])
    assert result.exit_code == 1, result.output
    return result.output
