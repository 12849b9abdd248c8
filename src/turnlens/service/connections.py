"""Connections to clients: limits for those that send or read too slowly or connect too often; uvicorn's settings."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

_SECONDS_FOR_HEADERS = 15
_SECONDS_TO_READ = 10  # for the next piece of an answer, if those before were read in time
_SECONDS_A_PIECE = 1  # of `turnlens.service.gate.Answers`, 64 KB; who takes longer uses up the time above
_SECONDS_IDLE = 75  # longer than clients keep connections open, so that none is closed just as it is used again
_SECONDS_TO_STOP = 2  # for requests that were accepted; the others get 503, and the threads one more second


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol with limits: how slowly a client may send headers and read answers, and how often connect.

    Args:
        arguments: The arguments of uvicorn's own protocol.
        max_connections: The most connections of one address.
        seconds_for_headers: How long a new connection, or one that has begun a request, may take to send its headers.
        seconds_to_read: How long a client may read nothing of an answer that waits for it. Whoever takes longer than a
            second for each piece has less time for the next, so that an answer is read at 64 KB a second at least.
        further: The keyword arguments of uvicorn's own protocol.
    """

    def __init__(
        self,
        *arguments: Any,
        max_connections: int,
        seconds_for_headers: float = _SECONDS_FOR_HEADERS,
        seconds_to_read: float = _SECONDS_TO_READ,
        **further: Any,
    ) -> None:
        super().__init__(*arguments, **further)
        self._max_connections = max_connections
        self._seconds_for_headers = seconds_for_headers
        self._seconds_to_read = self._patience = seconds_to_read
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waits_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless its address has too many."""
        super().connection_made(transport)
        clients = [getattr(connection, "client", None) for connection in self.connections]
        if [client and client[0] for client in clients].count(self.client and self.client[0]) > self._max_connections:
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on, and check whether the headers are complete."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop("headers")
        self._stop("reading")
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for long."""
        super().pause_writing()
        self._stop("reading")
        self._waits_since = self.loop.time()
        self._timers["reading"] = self.loop.call_later(self._patience, self._drop)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        left = self._patience - (self.loop.time() - self._waits_since)
        self._patience = min(left + _SECONDS_A_PIECE, self._seconds_to_read)
        self._stop("reading")
        super().resume_writing()

    def _drop(self) -> None:
        self.transport.abort()  # closing it would first wait until all is read

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop("headers")
        elif "headers" not in self._timers:
            self._timers["headers"] = self.loop.call_later(self._seconds_for_headers, lambda: self.transport.close())

    def _stop(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.pop(timer).cancel()


def uvicorn_config(app: FastAPI, host: str = "127.0.0.1", port: int = 8000) -> uvicorn.Config:
    """Configure uvicorn for an application of `turnlens.service.create_app`."""
    protocol: Any = partial(PatientProtocol, max_connections=app.state.service.settings.max_connections)
    return uvicorn.Config(
        app,
        host,
        port,
        http=protocol,
        log_config=None,
        access_log=False,  # the service's own log reveals less about clients' requests
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_STOP,
        timeout_keep_alive=_SECONDS_IDLE,
    )
