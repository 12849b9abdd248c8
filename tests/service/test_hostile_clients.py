"""Clients that mean harm, and the ordinary ones beside them. Deadlines are generous: nothing here measures time."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from turnlens.encoders.reply_head import ReplyHead
from turnlens.service import connections
from turnlens.service.keys import new_key
from turnlens.service.stores import OpenStore
from turnlens.store import ConversationStore

from .conftest import Gate
from .server import SECONDS, Running, run_server

TALK = {"id": "talk", "messages": [{"role": "user", "content": "my card is lost"}, {"role": "bot", "content": "ok"}]}


@pytest.fixture
def serving(gate: Gate, tiny_encoder: Any, tmp_path: Path) -> Iterator[Running]:
    """A service with a store that has looked at its encoder, whose reply head reads three turns."""
    tiny_encoder.reply_head = ReplyHead(32, turns=3)
    with run_server(stores={"talks": tmp_path / "talks"}) as server, server.client() as client:
        assert client.post("/v1/conversations", json={"conversations": [TALK]}).status_code == 200
        assert client.post("/v1/next", json={"messages": TALK["messages"]}).status_code == 200
        gate.passes.clear()
        yield server


@pytest.mark.parametrize(
    ("path", "body", "turns"),
    [("next", {}, 3), ("next", {"candidates": ["yes", "no"]}, 3)],
)
def test_only_the_turns_read_are_embedded(
    serving: Running, gate: Gate, path: str, body: dict[str, Any], turns: int
) -> None:
    messages = [{"role": ("user", "bot")[turn % 2], "content": f"card {turn}"} for turn in range(3000)]
    with serving.client() as client:
        answer = client.post(f"/v1/{path}", json={"messages": messages, **body})
    assert answer.status_code == 200
    assert max(gate.passes) == turns


LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "search_conversations": ("search", {"level": "conversation", "messages": TALK["messages"]}),
    "search_messages": ("search", {"query": "card", "where": "not " * 200 + "role = 'user'", "mode": "text"}),
    "labeller": ("label", {"messages": [{"role": "u", "content": "card"}] * 101}),
}


@pytest.mark.parametrize("method", LONG)
def test_long_reads_keep_no_ordinary_one_waiting(
    serving: Running, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    place, status = (OpenStore, 422) if method == "labeller" else (ConversationStore, 200)  # it has no groups
    search = getattr(place, method)

    def hang(*given: Any, **settings: Any) -> list[Any]:
        if method == "search_messages" and settings["where"] is None:
            return search(*given, **settings)
        begun.release()
        end.wait(SECONDS)
        return search(*given, **settings) if method == "labeller" else []

    monkeypatch.setattr(place, method, hang)
    with ThreadPoolExecutor(6) as pool, serving.client() as client:
        path, body = LONG[method]
        long = [pool.submit(client.post, f"/v1/{path}", json=body) for _ in range(6)]
        assert all(begun.acquire(timeout=SECONDS) for _ in range(2))
        try:
            answer = client.post("/v1/search", json={"query": "card"})
        finally:
            end.set()
        assert answer.json()["results"][0]["conversation"] == "talk"
        assert {answer.result(SECONDS).status_code for answer in long} == {status}


def dripping(server: Running, key: str | None = None) -> socket.socket:
    """A connection that has sent the headers of a request, and the first byte of its body."""
    connection = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=SECONDS)
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n{authorization}Content-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: 60000\r\n\r\n{{".encode())
    return connection


def test_bodies_that_do_not_arrive_refuse_nobody(tiny_encoder_path: Path) -> None:
    with run_server(model=str(tiny_encoder_path), max_requests=100) as server, ExitStack() as stack:
        client = stack.enter_context(server.client())
        for _ in range(150):
            stack.enter_context(dripping(server))
        for text in ("a", "a " * 40_000):
            assert client.post("/v1/embeddings", json={"input": text}).status_code == 200


def test_slow_bodies_are_refused_and_connections_closed(serving: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlens.service.gate._SECONDS_TO_BEGIN", 0.5)
    with dripping(serving) as connection:
        answer = b""
        while data := connection.recv(65_536):  # until it is closed
            answer += data
    assert answer.startswith(b"HTTP/1.1 408") and b"without pauses" in answer


def test_a_key_leaves_room_for_the_others(gate: Gate, tmp_path: Path) -> None:
    greedy, other = (new_key(tmp_path / "keys.toml", name, ["read"]) for name in ("greedy", "other"))
    body = {"input": "a"}
    with run_server(keys=tmp_path / "keys.toml", max_requests=4) as server, ExitStack() as stack:
        client, modest = (stack.enter_context(server.client(key)) for key in (greedy, other))
        pool = stack.enter_context(ThreadPoolExecutor(8))
        gate.shut()
        begun = [pool.submit(client.post, "/v1/embeddings", json=body) for _ in range(4)]
        refused = [answer.result().status_code for answer in islice(as_completed(begun, SECONDS), 2)]
        begun.append(pool.submit(modest.post, "/v1/embeddings", json=body))
        gate.open()
        statuses = [answer.result(SECONDS).status_code for answer in begun]
    assert refused == [429, 429]
    assert statuses.count(200) == 3 and statuses[-1] == 200


def asking_without_reading(server: Running, path: str) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that little of the answer is in transit
    connection.settimeout(SECONDS)
    connection.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def test_long_answers_that_nobody_reads_are_bounded(serving: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a " * 3_500_000
    monkeypatch.setattr(ConversationStore, "get", lambda store, id: {"id": id, "messages": [], "notes": text})
    monkeypatch.setattr(connections.PatientProtocol, "_drop", lambda protocol: None)
    path = "/v1/conversations/long"
    with ExitStack() as stack, serving.client() as client:
        silent = [stack.enter_context(asking_without_reading(serving, path)) for _ in range(30)]
        assert sum(connection.recv(12) == b"HTTP/1.1 200" for connection in silent) == 9  # of 7 MB; 64 MiB may wait
        transports = [connection.transport for connection in serving.uvicorn_server.server_state.connections]
        assert sum(transport.get_write_buffer_size() for transport in transports) < 10_000_000
        assert client.get(path).status_code == 429
        assert client.post("/v1/search", json={"query": "card"}).status_code == 200
