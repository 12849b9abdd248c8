"""Messages from the columns of a source, before they are put in order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from operator import itemgetter
from typing import Any, NamedTuple, TypeGuard

from turnlens.formats.bad_input import BadRow
from turnlens.formats.columns import Columns, is_id, joined_time, value_at, without
from turnlens.formats.message_layouts import text_and_labels
from turnlens.formats.message_times import DateOrder, Moment, moment
from turnlens.formats.row_checker import plain_label


class RawMessage(NamedTuple):
    """One message: its row's number, the values of its columns, and all else as labels."""

    number: int
    speaker: Any
    text: Any
    time: Any
    labels: dict[str, Any]

    @classmethod
    def of(
        cls, record: dict[str, Any], columns: Columns, number: int, dates: DateOrder, others: Iterable[str | None] = ()
    ) -> list[RawMessage]:
        """The message of a record, and its answer if there is one; ``others`` are columns that are no labels either.

        Without a column of speakers, the user speaks, as in a survey; what is answered in the same row, the assistant.

        Raises:
            BadRow: It has no speaker, its text is none, or its time has day and month the other way round than before.
        """
        time = joined_time(value_at(record, name) for name in columns.times)
        used = (*columns.of_message, *filter(None, others), *columns.ignore)
        labels = {name: plain_label(value) for name, value in without(record, used).items()}
        speaker = "user" if columns.speaker is None else value_at(record, columns.speaker)
        message = cls(number, speaker, value_at(record, columns.text), time, labels)
        answer = value_at(record, columns.answer)
        messages = [message] if answer in (None, "") else [message, message._replace(speaker="assistant", text=answer)]
        if speaker is None or speaker == "":
            raise BadRow(f"no speaker in the column {columns.speaker!r}", number)
        for said in messages:
            if not (said.text is None or isinstance(said.text, str) or are_parts(said.text)):
                actual = json.dumps(said.text, default=str)[:60]
                raise BadRow(f"expected text in the column {columns.text!r}, found {actual}", number)
        with suppress(BadRow) if columns.time_is_guessed else nullcontext():
            dates.see(time)
        return messages


def message_rows(messages: list[RawMessage], columns: Columns, dates: DateOrder) -> list[dict[str, Any]]:
    """Messages in order of time, if there is a column of it, as ``{"role", "content", "time", …labels}``.

    Raises:
        BadRow: A message has nothing to be ordered by.
    """
    return [_message_row(message, time_labels) for message, time_labels in _in_order(messages, columns, dates)]


def _in_order(
    messages: list[RawMessage], columns: Columns, dates: DateOrder
) -> list[tuple[RawMessage, dict[str, Any]]]:
    """The messages, each with the labels of its time."""
    if columns.time is None:
        return [(message, {}) for message in messages]
    try:
        moments = [
            None if _is_untimed(message, columns) else moment(message.time, columns.time, message.number, dates)
            for message in messages
        ]
        if len({time.is_time for time in moments if time is not None}) > 1:
            raise BadRow(f"found both numbers and times in {columns.time!r}; write them in one way")
    except BadRow:
        # ids that are not numbers, and columns that only seemed to hold times, say nothing about the order
        if is_id(columns.time):
            return [(message, {}) for message in messages]
        if columns.time_is_guessed:
            return [(message, {columns.time: message.time}) for message in messages]
        raise
    timed = sorted(zip(_orders(moments), moments, messages), key=itemgetter(0))
    return [(message, time.labels if time is not None else {}) for _, time, message in timed]


def _is_untimed(message: RawMessage, columns: Columns) -> bool:
    """Return whether the cell of the time is empty; a guessed column with empty cells holds no times."""
    is_empty = message.time is None or (isinstance(message.time, str) and not message.time.strip())
    return is_empty and not columns.time_is_guessed


def _orders(moments: Iterable[Moment | None]) -> Iterator[float]:
    """The number that orders each message; one without a time stays behind the message before it."""
    order = -math.inf
    for time in moments:
        order = order if time is None else time.order
        yield order


def are_parts(text: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether a text is given in parts, as assistants' messages are."""
    return isinstance(text, list) and bool(text) and all(isinstance(part, dict) for part in text)


def _message_row(message: RawMessage, time_labels: dict[str, Any]) -> dict[str, Any]:
    text = "" if message.text is None else message.text  # an empty cell, where a CSV has an empty text
    if are_parts(text):
        text, parts = text_and_labels(text)
        time_labels = {**parts, **time_labels}
    labels = named_labels(message.labels, ("role", "content", *time_labels))
    return {**labels, "role": str(message.speaker), "content": text, **time_labels}


def named_labels(labels: dict[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """The labels that have a value; one whose name is taken gets an underscore behind it."""
    return {
        f"{name}_" if name in taken else name: value
        for name, value in labels.items()
        if value is not None and value != ""
    }
