"""Extensions: packages that add methods, tasks, formats and commands to turnlens.

An extension is a module that an entry point of the group ``turnlens.extensions`` names. It holds plain tables of texts,
such as ``METHODS = {"my-method": ("my_package.recipe:MyRecipe", "one line about it")}``, and imports nothing. What a
name stands for is imported when it is used. `turnlens.papers.extension` is one; docs/extensions.md has the tables.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Generic, TypeAlias, TypeVar

GROUP = "turnlens.extensions"
Value = TypeVar("Value")
# The place of a value, as ``"package.module:NAME"``, or the place and one line about it.
Entry: TypeAlias = str | tuple[str, str]


@cache
def extensions() -> tuple[ModuleType, ...]:
    """The modules of all installed extensions; one that cannot be imported is left out with a warning."""
    modules = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            modules.append(point.load())
        except Exception as error:  # of somebody else's module: turnlens works without it
            logging.getLogger("turnlens").warning("left out the extension %s: %s", point.name, error)
    return tuple(modules)


class Table(Mapping[str, Value], Generic[Value]):
    """Methods, tasks and similar things by name, each defined in a module of its own.

    The names are known without importing what they stand for, so that the command line can list and check them at once.

    Args:
        entries: What each name stands for.
        extended_by: The name of the extensions' tables whose entries are added; they replace none of these.
        last: Further entries, which come after those of extensions.
    """

    def __init__(
        self, entries: Mapping[str, Entry], extended_by: str | None = None, last: Mapping[str, Entry] | None = None
    ) -> None:
        self._own, self._extended_by, self._last = entries, extended_by, last or {}

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        added: dict[str, Entry] = {}
        for module in extensions() if self._extended_by else ():
            for name, entry in getattr(module, str(self._extended_by), {}).items():
                added.setdefault(name, entry)
        return {**self._own, **added, **self._own, **self._last}  # own entries first, and none replaced

    def __getitem__(self, name: str) -> Value:
        entry = self._entries[name]
        module, _, attribute = (entry if isinstance(entry, str) else entry[0]).partition(":")
        value: Value = getattr(import_module(module), attribute)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def about(self, name: str) -> str:
        """One line about this entry, or nothing."""
        entry = self._entries[name]
        return "" if isinstance(entry, str) else entry[1]

    def name_of(self, kind: type) -> str | None:
        """The name that stands for this class; ``None`` if none does."""
        place = f"{kind.__module__}:{kind.__name__}"
        return next((name for name, entry in self._entries.items() if place in (entry, entry[0])), None)

    def first_of(self, names: Iterable[str]) -> Value | None:
        """The value of the first of these names that is in the table; ``None`` if none is."""
        return next((self[name] for name in names if name in self), None)
