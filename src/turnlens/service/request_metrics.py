"""Metrics in Prometheus' format, and the middleware that records every request. No label holds what a client chose."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlens.service.authentication import key_of
from turnlens.service.refusals import Refusal, unexpected

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LOGGER = logging.getLogger("turnlens.service.requests")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CLIENT_LEFT = 499  # the status that nginx uses
_SECONDS_TO_RESTART = 5
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SECURITY = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# The page that documents the routes starts its script from an inline line.
_OF_DOCS = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'"
)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter(
            "turnlens_requests", "Requests answered", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "turnlens_request_seconds",
            "From the first byte of a request to the last of its answer",
            ["method", "route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.left = Counter("turnlens_clients_left", "Requests whose client left before its answer", registry=registry)
        self.tokens = Counter("turnlens_tokens", "Tokens that clients asked to embed", registry=registry)

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed whenever the metrics are read."""
        Gauge(name, description, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)


class RequestRecorder:
    """The outermost ASGI middleware.

    Args:
        app: The application behind it.
        metrics: Where requests are counted.
        log_paths: Log the paths that clients sent, instead of only the routes.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log_paths: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log_paths = log_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, and record it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        requested = Headers(scope=scope).get("x-request-id", "")
        request_id = requested if _REQUEST_ID.fullmatch(requested) else uuid.uuid4().hex
        status, start = _CLIENT_LEFT, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update({"X-Request-ID": request_id, **_SECURITY})
                if scope["path"].endswith("/docs"):
                    headers["Content-Security-Policy"] = _OF_DOCS
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # by the server, which ends before this is done
            if status == _CLIENT_LEFT:
                await Refusal(503, "the service is stopping", retry_after=_SECONDS_TO_RESTART).response()(
                    scope, receive, send_with_headers
                )
        except Exception as error:
            if status != _CLIENT_LEFT:  # the answer has begun
                raise
            await unexpected(error, request_id)(scope, receive, send_with_headers)
        finally:
            self._record(scope, request_id, status, time.perf_counter() - start)

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(method, route, status).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        key = key_of(scope)
        shown = scope["path"] if self._log_paths else route
        _LOGGER.info("%s %s %r %d %.3fs %s", key.name if key else "-", method, shown, status, seconds, request_id)
