"""JSON as other programs read it: Python's own bare words ``NaN`` and ``Infinity`` become null."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any


def strict_json(value: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> tuple[str, int]:
    """Write a value as JSON text. Numbers that JSON does not know become null; they are counted and returned too."""
    dumps = partial(json.dumps, ensure_ascii=False, indent=indent, allow_nan=False, default=default)
    try:
        return dumps(value), 0
    except ValueError:  # rare, so the numbers are checked one by one only here
        replaced: list[float] = []
        return dumps(_finite(value, replaced)), len(replaced)


def _finite(value: Any, replaced: list[float]) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item, replaced) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item, replaced) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        replaced.append(value)
        return None
    return value
