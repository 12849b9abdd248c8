"""Several files of one log, read as one: a conversation goes on after midnight, and a trace in the next file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import DAMAGE, BadRow, damage_of
from turnlens.formats.format import Format
from turnlens.formats.source_file import ROWS_OF_A_FILE, Source


class JoinedSource(Source):
    """Files of one log in the place of one. Row ``n`` of the file ``i`` has the number ``i * ROWS_OF_A_FILE + n``.

    Args:
        parts: The files, by the prefix of their default ids.
    """

    def __init__(self, parts: Mapping[str, Source]) -> None:
        self._names, self._parts = list(parts), list(parts.values())
        super().__init__(self._parts[0].path, budget=self._parts[0].budget)

    @property
    def name(self) -> str:
        """The first file, and how many others there are."""
        return f"{self._parts[0].name} and {len(self._parts) - 1} more"

    @property
    def size(self) -> int:
        """The final value of `position`."""
        return sum(part.size for part in self._parts)

    @property
    def position(self) -> int:
        """Number of bytes of the files that have been read."""
        return sum(part.position for part in self._parts)

    def place(self, number: int) -> str:
        """The place in the file that the row is in."""
        file, row = divmod(number, ROWS_OF_A_FILE)
        return self._parts[file].place(row)

    def default_id(self, prefix: str, number: int) -> str:
        """The id that the conversation has where its file is read alone."""
        file, row = divmod(number, ROWS_OF_A_FILE)
        return self._parts[file].default_id(self._names[file], row)

    def records(self) -> Iterator[tuple[int, Any]]:
        """The records of all files; where one is damaged, a `BadRow` stands for the rest of it."""
        for file, part in enumerate(self._parts):
            number = 0
            try:
                for number, record in part.records():
                    yield file * ROWS_OF_A_FILE + number, record
            except ConversationError as problem:
                yield file * ROWS_OF_A_FILE + number + 1, BadRow(problem.problem)
            except tuple(DAMAGE) as error:
                yield file * ROWS_OF_A_FILE + number + 1, BadRow(damage_of(error))


def joined_logs(
    sources: Mapping[str, Source], format_of: Callable[[Source], Format]
) -> dict[str, tuple[Source, Format | None]]:
    """The sources with their formats, with one source in the place of all that are files of one log.

    Args:
        sources: By the prefix of their default ids.
        format_of: The format of a source. What it raises is left to whoever reads that source, as is the
            format of a lone one: None stands for it.
    """
    if len(sources) == 1:
        return {name: (source, None) for name, source in sources.items()}
    joined: dict[str, tuple[Source, Format | None]] = {}
    logs: dict[str, dict[str, Source]] = {}
    for name, source in sources.items():
        chosen = None
        with suppress(ConversationError, *DAMAGE):
            chosen = format_of(source)
        joined[name] = source, chosen
        if chosen is not None and chosen.spans_files:
            logs.setdefault(chosen.name, {})[name] = source
    for parts in logs.values():
        if len(parts) > 1:
            first, *others = parts
            joined[first] = JoinedSource(parts), joined[first][1]
            for name in others:
                del joined[name]
    return joined
