"""The gate before every route and mount: who may come in, with how large a body, and how much may wait to be sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlens.service.authentication import Authentication, key_of, path_of
from turnlens.service.refusals import Refusal
from turnlens.service.service import Service

_SECONDS_TO_SEND = 60
_SECONDS_TO_BEGIN = 10  # afterwards, a body must have come at the least rate
_LEAST_RATE = 1000  # bytes a second
SHORT = 65_536  # bytes; shorter bodies cost next to nothing
DEEPEST = 100  # lists and objects within each other; parsers give up at about 200
_PIECE = 65_536  # bytes of a body, between which other threads run, or of an answer
_MARKS = b",[{]}"
_OTHERS = bytes(set(range(256)) - set(_MARKS))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
LONGEST_AT_ONCE = 8  # bodies of the greatest length, or a larger number of shorter ones


class Gate:
    """ASGI middleware that no request passes before its key, its rate and its whole body were checked.

    Only routes that say so get long bodies: these parse them in a thread. All else, such as a mount, may parse what it
    gets in the event loop, since that is short.

    Args:
        app: The application behind it. It is cancelled when the client disconnects before its answer is ready.
        authentication: Checks keys and their rates.
        reads_long_bodies: Tells whether a method and path do.
        service: Its settings are the limits. A key may have half of what is open at a time, and leaves room for others.
    """

    def __init__(
        self,
        app: ASGIApp,
        authentication: Authentication,
        reads_long_bodies: Callable[[str, str], bool],
        service: Service,
    ) -> None:
        self._app = app
        self._authentication = authentication
        self._reads_long_bodies = reads_long_bodies
        self._service = service
        self._settings = service.settings
        self._served: Counter[str | None] = Counter()  # how many requests of each key have arrived
        self._held: Counter[str | None] = Counter()  # the bytes of their bodies, kept until the answers are sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close"})
        else:
            try:
                self._authentication.check(scope)
                await self._serve(scope, receive, send)
            except Refusal as refusal:
                await refusal.response()(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = key_of(scope)
        name = None if key is None else key.name
        with self._held_by(name) as hold:
            body = await self._read(scope, receive, hold)
            if body is None:
                self._service.metrics.left.inc()
                return
            await self._service.in_thread(partial(check_json, body, self._settings.max_values), len(body) > SHORT)
            # Requests that cannot have a body are quick, and some of them show the state of a busy service.
            with nullcontext() if scope["method"] in ("GET", "HEAD") else self._counted(name):
                await self._run(body, scope, receive, send)

    @contextmanager
    def _held_by(self, name: str | None) -> Iterator[Callable[[int], None]]:
        """Gives a function that takes the length of a body so far, and refuses a long one if others fill the memory."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            self._held[name] += size - held
            held = size
            if size > SHORT and _is_full(self._held, name, LONGEST_AT_ONCE * self._settings.max_body_bytes):
                raise Refusal(429, "too many long requests are being served", retry_after=1)

        try:
            yield hold
        finally:
            self._held[name] -= held

    @contextmanager
    def _counted(self, name: str | None) -> Iterator[None]:
        """Count a request while it is served, or refuse it (429)."""
        self._served[name] += 1
        try:
            if _is_full(self._served, name, self._settings.max_requests):
                raise Refusal(429, "too many requests are being served", retry_after=1)
            yield
        finally:
            self._served[name] -= 1

    async def _read(self, scope: Scope, receive: Receive, hold: Callable[[int], None]) -> bytes | None:
        """The body; ``None`` if the client disconnected before its end."""
        headers, most = Headers(scope=scope), self._settings.max_body_bytes
        if not self._reads_long_bodies(scope["method"], path_of(scope)):
            most = min(most, SHORT)
        encoding = headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Refusal(415, f"send the body as it is, without Content-Encoding: {encoding}")
        announced = headers.get("content-length", "0")
        if announced.isdecimal():
            _check_length(int(announced), most)
        body = bytearray()
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_SECONDS_TO_BEGIN) as limit:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    _check_length(len(body), most)
                    hold(len(body))
                    if not message.get("more_body", False):
                        return bytes(body)
                    limit.reschedule(start + min(_SECONDS_TO_BEGIN + len(body) / _LEAST_RATE, _SECONDS_TO_SEND))
        except TimeoutError:
            raise Refusal(408, f"send a request within {_SECONDS_TO_SEND} seconds, and without pauses") from None

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
                self._service.metrics.left.inc()
        finally:
            left.cancel()
            served.cancel()
            await asyncio.gather(left, served, return_exceptions=True)


def _check_length(size: int, most: int) -> None:
    if size > most:
        raise Refusal(413, f"a request may have {most:,} bytes here: send less at a time")


def _is_full(held: Counter[str | None], name: str | None, most: int) -> bool:
    """Return true if there is more than ``most`` in all, or if a key has more than half of it."""
    return held.total() > most or (name is not None and held[name] > max(1, most // 2))


async def _left(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


def check_json(body: bytes, most: int) -> None:
    """Refuse a body with too many values in its lists and objects, or with too many within each other.

    It is not parsed for this, and the time is linear in its length. What is no JSON is counted as a parser would.

    Args:
        body: The body, in UTF-8.
        most: The most values.

    Raises:
        Refusal: It has more values, or is deeper than `DEEPEST` (413).
    """
    count, depth, in_text, start = 0, 0, False, 0
    while start < len(body):
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # what follows is escaped
            piece = body[start : start + _PIECE + 1]
        start += len(piece)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        marks = b"".join(parts[in_text::2]).translate(None, _OTHERS)
        in_text ^= len(parts) % 2 == 0
        count += len(marks) - marks.count(b"]") - marks.count(b"}")
        if count > most:
            raise Refusal(413, f"a request may have {most:,} values in its lists and objects: send less at a time")
        if marks:
            depths = depth + np.cumsum(_STEPS[np.frombuffer(marks, np.uint8)])
            if depths.max() > DEEPEST:
                raise Refusal(413, f"a request may have lists and objects {DEEPEST} deep within each other")
            depth = int(depths[-1])


class Answers:
    """ASGI middleware that writes long answers piece by piece, so that clients that read slowly do not fill the memory.

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
