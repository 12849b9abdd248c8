"""What rows of a store must fulfil: what filters mean, before a database's own language says it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Compared:
    """A column compared with a value by =, !=, <, <=, > or >=; never true where the column is empty."""

    column: str
    sign: str
    value: str | int | float | datetime


@dataclass(frozen=True)
class Contains:
    """A text that another one is part of."""

    column: str
    text: str


@dataclass(frozen=True)
class Has:
    """A list with an entry."""

    column: str
    entry: str


@dataclass(frozen=True)
class Among:
    """A text that is one of several."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Not:
    """What is not so."""

    part: Condition


@dataclass(frozen=True)
class All:
    """Several that must all be so."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """Several of which one must be so."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Raw:
    """LanceDB's SQL, as it is."""

    sql: str


Condition = Compared | Contains | Has | Among | Not | All | Either | Raw


def sql_of(condition: Condition) -> str:
    """A condition as SQL; texts never leave their quotes."""
    match condition:
        case Raw(sql):
            return sql
        case Compared(column, sign, value):
            return f"{column} {sign} {_literal(value)}"
        case Contains(column, text):
            return f"contains({column}, {_literal(text)})"
        case Has(column, entry):
            return f"array_has({column}, {_literal(entry)})"
        case Among(column, values):
            return f"{column} IN ({', '.join(map(_literal, values))})"
        case Not(part):
            return f"(NOT {sql_of(part)})"
        case All(parts):
            return "(" + " AND ".join(map(sql_of, parts)) + ")"
        case Either(parts):
            return "(" + " OR ".join(map(sql_of, parts)) + ")"


def _literal(value: str | int | float | datetime) -> str:
    if isinstance(value, datetime):
        return f"timestamp '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
