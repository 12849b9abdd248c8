"""A table whose names are known at once and whose values are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LazyTable(Mapping[str, Value], Generic[Value]):
    """Methods, tasks and similar things by name, each defined in a module of its own.

    The command line can list and check names without loading what they stand for. A package can also offer something
    that a package above it defines, without importing that package.

    Args:
        places: For each name, the place of its value, as ``"package.module:NAME"``.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> Value:
        module, _, attribute = self._places[name].partition(":")
        value: Value = getattr(import_module(module), attribute)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def first_of(self, names: Iterable[str]) -> Value | None:
        """The value of the first of these names that is in the table; ``None`` if none is."""
        return next((self[name] for name in names if name in self), None)
