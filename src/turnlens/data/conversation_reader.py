"""Checked conversations of files and other sources, one at a time."""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from turnlens._utils.progress import SafeConsole, shows_progress
from turnlens.data.read_options import OnError, ReadingOptions
from turnlens.errors import BadRowError, ConversationError, NoConversations
from turnlens.formats.bad_input import DAMAGE, OTHER_LAYOUT, BadRow, Budget, TooLargeError, damage_of, missing
from turnlens.formats.conversation_splitting import parts_of
from turnlens.formats.detection import misread_layout, reads_some
from turnlens.formats.folders import given_size, readable_path
from turnlens.formats.format import Format
from turnlens.formats.joined_files import joined_logs
from turnlens.formats.row_checker import RowChecker, UnreadText
from turnlens.formats.source_file import Source

_log = logging.getLogger("turnlens")
# Of `OTHER_LAYOUT`, those whose message explains the problem, or that are explained below.
_CLEAR_ERRORS = (BadRow, ConversationError, TooLargeError, UnicodeDecodeError)
_DAMAGE: tuple[type[Exception], ...] = (*DAMAGE, TooLargeError)


_PROBLEMS_KEPT = 20
_SECONDS_BEFORE_PROGRESS = 2.0


@dataclass
class SkippedRows:
    """The number of rows left out while reading, with the first problems, and the files that hold no conversations."""

    on_error: OnError
    count: int = 0
    kept: int = 0
    first: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def add(self, error: ConversationError) -> None:
        """Count a problem, or raise it unless rows are to be skipped."""
        if self.on_error == "raise":
            raise error from None
        self.count += 1
        if len(self.first) < _PROBLEMS_KEPT:
            self.first.append(str(error))

    def to_json(self) -> str:
        """Return the summary as JSON, to keep with the cached rows."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SkippedRows:
        """Return a summary that `to_json` wrote."""
        return cls(**json.loads(text))

    def report(self) -> None:
        """Log the summary, if anything was skipped."""
        if self.passed_over:
            rest = ", …" if self.passed_over[_PROBLEMS_KEPT:] else ""
            problem = "passed over, since no conversations were found in them (name one alone to see why)"
            _log.warning("%s: %s%s", problem, ", ".join(self.passed_over[:_PROBLEMS_KEPT]), rest)
        if not self.count:
            return
        more = [f"... and {self.count - len(self.first)} more"] if self.count > len(self.first) else []
        lines = [f"skipped {self.count} bad rows, kept {self.kept} conversations:", *self.first, *more]
        _log.warning("\n  ".join(lines))


def read_files(
    files: Sequence[Path], options: ReadingOptions, skipped: SkippedRows, named: Collection[Path] = ()
) -> Iterator[dict[str, Any]]:
    """Return the conversations of all files, checked and redacted; problems go to ``skipped``.

    Files that were ``named``, not found in a folder, must hold conversations, also beside the export of an app.

    Raises:
        ConversationError: A problem while rows must not be skipped, or no conversation is left.
    """
    names, budget = default_names(files), Budget(given_size(files))
    sources = {names[file]: Source(file, encoding=options.encoding, budget=budget) for file in files}
    return read_sources(sources, options, skipped, named)


def read_sources(
    sources: Mapping[str, Source], options: ReadingOptions, skipped: SkippedRows, named: Collection[Path] = ()
) -> Iterator[dict[str, Any]]:
    """Yield conversations as `read_files` does, from sources by the prefix of their default ids."""
    checker = RowChecker()
    with _progress(sources.values(), skipped) as start:
        joined = joined_logs(sources, options.format_of)
        exports = {source.path.parent for source, chosen in joined.values() if chosen is not None and chosen.is_export}
        for name, (source, chosen) in joined.items():
            start(source)
            beside = () if source.path in named else exports
            yield from rows_of_file(source, options, name, checker, skipped, chosen, beside)
    if not skipped.kept:
        raise nothing_left([source.path for source in sources.values()], skipped)
    skipped.report()


def rows_of_file(
    source: Source,
    options: ReadingOptions,
    name: str,
    checker: RowChecker,
    skipped: SkippedRows,
    chosen: Format | None = None,
    exports: Collection[Path] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the conversations of one file, checked and redacted; problems go to ``skipped``.

    ``name`` begins default ids; if it is "", every conversation must have an id of its own. ``chosen`` is the format,
    if that is known. Beside the ``exports`` of apps, a file may be one without conversations.

    Raises:
        ConversationError: A problem while rows must not be skipped.
    """
    kept = skipped.kept
    try:
        chosen = chosen or options.format_of(source)
        yield from _rows(source, options, name, checker, skipped, chosen)
        checker.report(source.name)
    except ConversationError as error:
        if isinstance(error, NoConversations):
            if _is_beside(source.path, exports):
                skipped.passed_over.append(source.name)
                return
        elif skipped.kept == kept and chosen is not None and not reads_some(source, chosen):
            is_readable = isinstance(error, BadRowError) or error.where == source.name  # as rows, of some layout
            unknown = misread_layout(source, chosen, error.problem) if options.detects and is_readable else None
            error = unknown or ConversationError(error.where, error.problem)  # it is not a row that is bad
        skipped.add(error)
    except _DAMAGE as error:
        skipped.add(ConversationError(source.name, damage_of(error)))


def _is_beside(path: Path, exports: Iterable[Path]) -> bool:
    """Return whether a file lies in the folder of an export, below or above it."""
    return any(export in path.parents or path.parent in export.parents for export in exports)


def _rows(
    source: Source, options: ReadingOptions, name: str, checker: RowChecker, skipped: SkippedRows, chosen: Format
) -> Iterator[dict[str, Any]]:
    redaction = options.redaction
    name = redaction.identifier(name) if redaction is not None else name
    told = redaction.text if redaction is not None else str  # problems are kept, and quote the data
    _log.info("reading %s as %s", source.name, chosen.name)
    is_empty, unread = True, UnreadText(chosen.passed_over)
    for number, raw in _records(chosen, source):
        is_empty = False
        try:
            converted = _converted(chosen, raw, source)
            default_id = source.default_id(name, number) if name else ""
            row = None if converted is None else checker.check(converted, default_id)
            source.budget.spend(checker.take_cost(), "the number of its labels")
            rows = [] if row is None else [row] if options.split_by is None else list(parts_of(row, options.split_by))
        except BadRow as bad:
            skipped.add(BadRowError(source.place(bad.number or number), told(str(bad))))
        else:
            unread.add(raw, row)
            for row in rows:
                skipped.kept += 1
                yield redaction.conversation(row) if redaction is not None else row
        source.tick()
    if is_empty:
        raise NoConversations(source.name, f"the file is empty; expected {chosen.layout}")
    unread.report(source.name, told)


def nothing_left(files: Sequence[str | Path], skipped: SkippedRows) -> ConversationError:
    """Return the error for files of which no conversation was kept."""
    where = ", ".join(readable_path(str(file)) for file in files[:3]) + (", …" if len(files) > 3 else "")
    if not skipped.count:
        return ConversationError(where, "none of its conversations has any text")
    problem = f"none of its {skipped.count} rows could be read; the first problem: {skipped.first[0]}"
    return ConversationError(where, problem)


def default_names(files: Sequence[Path]) -> dict[Path, str]:
    """Return the beginning of each file's default ids: its stem, or the shortest end of its path that is its own."""
    names = {file: Source(file).stem for file in files}
    depth = 0
    while repeated := {name for name, count in Counter(names.values()).items() if count > 1}:
        depth += 1
        names |= {file: "/".join(file.parts[-depth:]) for file, name in names.items() if name in repeated}
    return names


def _records(chosen: Format, source: Source) -> Iterator[tuple[int, Any]]:
    try:
        yield from chosen.records(source)
    except _CLEAR_ERRORS:
        raise
    except OTHER_LAYOUT as error:
        problem = f"unexpected layout{missing(error)}; the format {chosen.name!r} expects {chosen.layout}"
        raise ConversationError(source.name, problem) from None


def _converted(chosen: Format, raw: Any, source: Source) -> dict[str, Any] | None:
    try:
        return chosen.row(raw, source)
    except _CLEAR_ERRORS:
        raise
    except OTHER_LAYOUT as error:
        problem = f"found the keys {', '.join(map(str, raw))}" if isinstance(raw, dict) else "unexpected layout"
        raise BadRow(f"{problem}{missing(error)}; the format {chosen.name!r} expects {chosen.layout}") from None


@contextmanager
def _progress(sources: Iterable[Source], skipped: SkippedRows) -> Iterator[Callable[[Source], None]]:
    """A progress bar on stderr, which appears after some seconds, and only on a terminal.

    Yields:
        The function that shows the progress of a file from then on.
    """
    total, began, ticks = sum(source.size for source in sources), time.monotonic(), itertools.count(1)
    shown, done, current = ExitStack(), 0, None

    def start(source: Source) -> None:
        nonlocal done, current
        done += current.size if current is not None else 0
        current = source
        source.tick = tick

    @cache
    def bar() -> Progress:
        count, left = TextColumn("{task.fields[rows]:,}"), TimeRemainingColumn()
        columns, console = (TextColumn("reading conversations"), BarColumn(), count, left), SafeConsole(stderr=True)
        progress = Progress(*columns, console=console, transient=True, disable=not shows_progress())
        progress.add_task("reading", total=total, rows=0)
        return shown.enter_context(progress)

    def tick() -> None:  # looks at the clock and draws only once in a while
        if next(ticks) % 500 == 0 and time.monotonic() - began >= _SECONDS_BEFORE_PROGRESS and current is not None:
            bar().update(bar().task_ids[0], completed=done + current.position, rows=skipped.kept)

    with shown:
        yield start
