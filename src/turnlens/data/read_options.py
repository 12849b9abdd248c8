"""Options of reading: the arguments of `read_conversations`, which are the options of the commands too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack

from turnlens.data.personal.redaction import Redaction
from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.formats.columns import ColumnNames
from turnlens.formats.columns import Columns as Columns
from turnlens.formats.conversation_splitting import check_split_by
from turnlens.formats.detection import detect_format
from turnlens.formats.format import Format
from turnlens.formats.source_file import Source
from turnlens.formats.table import nested, table_of
from turnlens.formats.text_encoding import check_encoding

OnError = Literal["raise", "skip"]


class ReadOptions(TypedDict, total=False):
    """Options of reading, the keyword arguments of every function that reads conversations.

    Attributes:
        format: Name of the source format; ``"auto"``, the default, detects it from the content of each file.
        on_error: ``"raise"``, the default, stops at the first bad row, ``"skip"`` leaves bad rows out and logs a
            summary.
        columns: Which columns of tables, or fields of records, hold what, as
            ``"conversation=ticket_id,speaker=author.type,text=body,time=created_at"``, or as a mapping of these names:
            see `Columns`.
        redact: What becomes placeholders before anything is kept, as ``"emails,phones,names=people.txt"`` or
            ``"all,names=people.txt"``: see `Redaction`.
        encoding: The encoding of texts, such as ``"cp1252"``. By default UTF-8 or UTF-16; a file in
            neither is read in the likeliest other encoding, with a warning that names it.
        split_by: The gap at which one long chat is split into conversations: ``"day"``, or a pause, such as
            ``"30m"`` or ``"6h"``.

    Examples:
        >>> import turnlens
        >>> options: turnlens.data.ReadOptions = {"redact": "emails", "on_error": "skip"}
        >>> talk = [{"role": "user", "content": "I am ann@example.com"}]
        >>> turnlens.read_conversations([talk, []], **options)["messages"][0][0]["content"]
        'I am [email]'
    """

    format: str
    on_error: OnError
    columns: ColumnNames | None
    redact: Redaction | str | None
    encoding: str | None
    split_by: str | None


@dataclass(frozen=True)
class ReadingOptions:
    """`ReadOptions`, parsed and checked.

    Raises:
        ConversationError: The format is unknown, or has no columns.
        ValueError: ``on_error`` is neither of the two, or the encoding or what splits is unknown.
    """

    format: str = "auto"
    on_error: OnError = "raise"
    columns: Columns | None = None
    redaction: Redaction | None = None
    encoding: str | None = None
    split_by: str | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is {self.on_error!r}; expected 'raise' or 'skip'")
        check_encoding(self.encoding)
        check_split_by(self.split_by)
        if self.format != "auto" and self.format not in FORMATS:
            known = ", ".join(FORMATS)
            raise ConversationError(f"format {self.format!r}", f"unknown format; known are auto, {known}")
        if self.columns is not None and self.format not in ("auto", "table"):
            raise ConversationError(f"format {self.format!r}", "its fields are known; columns are for tables")

    @classmethod
    def of(cls, **options: Unpack[ReadOptions]) -> ReadingOptions:
        """Return the options of arguments of `read_conversations`."""
        others: dict[str, Any] = dict(options)
        columns, redact = others.pop("columns", None), others.pop("redact", None)
        redaction = Redaction.parse(redact) if isinstance(redact, str) else redact
        return cls(columns=None if columns is None else Columns.of(columns), redaction=redaction, **others)

    @property
    def key(self) -> list[str]:
        """A key that differs between options, so that their cached rows are kept apart."""
        redaction = self.redaction.key if self.redaction else ""
        parts = (self.format, self.on_error, self.columns, redaction, self.encoding, self.split_by)
        return [str(part or "") for part in parts]

    @property
    def detects(self) -> bool:
        """Return whether the format is detected from a file's content."""
        return self.format == "auto" and self.columns is None

    def format_of(self, source: Source) -> Format:
        """Return the format of a file.

        Raises:
            ConversationError: It cannot be detected.
        """
        if self.columns is not None:
            return nested(self.columns) if self.columns.messages else table_of(self.columns)
        return detect_format(source) if self.format == "auto" else FORMATS[self.format]
