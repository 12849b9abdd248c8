"""The files of a corpus, on disk or object storage, with a number and a name each that all workers agree on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsspec.core import has_magic, url_to_fs
from fsspec.implementations.local import LocalFileSystem
from typing_extensions import override

from turnlens._utils.files import is_standard, is_url
from turnlens.data.conversation_reader import SkippedRows, default_names, rows_of_file
from turnlens.data.conversation_source import ConversationSource, MemorySource, in_python
from turnlens.data.read_options import ReadingOptions
from turnlens.errors import BadRowError, ConversationError
from turnlens.formats.folders import is_archive
from turnlens.formats.input_files import find_files, is_paths, no_conversations, without_sidecars
from turnlens.formats.row_checker import RowChecker
from turnlens.formats.source_file import ENDINGS, Source


@dataclass(frozen=True)
class InputFile:
    """One file of a corpus.

    Attributes:
        number: Its place among the files.
        name: The beginning of the default ids of its conversations.
        path: An absolute path, or a URL.
    """

    number: int
    name: str
    path: str

    def rows(self, options: ReadingOptions, skipped: SkippedRows) -> Iterator[dict[str, Any]]:
        """Its conversations; problems go to ``skipped`` or are raised, as in `rows_of_file`."""
        with _on_disk(self.path) as file:
            shown = str(file)
            try:
                source = Source(file, encoding=options.encoding)
                yield from rows_of_file(source, options, self.name, RowChecker(), skipped)
            except ConversationError as error:
                kind = BadRowError if isinstance(error, BadRowError) else ConversationError
                raise kind(error.where.replace(shown, self.path), error.problem) from None
            finally:
                skipped.first[:] = [problem.replace(shown, self.path) for problem in skipped.first]


@dataclass(frozen=True)
class GivenInput(InputFile):
    """Conversations that this process holds in memory, used in place of a file.

    Attributes:
        data: What the user gave.
    """

    data: Any = None

    @override
    def rows(self, options: ReadingOptions, skipped: SkippedRows) -> Iterator[dict[str, Any]]:
        try:
            yield from rows_of_file(MemorySource(self.data), options, self.name, RowChecker(), skipped)
        except ConversationError as error:
            raise in_python(error) from None


def find_inputs(paths: ConversationSource, format: str = "auto") -> list[InputFile]:
    """The files that paths and URLs (of files, folders, globs) stand for, in the order in which they are embedded.

    Raises:
        ConversationError: A path stands for no file, is the standard input, which cannot be read again from a given
            place, or is not a path at all.
    """
    if not is_paths(paths):
        problem = "expected files that all workers can read: write them with turnlens.convert_conversations"
        raise ConversationError(type(paths).__name__, problem)
    locations: list[str] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        if is_standard(path):
            raise ConversationError("-", "the standard input cannot be read shard by shard; give files")
        if is_archive(Path(path)):
            raise ConversationError(
                str(path), "a zip file cannot be read shard by shard; unpack it and give the folder"
            )
        locations += _find(str(path), format)
    files = [Path(path) for path in dict.fromkeys(locations)]
    names = default_names(files)
    return [InputFile(number, names[Path(path)], path) for number, path in enumerate(dict.fromkeys(locations))]


def _find(path: str, format: str) -> list[str]:
    if not is_url(path):
        return [str(file.absolute()) for file in find_files(path, format)]
    system, inside = url_to_fs(path)
    if isinstance(system, LocalFileSystem):
        return [str(file.absolute()) for file in find_files(inside, format)]
    locations: list[str] = []
    if has_magic(inside) or system.isdir(inside):
        listed = system.glob(inside) if has_magic(inside) else system.find(inside)
        files = without_sidecars([Path(name) for name in sorted(listed) if Source(Path(name)).ending in ENDINGS])
        visible = [str(file) for file in files if not any(part.startswith(".") for part in file.parts)]
        locations = [str(system.unstrip_protocol(name)) for name in visible]
    elif system.exists(inside):
        locations = [path]
    if not locations:
        raise no_conversations(path, system.isdir(inside))
    return locations


@contextmanager
def _on_disk(path: str) -> Iterator[Path]:
    """The file itself, or a temporary copy: readers look at the beginning of a file before they read it."""
    if not is_url(path):
        yield Path(path)
        return
    system, inside = url_to_fs(path)
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder:
        copy = Path(folder) / Path(inside).name
        system.get_file(inside, str(copy))
        yield copy


def total(reports: Sequence[SkippedRows]) -> SkippedRows:
    """The rows left out of all files together."""
    whole = SkippedRows("skip")
    for report in reports:
        whole.count += report.count
        whole.kept += report.kept
        whole.first += report.first
    return whole
