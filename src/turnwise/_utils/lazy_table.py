"""A table whose names are known at once and whose values are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LazyTable(Mapping[str, Value], Generic[Value]):
    """Methods, tasks and the like by name, each in the module of its own room.

    So the command line can list and check names without loading what they stand for, and a room can offer what a room
    above it makes, without importing it.

    Args:
        places: Name -> where its value is, ``"package.module:NAME"``.
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
