"""Options for reading conversations, the same for all commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlens._utils.progress import note
from turnlens.cli.options import takes

if TYPE_CHECKING:
    from datasets import Dataset

    from turnlens.data.read_options import ReadingOptions
    from turnlens.formats.detection import UnknownLayout


@dataclass(frozen=True)
class Reading:
    """Settings of reading; each field is an option of every command that reads some.

    Options:
        format: Source format; by default detected from the content.
        skip_bad_rows: Skip bad rows and list them at the end.
        columns: What the columns hold, such as conversation=ticket_id,speaker=author.type,text=body,time=created_at.
            Also messages=…, for records that each hold a list of messages, and ignore=….
        redact: Replace personal data while reading: emails, phones, cards, ibans, urls, ips, secrets, national_ids,
            handles, or all of these; also names=FILE and persons=MODEL.
        encoding: Encoding of texts, such as cp1252; by default UTF-8, or a guess from the text if it is not UTF-8.
        split_by: Split long conversations, such as a chat over months: by day, or at a pause such as 6h.
    """

    format: str = "auto"
    skip_bad_rows: bool = False
    columns: str | None = None
    redact: str | None = None
    encoding: str | None = None
    split_by: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """These options as arguments of `read_conversations`."""
        options = asdict(self)
        return {"on_error": "skip" if options.pop("skip_bad_rows") else "raise", **options}

    @property
    def options(self) -> ReadingOptions:
        """These options, parsed and checked."""
        from turnlens.data.read_options import ReadingOptions

        return ReadingOptions.of(**self.arguments)

    def check(self, paths: str | os.PathLike[str] | list[Path], output: Path | None = None) -> None:
        """Raise those errors of `read` that can be found without reading, before anything slow is loaded."""
        from turnlens.formats.input_files import check_apart, find_files

        if output is not None:
            check_apart(output, paths)
        find_files(paths, self.options.format)

    def read(
        self, paths: str | os.PathLike[str] | list[Path], output: Path | None = None, id_key: bytes | None = None
    ) -> Dataset:
        """Read the conversations of files, folders or globs; the output must not be one of them.

        Ids that hold personal data become pseudonyms by the key. Of a table whose columns are not named, but leave no
        doubt, these are told and read.
        """
        from turnlens.data.conversations import read_conversations
        from turnlens.formats.detection import UnknownLayout
        from turnlens.formats.input_files import check_apart

        if output is not None:
            check_apart(output, paths)
        keyed = self._keyed(id_key)
        try:
            return read_conversations(paths, **{**self.arguments, **keyed})
        except UnknownLayout as unknown:
            return read_conversations(paths, **{**self._with_columns(unknown, paths).arguments, **keyed})

    def files_by_name(self, paths: list[Path], id_key: bytes | None = None) -> dict[str, str]:
        """The files by the beginning of the ids that their conversations get if they have none."""
        from turnlens.data.conversations import ConversationInput
        from turnlens.data.read_options import ReadingOptions

        options = ReadingOptions.of(**{**self.arguments, **self._keyed(id_key)})
        return ConversationInput(paths, options).files_by_name()

    def _keyed(self, id_key: bytes | None) -> dict[str, Any]:
        from turnlens.data.personal.redaction import Redaction

        return {"redact": None if self.redact is None else Redaction.parse(self.redact, id_key)}

    def rows(self, paths: str | os.PathLike[str] | list[Path]) -> Iterator[dict[str, Any]]:
        """The same conversations one at a time, without `datasets`, which takes a second to load."""
        from turnlens.data.conversations import iterate_conversations
        from turnlens.formats.detection import UnknownLayout

        rows = iterate_conversations(paths, **self.arguments)
        try:
            first = next(rows, None)
        except UnknownLayout as unknown:
            return iterate_conversations(paths, **self._with_columns(unknown, paths).arguments)
        return rows if first is None else chain([first], rows)

    def with_suggested(
        self, unknown: UnknownLayout, paths: str | os.PathLike[str] | list[Path]
    ) -> tuple[Reading, list[Path] | None]:
        """These options with the columns that read a file of unknown layout, and that file if they do not read all."""
        from turnlens.formats.detection import reads_some
        from turnlens.formats.input_files import find_files
        from turnlens.formats.source_file import Source

        reading = replace(self, columns=str(unknown.layout.columns))
        format_of = reading.options.format_of
        sources = (Source(file, encoding=self.encoding) for file in find_files(paths, self.format))
        reads_all = all(reads_some(source, format_of(source)) for source in sources)
        return reading, None if reads_all else [Path(unknown.where)]

    def _with_columns(self, unknown: UnknownLayout, paths: str | os.PathLike[str] | list[Path]) -> Reading:
        if not unknown.layout.sure:
            raise unknown
        reading, alone = self.with_suggested(unknown, paths)
        if alone is not None:
            raise unknown
        note(f"{unknown.where}: read with --columns '{reading.columns}'; name others if that is wrong")
        return reading

    def command_line(self, data: list[Path]) -> str:
        """The data and these options as a user would type them."""
        words = [str(path) for path in data]
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                words += [f"--{field.name.replace('_', '-')}", *([] if value is True else [value])]
        return shlex.join(words)


reads_conversations = takes(Reading, "reading")
