"""Limits on the bodies of requests, and on long answers, so that no client fills the memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlens.service.authentication import key_of
from turnlens.service.refusals import Refusal

_SECONDS_TO_SEND = 60
_SECONDS_TO_BEGIN = 10  # afterwards, a body must have come at the least rate
_LEAST_RATE = 1000  # bytes a second
SHORT = 65_536  # bytes; shorter bodies cost next to nothing
LONGEST_AT_ONCE = 8  # bodies of the greatest length, or a larger number of shorter ones
_PIECE = 65_536  # bytes


class Bodies:
    """ASGI middleware that reads bodies before the application sees them.

    Args:
        app: The application behind it. It is cancelled when the client disconnects before its answer is ready.
        max_bytes: The greatest length of a body.
        max_requests: The most requests with a body at a time, whose bodies have arrived. A key may have half of them,
            so that it leaves room for the others.
        on_left: Called when a client has disconnected.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_requests: int, on_left: Callable[[], None]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_requests = max_requests
        self._on_left = on_left
        self._held: dict[object, int] = {}  # the bytes of each request's body, kept until its answer is sent
        self._served: Counter[str | None] = Counter()  # how many requests of each key have arrived

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or refuse it."""
        # Requests without a body are quick, and some of them show the state of a busy service.
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        request = object()
        try:
            body = await self._read(request, scope, receive)
            if body is None:
                self._on_left()
            else:
                with self._counted(scope):
                    await self._run(body, scope, receive, send)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
        finally:
            self._held.pop(request, None)

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        """Count a request while it is served, or refuse it (429)."""
        key = key_of(scope)
        name = None if key is None else key.name
        most = self._max_requests if name is None else max(1, self._max_requests // 2)
        if self._served[name] >= most or self._served.total() >= self._max_requests:
            raise Refusal(429, "too many requests are being served", retry_after=1)
        self._served[name] += 1
        try:
            yield
        finally:
            self._served[name] -= 1

    async def _read(self, request: object, scope: Scope, receive: Receive) -> bytes | None:
        """The body; ``None`` if the client disconnected before its end."""
        headers = Headers(scope=scope)
        encoding = headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Refusal(415, f"send the body as it is, without Content-Encoding: {encoding}")
        announced = headers.get("content-length", "0")
        if announced.isdecimal():
            self._check_length(int(announced))
        chunks, size = [], 0
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_SECONDS_TO_BEGIN) as limit:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    self._hold(request, size)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
                    limit.reschedule(start + min(_SECONDS_TO_BEGIN + size / _LEAST_RATE, _SECONDS_TO_SEND))
        except TimeoutError:
            raise Refusal(408, f"send a request within {_SECONDS_TO_SEND} seconds, and without pauses") from None

    def _hold(self, request: object, size: int) -> None:
        """Refuse a body that is too long (413), or a long body while others take up the memory (429)."""
        self._check_length(size)
        self._held[request] = size
        if size > SHORT and sum(self._held.values()) > LONGEST_AT_ONCE * self._max_bytes:
            raise Refusal(429, "too many long requests are being served", retry_after=1)

    def _check_length(self, size: int) -> None:
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


class Answers:
    """ASGI middleware that writes long answers piece by piece, as fast as the client reads them.

    A client that stops reading is dropped by `turnlens.service.connections.PatientProtocol`.

    Args:
        app: The application behind it.
        max_bytes: How long the long answers that are being sent may be together; a single one may be longer.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._sending = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; its answer is replaced by a refusal (429) while others fill the memory."""
        begun: list[Message] = []  # the beginning of the answer, until the length of its body is known

        async def send_in_pieces(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
                return
            body = message.get("body", b"")
            is_long = len(body) > _PIECE
            if is_long and begun and self._sending and self._sending + len(body) > self._max_bytes:
                await Refusal(429, "too many long answers are being sent", retry_after=1).response()(
                    scope, receive, send
                )
                return
            if begun:
                await send(begun.pop())
            if not is_long:
                await send(message)
                return
            self._sending += len(body)
            try:
                for start in range(0, len(body), _PIECE):
                    end = start + _PIECE
                    has_more = end < len(body) or message.get("more_body", False)
                    await send({**message, "body": body[start:end], "more_body": has_more})
            finally:
                self._sending -= len(body)

        await self._app(scope, receive, send_in_pieces if scope["type"] == "http" else send)
