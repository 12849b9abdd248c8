"""Checks of what users give: settings whose values have the declared types, lists of texts, and misspelt names."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

# The names of the types in error messages.
_TYPE_NAMES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


@dataclass(frozen=True)
class Settings:
    """A base of frozen dataclasses: every value has the type its field declares.

    A subclass makes its further checks in ``__post_init__``, after calling that of ``super()``. In this way several
    bases can be combined.

    Raises:
        ValueError: A value has another type, or is out of range.
    """

    def __post_init__(self) -> None:
        check_types(self)

    @classmethod
    def of(cls, other: Any) -> Self:
        """Take the settings of this class from the attributes of another object, such as a recipe."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(cls)})


def check_types(settings: Any) -> None:
    """Raise ``ValueError`` if a field of a dataclass has a value of another type than it declares."""
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        value, allowed = getattr(settings, field.name), _alternatives(hints[field.name])
        if not any(_is_of(value, alternative) for alternative in allowed):
            expected = " or ".join(
                _TYPE_NAMES.get(alternative, repr(alternative))
                for alternative in allowed
                if alternative is not NoneType
            )
            raise ValueError(f"{field.name} must be {expected}, got {value!r}")


def check_positive(settings: Any, *names: str) -> None:
    """Raise ``ValueError`` if one of these fields of a dataclass is not positive and finite; ``None`` is allowed."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number, got {value!r}")


def check_interpolation(value: float) -> None:
    """Raise ``ValueError`` unless an interpolation weight is above 0 and at most 1."""
    if not 0 < value <= 1:
        raise ValueError(f"interpolation must be above 0 and at most 1, got {value!r}")


def _alternatives(hint: Any) -> list[Any]:
    """Return the types and values that a type hint allows."""
    if get_origin(hint) in (Union, UnionType):
        return [alternative for part in get_args(hint) for alternative in _alternatives(part)]
    return list(get_args(hint)) if get_origin(hint) is Literal else [get_origin(hint) or hint]


def _is_of(value: Any, allowed: Any) -> bool:
    if not isinstance(allowed, type):
        return bool(value == allowed)
    if allowed in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if allowed is float else allowed)


def refuse_single(value: object, name: str) -> None:
    """Raise ``TypeError`` if an argument is a single text or path instead of a list of them.

    Args:
        value: The argument.
        name: The parameter's name, for the message.
    """
    if isinstance(value, str | bytes | os.PathLike):
        raise TypeError(f"{name}: expected a list, got the single {value!r:.60}: put it in a list, {name}=[…]")


def require_list(values: Iterable[str], name: str) -> list[str]:
    """Return texts as a list.

    Args:
        values: The argument.
        name: The parameter's name, for the message.

    Raises:
        TypeError: It is a single text, no list at all, or one of its items is no text.
    """
    refuse_single(values, name)
    if not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a list of texts, got {values!r:.60}")
    texts = list(values)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}: expected texts, got {text!r:.60} at position {place}: leave it out or make it a text"
            )
    return texts


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'epochs'?)``, or nothing if no known name resembles this one."""
    near = get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
