"""JSON as other programs read it: Python's own bare words ``NaN`` and ``Infinity`` become null."""

from __future__ import annotations

import json
import math
from typing import Any


def strict_json(value: Any, indent: int | None = None) -> tuple[str, int]:
    """A value as JSON text, with null for numbers that JSON does not know, and how many of those there were."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False), 0
    except ValueError:  # rare, so only now is every number looked at
        replaced: list[float] = []
        text = json.dumps(_finite(value, replaced), ensure_ascii=False, indent=indent, allow_nan=False)
        return text, len(replaced)


def _finite(value: Any, replaced: list[float]) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item, replaced) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item, replaced) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        replaced.append(value)
        return None
    return value
