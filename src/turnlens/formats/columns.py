"""The columns of a table, or fields of nested records, with the conversation, the speaker, the text and the time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeAlias

from turnlens._utils.arguments import did_you_mean, require_list
from turnlens.formats.column_names import IDS, NAMES, PLACES, TIMES, is_clock, is_date, plain_name, tells_when
from turnlens.formats.message_times import lone_moment

_MEANINGS = ("conversation", "speaker", "text", "time", "messages", "answer", "ignore")
_JOIN = "+"
_TIMES_SOUGHT = 200  # columns, each of which may be half of a time with each other


@dataclass(frozen=True)
class Columns:
    """Names of columns. A dot leads into a nested field: ``author.type``.

    Args:
        conversation: The conversation's id.
        speaker: The speaker of the message.
        text: The text of the message.
        time: The time of the message, or its place in the conversation; two columns are named as ``date+time``.
        messages: If a record is a whole conversation: the list of its messages. Speaker, text and time are then fields
            of a message.
        answer: The answer, if a row holds both: then ``text`` is the user's, and no column names the speaker.
        ignore: The columns that are not read at all.
        time_is_guessed: The time was guessed from the words of its heading, and may turn out not to be a time.

    Examples:
        >>> Columns.parse("conversation=Ticket,speaker=Author Type,text=Body").speaker
        'Author Type'
    """

    conversation: str | None = None
    speaker: str | None = None
    text: str | None = None
    time: str | None = None
    messages: str | None = None
    answer: str | None = None
    ignore: tuple[str, ...] = ()
    time_is_guessed: bool = False

    def __post_init__(self) -> None:
        require_list(self.ignore, "ignore")
        if self.answer and self.speaker:
            raise ValueError("columns: a row with an answer is by the user and the assistant; leave out the speaker")

    @classmethod
    def of(cls, chosen: ColumnNames) -> Columns:
        """Columns as a user gives them: as text for `parse`, or as a mapping such as ``{"text": "body"}``.

        Raises:
            ValueError: As for `parse`, or it is neither.
        """
        if isinstance(chosen, Columns):
            return chosen
        if isinstance(chosen, str):
            return cls.parse(chosen)
        if not isinstance(chosen, Mapping):
            raise ValueError(f"columns: found {chosen!r:.60}; expected a text or a mapping, such as {{'text': 'body'}}")
        columns = dict(chosen)
        ignored = columns.pop("ignore", ())
        for meaning, name in columns.items():
            if meaning not in _MEANINGS or not isinstance(name, str):
                expected = f"one of {', '.join(_MEANINGS)}, each with the name of a column"
                raise ValueError(f"columns: found {meaning!r}: {name!r}; expected {expected}")
        return cls(**columns, ignore=(ignored,) if isinstance(ignored, str) else tuple(ignored))

    @classmethod
    def parse(cls, text: str) -> Columns:
        """Columns from ``conversation=ticket_id,speaker=author,text=body``; ``ignore`` may be repeated.

        Raises:
            ValueError: An unknown or repeated meaning, or no name.
        """
        columns: dict[str, Any] = {"ignore": ()}
        # a name may hold commas itself
        for part in re.split(rf",(?=\s*(?:{'|'.join(_MEANINGS)})\s*=)", text):
            meaning, _, name = (side.strip() for side in part.partition("="))
            if meaning not in _MEANINGS or not name:
                expected = f"one of {', '.join(_MEANINGS)}, each as meaning=column and separated by commas"
                raise ValueError(f"columns: found {part.strip()!r}; expected {expected}")
            if meaning == "ignore":
                columns["ignore"] += tuple(ignored.strip() for ignored in name.split(",") if ignored.strip())
            elif meaning in columns:
                raise ValueError(f"columns: {meaning} is given twice; a conversation has one {meaning} column")
            else:
                columns[meaning] = name
        return cls(**columns)

    def __str__(self) -> str:
        chosen = {field.name: getattr(self, field.name) for field in fields(self) if field.name in _MEANINGS}
        chosen["ignore"] = ",".join(self.ignore)
        return ",".join(f"{meaning}={name}" for meaning, name in chosen.items() if name)

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that make up the time."""
        return tuple(self.time.split(_JOIN)) if self.time else ()

    @property
    def of_message(self) -> tuple[str, ...]:
        """The columns that hold a message."""
        return tuple(name for name in (self.speaker, self.text, self.answer, *self.times) if name)

    @property
    def are_of_one_conversation(self) -> bool:
        """Return whether all rows of a table are messages of one conversation."""
        return self.conversation is None and self.speaker is not None and self.messages is None


NO_COLUMNS = Columns()
# Columns as users give them.
ColumnNames: TypeAlias = Columns | Mapping[str, Any] | str


def is_id(name: str) -> bool:
    """Return whether a column's name says that it holds ids. Messages are ordered by ids only if these are numbers."""
    return plain_name(name) in IDS


def conversation_field(names: Iterable[str]) -> str | None:
    """The field of a record that holds the conversation's id by its usual name."""
    return next((name for name in names if plain_name(name) in NAMES["conversation"][0].split()), None)


def columns_known(names: Iterable[str]) -> bool:
    """Return whether the names alone say which columns hold the conversation, the speaker and the text."""
    plain = {plain_name(name) for name in names}
    return all(any(plain & set(group.split()) for group in groups) for groups in NAMES.values())


def find_columns(
    names: Iterable[str], chosen: Columns, *, whole_conversations: bool = False, example: dict[str, Any] | None = None
) -> Columns:
    """Find the columns: those that the user named, and the others by their usual names.

    If the text is named, and there is no speaker or no conversation that one could speak in, each row is a text of its
    own, such as an answer to a survey. Its author is then a label. If speaker, text and time are named and there is no
    id, the rows are one conversation.

    Args:
        names: All columns of a table, or the fields of a message.
        chosen: The columns that the user named.
        whole_conversations: The names are fields of a message, so the conversation needs no column.
        example: A row. A column that is only guessed to hold times must hold a time in this row.

    Raises:
        ValueError: A column is missing, or several columns could be meant.
    """
    names = [name for name in names if name not in chosen.ignore]
    columns: dict[str, Any] = {}
    for meaning, groups in NAMES.items():
        columns[meaning] = getattr(chosen, meaning)
        is_alone = chosen.text is not None and columns.get("conversation") is None and not whole_conversations
        is_needed = not (meaning == "speaker" and (chosen.answer is not None or is_alone))
        if columns[meaning] is None and is_needed and not (whole_conversations and meaning == "conversation"):
            columns[meaning] = _only_one(meaning, groups, names)
    has_sides = columns["speaker"] is not None or whole_conversations
    are_texts = chosen.answer is not None or (chosen.text is not None and not has_sides)
    has_no_id = whole_conversations or (chosen.speaker and chosen.text and chosen.time)
    for meaning in () if are_texts else ("conversation", "speaker", "text"):
        if columns[meaning] is None and not (has_no_id and meaning == "conversation"):
            raise _missing(meaning, names)
    taken = {name for name in (*columns.values(), chosen.answer, chosen.time) if name}
    free = [name for name in names if name not in taken]
    time = chosen.time or _known(free, TIMES)
    guess = _guessed_time(free[:_TIMES_SOUGHT], example or {}) if time is None else None
    time = time or guess or _known(free, PLACES)
    return replace(chosen, **columns, time=time, time_is_guessed=guess is not None)


def _only_one(meaning: str, groups: tuple[str, ...], names: list[str]) -> str | None:
    for group in groups:
        hits = [name for name in names if plain_name(name) in group.split()]
        if len(hits) > 1:
            could = " and ".join(map(repr, hits))
            problem = f"the columns {could} could each be the {meaning}"
            raise ValueError(f"{problem}; say which: --columns {meaning}={hits[0]}")
        if hits:
            return hits[0]
    return None


def _missing(meaning: str, names: list[str]) -> ValueError:
    one = "; of a single long chat, name speaker, text and time instead" if meaning == "conversation" else ""
    return ValueError(
        f"found the columns {', '.join(names)}; expected one for the {meaning}, such as "
        f"{NAMES[meaning][0].split()[0]}: say which with --columns {meaning}=…{one}"
    )


def _known(names: list[str], order: str) -> str | None:
    """The first of these columns by its usual name; a day and a time of day are taken together."""
    by_plain_name: dict[str, str] = {}
    for name in names:
        by_plain_name.setdefault(plain_name(name), name)
    column = next((by_plain_name[usual] for usual in order.split() if usual in by_plain_name), None)
    return _with_its_other_half(column, names) if column is not None else None


def _guessed_time(names: list[str], example: dict[str, Any]) -> str | None:
    """The first column whose heading says when, and whose example is a time."""
    for name in names:
        if tells_when(name):
            time = _with_its_other_half(name, names)
            if _holds_time(time, example):
                return time
    return None


def _with_its_other_half(name: str, names: list[str]) -> str:
    if is_clock(name):
        day = next(filter(is_date, names), None)
        return f"{day}{_JOIN}{name}" if day is not None else name
    clock = next(filter(is_clock, names), None) if is_date(name) else None
    return f"{name}{_JOIN}{clock}" if clock is not None else name


def _holds_time(time: str, example: dict[str, Any]) -> bool:
    found = lone_moment(joined_time(value_at(example, name) for name in time.split(_JOIN)), time)
    return found is not None and bool(found.labels)


@lru_cache(1024)
def time_fields(names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of a message whose names say that they hold a time; empty if there are none."""
    fields = [name for name in names if name.lower() != "start"]  # of a message: seconds from where a recording starts
    time = _known(fields, TIMES)
    if time is None:
        time = next((_with_its_other_half(name, fields) for name in fields if tells_when(name)), None)
    return tuple(time.split(_JOIN)) if time is not None else ()


def joined_time(parts: Iterable[Any]) -> Any:
    """A single value as it is, or several values joined into one text."""
    values = list(parts)
    return values[0] if len(values) == 1 else " ".join(str(part) for part in values if part not in (None, "")) or None


def check_present(columns: Columns, names: Iterable[str]) -> None:
    """Raise ``ValueError`` if a table lacks a column that is to be read or ignored.

    What `Columns.parse` took for the rest of a name, as it may be, is then an unknown meaning.
    """
    names = list(names)
    for path in filter(None, (columns.conversation, *columns.of_message, columns.messages, *columns.ignore)):
        if path not in names and path.split(".")[0] not in names:
            if meaning := re.search(r"(?:^|,)\s*([^,=]+?)\s*=", path):
                expected = f"one of {', '.join(_MEANINGS)}, with commas between them"
                raise ValueError(f"columns: found the meaning {meaning[1]!r}; expected {expected}")
            raise ValueError(f"there is no column {path!r}{did_you_mean(path, names)}; found {', '.join(names)}")


def value_at(record: Any, path: str | None) -> Any:
    """The value at a path such as ``author.type``, ``None`` where there is none."""
    if path is None or not isinstance(record, dict):
        return None
    if path in record:
        return record[path]
    first, dot, rest = path.partition(".")
    return value_at(record.get(first), rest) if dot else None


def first_of(record: Any, names: Iterable[str], default: Any = None) -> Any:
    """The first value of a record under these names that is not empty."""
    known = names if isinstance(record, Mapping) else ()
    return next((record[name] for name in known if record.get(name)), default)


def without(record: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The record without the values at these paths, and without objects that become empty by this."""
    for path in paths:
        first, dot, rest = path.partition(".")
        if path in record:
            record = {name: value for name, value in record.items() if name != path}
        elif dot and isinstance(record.get(first), dict):
            inner = without(record[first], [rest])
            record = {n: inner if n == first else value for n, value in record.items() if inner or n != first}
    return record
