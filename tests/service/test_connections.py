"""Connections that say little, by uvicorn's protocol without a network: time is what the test says."""

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from turnlens.service.connections import PatientProtocol

pytestmark = pytest.mark.anyio

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Transport(asyncio.Transport):
    """Remembers what is sent, and whether it was closed."""

    def __init__(self, peer: str = "203.0.113.7") -> None:
        super().__init__({"peername": (peer, 1), "sockname": ("127.0.0.1", 2)})
        self.sent = b""
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Clock:
    """Stands in for the loop's timers."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.timers: list[tuple[float, Any, asyncio.TimerHandle]] = []
        self.seconds = 0.0

    def time(self) -> float:
        return self.seconds

    def call_later(self, seconds: float, call: Any) -> asyncio.TimerHandle:
        handle = self._loop.call_later(10_000, call)
        self.timers.append((seconds, call, handle))
        return handle

    def create_task(self, *given: Any, **further: Any) -> Any:
        return self._loop.create_task(*given, **further)

    def pass_seconds(self, seconds: float) -> None:
        for after, call, handle in self.timers:
            if after <= seconds and not handle.cancelled():
                handle.cancel()
                call()


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def connect(state: ServerState, clock: Any, peer: str = "203.0.113.7") -> tuple[PatientProtocol, Transport]:
    config = uvicorn.Config(answer, log_config=None, lifespan="off", timeout_keep_alive=75)
    protocol = PatientProtocol(config, state, {}, clock, max_connections=3, seconds_for_headers=15)
    transport = Transport(peer)
    protocol.connection_made(transport)
    return protocol, transport


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def clock() -> Clock:
    return Clock(asyncio.get_running_loop())


@pytest.mark.parametrize("said", [[], [b"G"], [b"GET / HTTP/1.1\r\n", b"Host: lo", b"calhost\r\n"]])
async def test_endless_headers_end_the_connection(clock: Clock, said: list[bytes]) -> None:
    protocol, transport = connect(ServerState(), clock)
    for data in said:
        protocol.data_received(data)
    clock.pass_seconds(14)
    assert not transport.is_closed
    clock.pass_seconds(15)
    assert transport.is_closed


async def test_a_connection_is_kept_for_the_next_request(clock: Clock) -> None:
    protocol, transport = connect(ServerState(), clock)
    for number in (1, 2):
        protocol.data_received(REQUEST[:10])
        protocol.data_received(REQUEST[10:])
        await asyncio.gather(*protocol.tasks)
        assert transport.sent.count(b"200 OK") == number
        clock.pass_seconds(15)
        assert not transport.is_closed
    protocol.data_received(REQUEST[:10])  # the third is never completed
    clock.pass_seconds(15)
    assert transport.is_closed


async def test_a_slow_body_does_not_end_the_connection(clock: Clock) -> None:
    protocol, transport = connect(ServerState(), clock)
    protocol.data_received(REQUEST.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\n1"))
    clock.pass_seconds(15)
    assert not transport.is_closed
    await asyncio.gather(*protocol.tasks)


async def test_a_client_that_does_not_read_is_dropped(clock: Clock) -> None:
    protocol, transport = connect(ServerState(), clock)
    protocol.data_received(REQUEST)
    await asyncio.gather(*protocol.tasks)
    protocol.pause_writing()
    protocol.resume_writing()  # it read just in time
    clock.pass_seconds(10)
    assert not transport.is_closed
    protocol.pause_writing()
    clock.pass_seconds(10)
    assert transport.is_closed


@pytest.mark.parametrize(("seconds", "pieces"), [(9, 2), (3, 5), (0.9, None)])
async def test_a_slowly_reading_client_is_dropped(clock: Clock, seconds: float, pieces: int | None) -> None:
    protocol, transport = connect(ServerState(), clock)
    protocol.data_received(REQUEST)
    await asyncio.gather(*protocol.tasks)
    for piece in range(1, 50):
        protocol.pause_writing()
        clock.pass_seconds(seconds)
        if transport.is_closed:
            assert piece == pieces
            return
        clock.seconds += seconds
        protocol.resume_writing()
    assert pieces is None


async def test_an_address_has_only_so_many_connections(clock: Clock) -> None:
    state = ServerState()
    own = [connect(state, clock) for _ in range(4)]
    _, other = connect(state, clock, "203.0.113.8")
    assert [transport.is_closed for _, transport in own] == [False] * 3 + [True]
    assert not other.is_closed
    for protocol, _ in (own[0], own[3]):
        protocol.connection_lost(None)
    assert not connect(state, clock)[1].is_closed
