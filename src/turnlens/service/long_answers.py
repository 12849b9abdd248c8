"""A limit on long answers that are being sent, so that clients that read slowly do not fill the memory."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlens.service.refusals import Refusal

_PIECE = 65_536  # bytes


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
