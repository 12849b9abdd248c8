"""Values written as text: for terminals, as strict JSON, in cells of tables; and durations."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


# Characters that terminals obey instead of showing (C0 and C1 without tab and line break), those that break lines or
# turn the direction of what follows, and halves of pairs. The explorer's page has the same rule.
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")  # of surrogates, which is no text


def printable(text: str) -> str:
    r"""Return a text that is safe for a terminal and a log.

    >>> printable("a\x1b[31mb\u202ec")
    'a�[31mb�c'
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub("\ufffd", text)


def strict_json(value: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> tuple[str, int]:
    """Return a value as JSON text, and how many of its numbers became null because JSON has no NaN or infinity.

    What is unsafe for a terminal is escaped, which is the same JSON.
    """
    dumps = partial(json.dumps, ensure_ascii=False, indent=indent, allow_nan=False, default=default)
    replaced: list[float] = []
    try:
        text = dumps(value)
    except ValueError:  # rare, so the numbers are checked one by one only here
        text = dumps(_finite(value, replaced))
    if not text.isascii() or "\x7f" in text:  # of ASCII, JSON escapes all other control characters
        text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
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


# The explorer's page has the same rule. Spreadsheets take the wide signs for the others.
_FORMULA = re.compile("'*[=+@\t\r\n＝＋－＠-]")


def without_formula(value: Any) -> Any:
    """Return a name or value for a table: a text that a spreadsheet would run as a formula gets ``'`` before it.

    >>> without_formula("=1+1"), without_formula("1=1"), without_formula(-1)
    ("'=1+1", '1=1', -1)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def with_formula(cell: str) -> str:
    """Return a name or cell of a table as it was before `without_formula`.

    >>> with_formula("'=1+1"), with_formula("''=1+1"), with_formula("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table whose names and texts are those of `without_formula`."""
    import pyarrow as pa

    columns = [
        pa.array(map(without_formula, column.to_pylist()), column.type) if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=[*map(without_formula, table.column_names)])


_CLOCK = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,4}):([0-5]\d)\s*")
_HOURS_OF_DAY = 24
_LONG = 60  # minutes: most times of day in three parts are more, and most durations less


def minutes_of(text: str) -> tuple[float | None, int]:
    """Return a text such as 10:48 or 00:10:48 in minutes, and its number of parts; ``(None, 0)`` for any other.

    >>> minutes_of("10:48"), minutes_of("1:10:48"), minutes_of("10.48")
    ((10.8, 2), (70.8, 3), (None, 0))
    """
    if (clock := _CLOCK.fullmatch(text)) is None:
        return None, 0
    hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return hours * 60 + minutes + seconds / 60, 2 if clock[1] is None else 3


def are_durations(minutes: Sequence[float] | np.ndarray, parts: int) -> bool:
    """Return true if a column holds durations rather than times of day.

    Values of two parts are durations if one begins with 24 or more; values of three, if half are below an hour.

    Args:
        minutes: The values as `minutes_of` gives them, at least one, without NaN.
        parts: The number of parts of each value.
    """
    import numpy as np

    return bool(np.max(minutes) >= _HOURS_OF_DAY if parts == 2 else np.median(minutes) < _LONG)
