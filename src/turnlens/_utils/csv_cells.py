"""Cells of CSV files that spreadsheets must not run as formulas; the explorer's page has the same rule."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKED = tuple(f"'{sign}" for sign in _FORMULA)


def without_formula(value: Any) -> Any:
    """A value for a CSV file: a text that a spreadsheet would take for a formula gets ``'`` before it.

    >>> without_formula("=1+1"), without_formula("1=1"), without_formula(-1)
    ("'=1+1", '1=1', -1)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def with_formula(cell: str) -> str:
    """A cell of a CSV file as it was before `without_formula`.

    >>> with_formula("'=1+1"), with_formula("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith(_MARKED) else cell
