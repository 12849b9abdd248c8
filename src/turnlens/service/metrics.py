"""The metrics of the service, in Prometheus' format. No label holds anything that a client chose."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "turnlens_requests", "Requests answered", ["method", "route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "turnlens_request_seconds",
            "From the first byte of a request to the last of its answer",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.left = Counter(
            "turnlens_clients_left", "Requests whose client left before its answer", registry=self._registry
        )
        self.tokens = Counter("turnlens_tokens", "Tokens that clients asked to embed", registry=self._registry)

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed whenever the metrics are read."""
        Gauge(name, description, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)
