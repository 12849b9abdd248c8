"""Requests while the model is busy: its forward pass is stopped by a gate, so that nothing depends on time."""

import asyncio
import json
import logging
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from closeness import assert_same_vectors

pytest.importorskip("openai")

import httpx2
import openai

from turnlens.encoders import loading
from turnlens.service import connections, service
from turnlens.service.refusals import Refusal
from turnlens.service.threads import BoundedThreads

from .conftest import Gate
from .server import SECONDS, Running, run_server


def embed(server: Running, *texts: str) -> httpx2.Response:
    with server.client() as client:
        return client.post("/v1/embeddings", json={"input": list(texts)})


def waiting(server: Running, tokens: int) -> None:
    """Wait until so many tokens are in the queue."""
    changed = server.service.worker._changed
    with changed:
        assert changed.wait_for(lambda: server.service.worker.tokens_waiting == tokens, SECONDS)


def in_the_model(server: Running, gate: Gate, pool: ThreadPoolExecutor, *texts: str) -> Future[httpx2.Response]:
    """A request whose texts are in the model, behind a gate that is shut."""
    gate.shut()
    answer = pool.submit(embed, server, *texts)
    assert gate.reached.wait(SECONDS)
    return answer


def test_requests_during_a_pass_are_embedded_together(gate: Gate, tiny_encoder) -> None:
    with run_server() as server, ThreadPoolExecutor(8) as pool:
        first = in_the_model(server, gate, pool, "a")  # [CLS] a [SEP]
        others = [pool.submit(embed, server, "a", "b c") for _ in range(4)]
        waiting(server, 3 + 4 * 7)
        gate.open()
        answers = [other.result(SECONDS).json() for other in [first, *others]]
    assert gate.passes == [1, 1]  # equal texts go through it once, and not again while they are remembered
    expected = tiny_encoder.encode(["a", "b c"])
    for answer in answers[1:]:
        assert_same_vectors([item["embedding"] for item in answer["data"]], expected)


def test_a_full_queue_is_429_with_retry_after(gate: Gate) -> None:
    with run_server(max_tokens=9, queue_tokens=9) as server, ThreadPoolExecutor(8) as pool:
        admitted = [in_the_model(server, gate, pool, "a")]
        admitted += [pool.submit(embed, server, "a") for _ in range(2)]
        waiting(server, 9)
        refused = [embed(server, "a") for _ in range(3)]
        with pytest.raises(openai.RateLimitError):
            server.openai().embeddings.create(model="encoder", input="a")
        with server.client() as client:
            next_ = client.post("/v1/next", json={"messages": [{"role": "u", "content": "a"}], "candidates": ["b"]})
            health = client.get("/health")
        gate.open()
        assert [answer.result(SECONDS).status_code for answer in admitted] == [200, 200, 200]
        assert embed(server, "a").status_code == 200
    for answer in [*refused, next_]:
        assert answer.status_code == 429 and int(answer.headers["Retry-After"]) >= 1
        assert answer.json()["error"]["type"] == "rate_limit_error"
    assert health.status_code == 200 and health.json()["status"] == "full"


def test_long_requests_leave_room_for_short_ones(gate: Gate) -> None:
    long = ["a"] * 700  # 2,100 tokens
    with run_server(max_tokens=3000, queue_tokens=3000) as server, ThreadPoolExecutor(8) as pool:
        answers = [in_the_model(server, gate, pool, *long)]
        refused = embed(server, *long)
        answers.append(pool.submit(embed, server, "b"))
        waiting(server, 2100 + 3)
        gate.open()
        assert [answer.result(SECONDS).status_code for answer in answers] == [200, 200]
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1


def test_health_answers_while_the_model_is_busy(gate: Gate) -> None:
    with run_server() as server, ThreadPoolExecutor(1) as pool:
        with server.client() as client:
            assert client.get("/health").json()["status"] in ("ok", "busy")  # the probe itself may take its time
            answer = in_the_model(server, gate, pool, "a")
            # The gate opens only after these answers: they cannot have waited for the model.
            assert client.get("/health").json()["status"] == "busy"
            assert client.get("/health/live").status_code == 200
            assert "turnlens_tokens_waiting 3.0" in client.get("/metrics").text
            gate.open()
        assert answer.result(SECONDS).status_code == 200


def request_without_waiting(server: Running, *texts: str) -> socket.socket:
    body = json.dumps({"input": list(texts)}).encode()
    connection = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
    head = "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def test_requests_of_disconnected_clients_are_dropped(gate: Gate) -> None:
    with run_server() as server, ThreadPoolExecutor(1) as pool:
        answer = in_the_model(server, gate, pool, "a")
        connection = request_without_waiting(server, *(["b"] * 5))
        waiting(server, 3 + 5 * 3)
        (job,) = server.service.worker._queue._short
        done = threading.Event()
        job.future.add_done_callback(lambda _: done.set())
        connection.close()
        assert done.wait(SECONDS) and job.future.cancelled()
        gate.open()
        assert answer.result(SECONDS).status_code == 200
        assert embed(server, "c").status_code == 200
    assert gate.passes == [1, 1]  # the five texts never went through the model


def kept_waiting(server: Running, gate: Gate, pool: ThreadPoolExecutor) -> list[Future[Any]]:
    """Four requests, the first of which is in the model, behind a gate that is shut."""
    answers = [in_the_model(server, gate, pool, "a")]
    answers += [pool.submit(embed, server, "a", "b") for _ in range(3)]
    waiting(server, 3 + 3 * 6)
    return answers


def test_a_stopping_server_finishes_what_waits(gate: Gate) -> None:
    with run_server() as server, ThreadPoolExecutor(8) as pool:
        answers = kept_waiting(server, gate, pool)
        server.uvicorn_server.should_exit = True
        gate.open()
        assert [answer.result(SECONDS).status_code for answer in answers] == [200] * 4
        server.thread.join(SECONDS)
        assert not server.thread.is_alive()
        with pytest.raises(Refusal, match="stopping"):
            server.service.worker.check_room()


def test_unfinished_requests_of_a_stopping_server_are_503(gate: Gate, monkeypatch, caplog) -> None:
    monkeypatch.setattr(connections, "_SECONDS_TO_STOP", 1)
    monkeypatch.setattr(service, "_SECONDS_TO_STOP", 1)
    with run_server() as server, ThreadPoolExecutor(8) as pool:
        answers = kept_waiting(server, gate, pool)
        with caplog.at_level(logging.INFO):
            server.uvicorn_server.should_exit = True
            refused = [answer.result(SECONDS) for answer in answers]
        gate.open()
    for answer in refused:
        assert answer.status_code == 503 and int(answer.headers["Retry-After"]) >= 1
        assert answer.json()["error"]["message"] == "the service is stopping"
    assert "Traceback" not in caplog.text and "Exception in ASGI" not in caplog.text


def test_a_loading_model_is_503(tiny_encoder, monkeypatch) -> None:
    gate = threading.Event()

    def load(model: str | None) -> Any:
        assert gate.wait(SECONDS)
        return tiny_encoder

    monkeypatch.setattr(loading, "load_encoder", load)
    with run_server(wait=False) as server, server.client() as client:
        for path in ("/v1/models", "/health"):
            answer = client.get(path)
            assert answer.status_code == 503 and int(answer.headers["Retry-After"]) >= 1
        assert embed(server, "a").status_code == 503
        assert client.get("/health/live").status_code == 200
        gate.set()
        server.service.worker.loaded.result(SECONDS)
        assert client.get("/health").status_code == 200


def test_a_model_that_fails_to_load_fails_liveness(tmp_path: Path) -> None:
    with run_server(wait=False, model=str(tmp_path / "nowhere" / "model")) as server, server.client() as client:
        assert isinstance(server.service.worker.loaded.exception(SECONDS), FileNotFoundError)
        assert client.get("/health/live").status_code == client.get("/health").status_code == 503
        assert str(tmp_path) not in client.get("/v1/models").text


def test_a_failure_shows_no_trace_or_text(gate: Gate, tiny_encoder, caplog) -> None:
    text = "my secret"

    def fail(*_: Any) -> None:
        raise RuntimeError(text)

    with run_server() as server:
        hook = tiny_encoder.register_forward_pre_hook(fail)
        with caplog.at_level(logging.INFO, logger="turnlens.service"):
            answer = embed(server, text)
        hook.remove()
        assert embed(server, "a").status_code == 200
    assert answer.status_code == 500
    assert text not in answer.text and "Traceback" not in answer.text
    assert text not in caplog.text
    assert "RuntimeError" in caplog.text and answer.headers["X-Request-ID"] in caplog.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_logs_and_metrics_hold_no_client_text(running: Running, caplog) -> None:
    with running.client() as client, caplog.at_level(logging.INFO, logger="turnlens.service"):
        client.get("/v1/conversations/alice-smith", headers={"X-Request-ID": "my-id.1"})
        client.get("/alice-smith", headers={"X-Request-ID": "forged\tid"})
        metrics = client.get("/metrics").text
    assert "alice" not in caplog.text + metrics
    assert "'/v1/conversations/{id:text}' 404" in caplog.text and "my-id.1" in caplog.text
    assert "forged" not in caplog.text


def test_a_body_beyond_the_limit_is_refused(tiny_encoder_path: Path) -> None:
    content = json.dumps({"input": "a" * 2000}).encode()
    with run_server(model=str(tiny_encoder_path), max_body_bytes=1000) as server, server.client() as client:
        headers = {"Content-Type": "application/json"}
        for body in (content, iter([content[:500], content[500:1500], content[1500:]])):  # its length announced or not
            assert client.post("/v1/embeddings", content=body, headers=headers).status_code == 413
            assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200


TOO_MUCH: list[tuple[str, dict[str, Any]]] = [
    ("embeddings", {"input": ["a"] * 4}),
    ("embeddings", {"input": [[5]] * 4, "tokenizer": "encoder"}),
    ("embeddings", {"input": "a b c d e f g h i j k"}),
    ("embeddings", {"messages": [[{"role": "u", "content": "a"}]] * 4}),
    ("embeddings", {"messages": [{"role": "u", "content": "a b c d e f g h i j k"}]}),
    ("rerank", {"query": "a", "documents": ["a"] * 3}),
    ("next", {"messages": [{"role": "u", "content": "a"}], "candidates": ["a"] * 3}),
    ("next", {"messages": [{"role": "u", "content": "a b c d e f g h i j k"}], "candidates": ["a"]}),
]


def test_too_many_texts_or_tokens_are_refused(tiny_encoder_path: Path) -> None:
    with run_server(model=str(tiny_encoder_path), max_texts=3, max_tokens=12) as server, server.client() as client:
        for path, body in TOO_MUCH:
            answer = client.post(f"/v1/{path}", json=body)
            assert answer.status_code == 413, body
            assert "a request may have" in answer.json()["error"]["message"], body


def test_threads_refuse_when_much_is_waiting() -> None:
    async def overload() -> list[Any]:
        gate = threading.Event()
        threads = BoundedThreads("test", threads=1, waiting=2)
        running = [asyncio.ensure_future(threads.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0)  # both have been handed over
        with pytest.raises(Refusal, match="too many"):
            await threads.run(gate.wait)
        running[1].cancel()  # it was waiting for the thread
        gate.set()
        return [await running[0], await threads.run(lambda: "again")]

    assert asyncio.run(overload()) == [True, "again"]


def test_a_stuck_thread_is_replaced() -> None:
    async def get_stuck() -> None:
        loop = asyncio.get_running_loop()
        gate, begun, now = threading.Event(), threading.Semaphore(0), [loop.time()]
        loop.time = lambda: now[0]  # type: ignore[method-assign]
        threads = BoundedThreads("test", threads=1, waiting=9, seconds=60)

        def hang() -> None:
            begun.release()
            gate.wait()

        for _ in range(2):
            hanging = asyncio.ensure_future(threads.run(hang))
            await asyncio.sleep(0)
            assert begun.acquire(timeout=SECONDS)
            now[0] += 61
            with pytest.raises(Refusal, match="this could not be done within 60 seconds") as caught:
                await hanging
            assert caught.value.status == 504
        # As many stand in as there are threads. What comes then waits, and is refused.
        waiting = asyncio.ensure_future(threads.run(lambda: "never called"))
        await asyncio.sleep(0)
        now[0] += 61
        with pytest.raises(Refusal, match="no thread was free") as caught:
            await waiting
        assert caught.value.status == 503
        threads.stop(0)  # waits for nobody
        assert all(thread.daemon for thread in threads._threads)  # so that the process can end
        gate.set()

    asyncio.run(get_stuck())


def test_a_stopping_service_waits_for_no_thread(gate: Gate) -> None:
    with run_server() as server, ThreadPoolExecutor(1) as pool:
        answer = in_the_model(server, gate, pool, "a")
        server.service.worker.stop(0)
        gate.open()
        assert answer.result(SECONDS).status_code == 200
        server.service.worker.stop(SECONDS)
    assert not [thread for thread in threading.enumerate() if thread is server.service.worker._thread]


def test_long_bodies_are_bounded_together(gate: Gate) -> None:
    with run_server(max_body_bytes=100_000, max_tokens=100_000, queue_tokens=1_000_000) as server:
        with ThreadPoolExecutor(12) as pool:
            admitted = [in_the_model(server, gate, pool, "a " * 40_000)]
            admitted += [pool.submit(embed, server, "a " * 40_000) for _ in range(8)]
            waiting(server, 9 * 64)
            refused, short = embed(server, "a " * 40_000), pool.submit(embed, server, "a")
            waiting(server, 9 * 64 + 3)
            gate.open()
            assert [answer.result(SECONDS).status_code for answer in [*admitted, short]] == [200] * 10
        assert refused.status_code == 429 and "long requests" in refused.text
        assert embed(server, "a " * 40_000).status_code == 200
