"""Cells of CSV files that spreadsheets must not run as formulas; the explorer's page has the same rule."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def without_formula(value: Any) -> Any:
    """A value for a CSV file: a text that a spreadsheet would take for a formula gets ``'`` before it.

    >>> without_formula("=1+1"), without_formula("1=1"), without_formula(-1)
    ("'=1+1", '1=1', -1)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
