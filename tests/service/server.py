"""The real server, on a free port of this machine, in a thread."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI
from openai import DefaultHttpxClient, OpenAI

from turnlens.service import ServiceSettings, create_app
from turnlens.service.connections import uvicorn_config
from turnlens.service.service import Service

SECONDS = 60  # after which a test that hangs fails


@dataclass(frozen=True)
class Running:
    """A running server."""

    url: str
    app: FastAPI
    uvicorn_server: uvicorn.Server
    thread: threading.Thread

    @property
    def service(self) -> Service:
        return self.app.state.service

    def client(self, key: str | None = None) -> httpx2.Client:
        """A client that reads no certificates, which takes longer than most requests."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=SECONDS, verify=False)

    def openai(self, key: str = "none") -> OpenAI:
        client = DefaultHttpxClient(verify=False)
        return OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=SECONDS, http_client=client)

    def stop(self) -> None:
        self.uvicorn_server.should_exit = True
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


def start_server(**settings: Any) -> Running:
    """A server with these settings, whose model is still being loaded; it ends with the process, if not before."""
    app = create_app(ServiceSettings(**settings))
    listening = socket.create_server(("127.0.0.1", 0))  # connections wait in its backlog until the server is up
    server = uvicorn.Server(uvicorn_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    return Running(f"http://127.0.0.1:{listening.getsockname()[1]}", app, server, thread)


@contextmanager
def run_server(wait: bool = True, **settings: Any) -> Iterator[Running]:
    """A server that is stopped at the end.

    Args:
        wait: Until the model is loaded.
        settings: Of the service.
    """
    running = start_server(**settings)
    try:
        if wait:
            running.app.state.service.worker.loaded.result(SECONDS)
        yield running
    finally:
        running.stop()
