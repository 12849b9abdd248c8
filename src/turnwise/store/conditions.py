"""Conditions on the rows of a store: the meaning of a filter, before it is written in a database's own language."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Compared:
    """A column compared with a value by =, !=, <, <=, > or >=; never true where the column is empty."""

    column: str
    sign: str
    value: str | int | datetime


@dataclass(frozen=True)
class Contains:
    """The condition that a text contains another text."""

    column: str
    text: str


@dataclass(frozen=True)
class Has:
    """The condition that a list contains an entry."""

    column: str
    entry: str


@dataclass(frozen=True)
class Among:
    """The condition that a text is one of several."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    part: Condition


@dataclass(frozen=True)
class All:
    """Conditions that must all hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """Conditions of which at least one must hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Raw:
    """A condition in LanceDB's SQL, which is passed on unchanged."""

    sql: str


Condition = Compared | Contains | Has | Among | Not | All | Either | Raw

_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def normalised(condition: Condition, negated: bool = False) -> Condition:
    """The same condition, or its negation, with negations only at its leaves and without needless nesting.

    A comparison with an empty value is neither true nor false. De Morgan's laws hold for such values too, and so does
    replacing a negated comparison by its opposite. So the same rows fulfil the result.
    """
    match condition:
        case Not(part):
            return normalised(part, not negated)
        case All(parts) | Either(parts):
            kind = All if isinstance(condition, All) != negated else Either
            flat: list[Condition] = []
            for part in (normalised(part, negated) for part in parts):
                flat += part.parts if isinstance(part, kind) else [part]
            return flat[0] if len(flat) == 1 else kind(tuple(flat))
        case Compared(column, sign, value) if negated:
            return Compared(column, _OPPOSITE[sign], value)
    return Not(condition) if negated else condition


def alternations(condition: Condition) -> int:
    """How deeply "or" and "and" alternate within each other, which is the depth of the parentheses that SQL needs."""
    if not isinstance(condition, All | Either):
        return 0
    return max(alternations(part) + isinstance(condition, All) * isinstance(part, Either) for part in condition.parts)


def comparisons(condition: Condition) -> int:
    """How many comparisons are made for each row; comparing with a list of texts counts as one."""
    match condition:
        case All(parts) | Either(parts):
            return sum(map(comparisons, parts))
        case Not(part):
            return comparisons(part)
    return 1


def sql_of(condition: Condition) -> str:
    """A condition as SQL; texts are quoted so that they cannot end their quotes."""
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
            return f"NOT {_bracketed(part)}"
        case All(parts):
            return " AND ".join(map(_bracketed, parts))
        case Either(parts):
            return " OR ".join(map(sql_of, parts))


def _bracketed(condition: Condition) -> str:
    """An operand in brackets, if it needs them: needless brackets cost LanceDB's parser time and depth."""
    sql = sql_of(condition)
    return f"({sql})" if isinstance(condition, All | Either | Raw) else sql


def _literal(value: str | int | datetime) -> str:
    if isinstance(value, datetime):
        return f"timestamp '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
