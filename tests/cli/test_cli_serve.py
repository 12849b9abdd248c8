import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .command_line import fail, run, succeed


def test_new_key_prints_a_key_once_and_keeps_its_hash(tmp_path: Path) -> None:
    from turnlens.service.keys import Key, find_key, read_keys

    keys = tmp_path / "keys.toml"
    options = ("--scope", "read", "--scope", "write", "--store", "talks", "--requests-per-minute", 60)
    output = succeed("new-key", "shop", "--keys", keys, *options)
    (secret,) = re.findall(r"^tw-\S+$", output, re.MULTILINE)
    assert secret not in keys.read_text()
    expected = Key("shop", read_keys(keys)[0].sha256, frozenset({"read", "write"}), "talks", 60)
    assert find_key(read_keys(keys), secret) == expected
    succeed("new-key", "other", "--keys", keys)
    assert [key.name for key in read_keys(keys)] == ["shop", "other"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("serve", "--host", "0.0.0.0"), "needs --keys FILE"),
        (("serve", "--keys", "nowhere.toml"), "nowhere.toml"),
        (("serve", "--set", "max_text=3"), "no setting 'max_text' (did you mean 'max_texts'?)"),
        (("serve", "--set", "max_texts=many"), "max_texts: Input should be a valid integer, unable to parse"),
        (("serve", "--set", "max_texts=many"), "got 'many'"),
        (("serve", "--set", "queue_tokens=3"), "queue_tokens must be at least max_tokens"),
        (("serve", "--model", "./nowhere", "--port", "0"), "./nowhere: expected the folder of a saved encoder"),
        (("serve", "--store", "shop/talks", "--store", "bank/talks"), "shop/talks and bank/talks would both be the"),
        (("serve", "--store", "a=shop", "--store", "a=bank"), "shop and bank would both be the store 'a': give each"),
        (("new-key", "a b"), "a key's name must be letters"),
        (("new-key", "a", "--scope", "all"), "scopes must be some of read, write, admin"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fail(*arguments)
    assert not (tmp_path / "keys.toml").exists()


@pytest.mark.slow
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_stop(tiny_encoder_path: Path, tmp_path: Path, told: int) -> None:
    import httpx2

    command = [sys.executable, "-m", "turnlens", "serve", "--port", "0", "--set", "max_texts=1"]
    environment = {**os.environ, "TURNLENS_MODEL": str(tiny_encoder_path), "TURNLENS_MODEL_NAME": "tiny"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
    assert process.stderr is not None
    url = next(match[0] for line in process.stderr if (match := re.search(r"http://[\d.:]+", line)))
    next(line for line in process.stderr if "serving tiny" in line)
    assert httpx2.post(f"{url}/v1/embeddings", json={"input": ["a"]}, timeout=60).json()["model"] == "tiny"
    assert httpx2.post(f"{url}/v1/embeddings", json={"input": ["a", "b"]}, timeout=60).status_code == 413
    process.send_signal(told)
    log = process.stderr.read()
    assert process.wait(60) == 0
    assert "POST '/v1/embeddings' 200" in log and "Application shutdown complete" in log
    assert "--resume" not in log


def test_a_port_that_is_taken_fails(tiny_encoder_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("serve", "--port", port, "--model", tiny_encoder_path)
    assert ended.exit_code == 1 and "Stopped" not in ended.output
    assert f"error: port {port} of 127.0.0.1 cannot be used: choose another with --port" in ended.output
