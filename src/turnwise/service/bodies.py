"""Requests are read whole, up to a limit, and what is worked on for a client that leaves is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.service.errors import Refusal

_SECONDS_TO_SEND = 60


class Bodies:
    """ASGI middleware.

    Args:
        app: What is behind it. It is cancelled when the client leaves before its answer is there.
        max_bytes: Longest body.
        max_requests: Most requests with a body at a time.
        on_left: Called when a client has left.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_requests: int, on_left: Callable[[], None]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_requests = max_requests
        self._on_left = on_left
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or refuse."""
        # What has no body is quick, and tells how a busy service does.
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            if self._open > self._max_requests:
                raise Refusal(429, f"more than {self._max_requests} requests are being served", retry_after=1)
            body = await self._read(scope, receive)
            if body is None:
                self._on_left()
            else:
                await self._run(body, scope, receive, send)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
        finally:
            self._open -= 1

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; ``None`` if the client left before its end."""
        announced = Headers(scope=scope).get("content-length", "0")
        self._check_size(int(announced) if announced.isdecimal() else 0)
        chunks, size = [], 0
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    self._check_size(size)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            raise Refusal(408, f"the request was not sent within {_SECONDS_TO_SEND} seconds") from None

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise Refusal(413, f"a request may have {self._max_bytes:,} bytes: send less at a time")

    async def _run(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        unread = [body]
        left = asyncio.ensure_future(_left(receive))

        async def replay() -> Message:
            if unread:
                return {"type": "http.request", "body": unread.pop(), "more_body": False}
            return await asyncio.shield(left)

        served = asyncio.ensure_future(self._app(scope, replay, send))
        try:
            await asyncio.wait((served, left), return_when=asyncio.FIRST_COMPLETED)
            if served.done():
                await served
            else:
                self._on_left()
        finally:
            left.cancel()
            served.cancel()
            await asyncio.gather(left, served, return_exceptions=True)


async def _left(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
