"""Requests are read whole, up to a limit, and what is worked on for a client that leaves is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.service.errors import Refusal

_SECONDS_TO_SEND = 60
SHORT = 65_536  # bytes of a body that costs next to nothing
_LONGEST_AT_ONCE = 8  # bodies as long as they may be, or more shorter ones


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
        self._held: dict[object, int] = {}  # the bytes of each request, from its first to the last of its answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or refuse."""
        # What has no body is quick, and tells how a busy service does.
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        request = object()
        try:
            if len(self._held) == self._max_requests:
                raise Refusal(429, f"more than {self._max_requests} requests are being served", retry_after=1)
            self._held[request] = 0
            body = await self._read(request, scope, receive)
            if body is None:
                self._on_left()
            else:
                await self._run(body, scope, receive, send)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
        finally:
            self._held.pop(request, None)

    async def _read(self, request: object, scope: Scope, receive: Receive) -> bytes | None:
        """The body; ``None`` if the client left before its end."""
        announced = Headers(scope=scope).get("content-length", "0")
        self._hold(request, int(announced) if announced.isdecimal() else 0)
        chunks, size = [], 0
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    self._hold(request, size)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            raise Refusal(408, f"the request was not sent within {_SECONDS_TO_SEND} seconds") from None

    def _hold(self, request: object, size: int) -> None:
        """Refuse a body that is too long (413), and a long one while others fill the memory (429)."""
        if size > self._max_bytes:
            raise Refusal(413, f"a request may have {self._max_bytes:,} bytes: send less at a time")
        self._held[request] = max(size, self._held[request])
        if size > SHORT and sum(self._held.values()) > _LONGEST_AT_ONCE * self._max_bytes:
            raise Refusal(429, "too many long requests are being served", retry_after=1)

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
