"""How many requests each key may send: a token bucket that fills steadily and holds the requests of one minute."""

from __future__ import annotations

import time
from collections.abc import Callable

from turnlens.service.keys import Key


class RateLimiter:
    """Counts the requests of each key within this process.

    Args:
        clock: Gives a time in seconds that never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # name of the key: requests left, and the time of that count

    def wait_for(self, key: Key) -> float:
        """Count a request. Returns 0 if it may be served, or else the seconds until the next request may be."""
        if key.requests_per_minute is None:
            return 0.0
        capacity, now = float(key.requests_per_minute), self._clock()
        left, counted_at = self._buckets.get(key.name, (capacity, now))
        left = min(capacity, left + (now - counted_at) * capacity / 60)
        allowed = left >= 1
        self._buckets[key.name] = (left - allowed, now)
        return 0.0 if allowed else (1 - left) * 60 / capacity
