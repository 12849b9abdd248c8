"""Conditions written as Qdrant's filters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from turnwise._utils.optional import require
from turnwise.store.conditions import All, Among, Compared, Condition, Contains, Either, Has, Not, normalised
from turnwise.store.state import StoreError

_BOUNDS = {"<": ("lt",), "<=": ("lte",), ">": ("gt",), ">=": ("gte",), "=": ("gte", "lte")}


def qdrant_filter(condition: Condition) -> Any:
    """A condition as a filter of Qdrant.

    Raises:
        StoreError: It is SQL, or it compares texts by order; Qdrant supports neither.
    """
    return _models().Filter(must=[_part(normalised(condition))])


def _part(condition: Condition) -> Any:
    models = _models()
    match condition:
        case Not(part):
            return models.Filter(must_not=[_part(part)])
        case All(parts):
            return models.Filter(must=list(map(_part, parts)))
        case Either(parts):
            return models.Filter(should=list(map(_part, parts)))
        case Compared(column, sign, value):
            return _compared(column, sign, value)
        case Contains(column, text):
            return models.FieldCondition(key=column, match=models.MatchPhrase(phrase=text))
        case Has(column, entry):
            return models.FieldCondition(key=column, match=models.MatchValue(value=entry))
        case Among(column, values):
            return models.FieldCondition(key=column, match=models.MatchAny(any=list(values)))
    raise StoreError("filters in SQL are for stores in folders: write a filter as an expression")


def _compared(column: str, sign: str, value: str | int | datetime) -> Any:
    models = _models()
    if isinstance(value, str):
        if sign not in ("=", "!="):
            raise StoreError(
                f"{column} {sign} {value!r}: texts are compared with =, !=, in and contains only on Qdrant"
            )
        condition = models.FieldCondition(key=column, match=models.MatchValue(value=value))
        return condition if sign == "=" else models.Filter(must_not=[condition])
    if sign == "!=":
        return models.Filter(should=[_compared(column, "<", value), _compared(column, ">", value)])
    bounds = dict.fromkeys(_BOUNDS[sign], value)
    ranges = models.DatetimeRange if isinstance(value, datetime) else models.Range
    return models.FieldCondition(key=column, range=ranges(**bounds))


def _models() -> Any:
    return require("qdrant_client.models", "qdrant")
