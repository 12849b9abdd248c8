"""Describing a file of unknown layout, and guessing the columns that would read it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import mean
from typing import Any

from turnwise.data.reading.columns import Columns
from turnwise.data.reading.headings import plain_name
from turnwise.data.reading.moments import DateOrder, moment
from turnwise.data.reading.source import BadRow, Source, parse_record
from turnwise.errors import ConversationError

UNKNOWN = "COLUMN"  # a placeholder where a column is needed and none is likely
_RECORDS_LOOKED_AT = 300
_MESSAGES_LOOKED_AT = 1000
_DEEPEST = 4
_EXAMPLE_LENGTH = 60
# Words in the names of columns, by what these mean.
_HINTS = {
    "conversation": "conversation dialogue dialog chat session thread ticket case call issue room channel contact",
    "id": "id key number no nr ref uuid",
    "speaker": "speaker role author sender from user agent by name party direction who participant source side actor "
    "requester customer operator caller",
    "text": "text body content message msg comment utterance reply note description transcript sentence said",
    "time": "time date created sent at timestamp start when",
    "messages": "messages comments turns utterances replies entries events posts transcript conversation dialogue log",
}
Records = list[dict[str, Any]]
Fields = dict[str, list[Any]]


@dataclass(frozen=True)
class Layout:
    """What a file holds.

    Args:
        examples: Each column, or path of a nested field, and a value of it. ``comments[].body`` is in a list.
        columns: Those that would most likely read it, `UNKNOWN` where none is likely; nothing where it holds no text.
    """

    examples: dict[str, str]
    columns: Columns | None


def look_at(source: Source) -> Layout:
    """Look at the first records of a file whose layout is not known."""
    records = list(islice(_records(source), _RECORDS_LOOKED_AT))
    fields, lists = _fields(records), _lists(records)
    examples = {name: _example(values) for name, values in fields.items()}
    best, best_score = _best(fields, _text_score), 0.0
    if best is not None:
        best_score = _text_score(best, fields[best])
    chosen = _table_columns(fields, best) if best is not None else None
    for path, messages in lists.items():
        inner = _fields(messages)
        examples |= {f"{path}[].{name}": _example(values) for name, values in inner.items()}
        text = _best(inner, _text_score)
        if text is None:
            continue
        score = _text_score(text, inner[text]) + _hinted(path, "messages") + 3  # few other lists hold texts
        if score > best_score:
            best_score, chosen = score, _nested_columns(fields, path, inner, text)
    return Layout(examples, chosen)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    try:
        for _, raw in source.records():
            try:
                yield parse_record(raw)
            except BadRow:
                continue
    except (ConversationError, UnicodeDecodeError, EOFError, OSError):
        return


def _fields(records: Records) -> Fields:
    """The values of each field that is no list, by its path; ``None`` where a record lacks it."""
    flat = [dict(_scalars(record)) for record in records]
    return {name: [row.get(name) for row in flat] for name in dict.fromkeys(name for row in flat for name in row)}


def _scalars(record: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _scalars(value, f"{prefix}{name}.", depth + 1)
        elif not isinstance(value, list | dict) and _as_messages(value) is None:
            yield f"{prefix}{name}", value


def _lists(records: Records) -> dict[str, Records]:
    """The elements of each list of objects, by its path."""
    lists: dict[str, Records] = {}
    for record in records:
        for path, messages in _message_lists(record):
            elements = lists.setdefault(path, [])
            elements += messages[: max(0, _MESSAGES_LOOKED_AT - len(elements))]
    return lists


def _message_lists(record: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Records]]:
    for name, value in record.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _message_lists(value, f"{prefix}{name}.", depth + 1)
        elif messages := _as_messages(value):
            yield f"{prefix}{name}", messages


def _as_messages(value: Any) -> Records | None:
    """The value if it is a list of objects, or JSON of one."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    is_list = isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
    return value if is_list else None


def _table_columns(fields: Fields, text: str) -> Columns:
    rest = {name: values for name, values in fields.items() if name != text}
    time = _best(rest, _time_score)
    rest.pop(time or "", None)
    conversation = _best(rest, _conversation_score)
    ids = rest.pop(conversation or "", [])
    speaker = _best(rest, lambda name, values: _speaker_score(name, values, ids))
    if speaker is None and len(set(map(str, ids))) == len(ids):  # as in a survey, each row is a text of its own
        return Columns(text=text, time=time)
    return Columns(conversation or UNKNOWN, speaker or UNKNOWN, text, time)


def _nested_columns(fields: Fields, path: str, inner: Fields, text: str) -> Columns:
    rest = {name: values for name, values in inner.items() if name != text}
    time = _best(rest, _time_score)
    rest.pop(time or "", None)
    speaker = _best(rest, lambda name, values: _speaker_score(name, values, []))
    return Columns(_best(fields, _id_score), speaker or UNKNOWN, text, time, path)


def _best(fields: Fields, score: Callable[[str, list[Any]], float]) -> str | None:
    """The field with the highest score above 0, the first of equals."""
    scores = {
        name: score(name, [value for value in values if value not in (None, "")]) for name, values in fields.items()
    }
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] > 0 else None


def _hinted(name: str, meaning: str) -> bool:
    """Whether a word of the name hints at the meaning."""
    return bool(set(plain_name(name).split("_")) & set(_HINTS[meaning].split()))


def _text_score(name: str, values: list[Any]) -> float:
    """Texts are long, differ, and have spaces or letters of scripts that need none."""
    if not values or not all(isinstance(value, str) for value in values):
        return 0
    if _share(values, lambda value: " " in value or bool(re.search(r"[^\W\d_a-zA-Z]{2}", value))) < 0.3:
        return 0
    if _time_score(name, values) > 0:
        return 0
    return 2 * _hinted(name, "text") + min(mean(map(len, values)) / 20, 3) + len(set(values)) / len(values)


def _time_score(name: str, values: list[Any]) -> float:
    if not values:
        return 0
    sample = values[:50]
    kinds = [_moment_kind(value) for value in sample]
    if None in kinds:
        return 0
    return 3 * mean(kind == "time" for kind in kinds) + 2 * _hinted(name, "time") - 1


def _moment_kind(value: Any) -> str | None:
    try:
        return "time" if moment(value, "", 0, DateOrder()).is_time else "number"
    except BadRow:
        return None


def _conversation_score(name: str, values: list[Any]) -> float:
    """Ids of conversations are short, many are different, and they repeat, most often in the next row."""
    kinds = len(set(map(str, values)))
    if kinds < 2 or _longest(values) > 80:
        return 0
    repeated = kinds < len(values)
    steady = mean(before == after for before, after in pairwise(values)) if len(values) > 1 else 0
    hints = 3 * _hinted(name, "conversation") + _hinted(name, "id")
    return hints + repeated + steady + kinds / len(values) - 1.5


def _speaker_score(name: str, values: list[Any], ids: list[Any]) -> float:
    """Speakers are few, short, and change within a conversation."""
    if not values or _longest(values) > 60:
        return 0
    kinds = len(set(map(str, values)))
    speakers = Counter(dict.fromkeys(zip(map(str, ids), map(str, values))).keys()) if ids else None
    changes = len(speakers) > len(set(map(str, ids))) if speakers is not None else kinds > 1
    few = 1 if 2 <= kinds <= max(4, len(values) // 4) else 0
    hints = (
        3 * _hinted(name, "speaker") - _hinted(name, "id") + 0.5 * (plain_name(name).split("_")[-1] in ("type", "role"))
    )
    return hints + few + changes - 1.5


def _id_score(name: str, values: list[Any]) -> float:
    """If every record is a whole conversation, no id occurs twice."""
    if not values or len(set(map(str, values))) < len(values) or _longest(values) > 80:
        return 0
    return 2 * _hinted(name, "id") + _hinted(name, "conversation") - name.count(".") / 2


def _share(values: list[str], holds: Callable[[str], bool]) -> float:
    return mean(map(holds, values))


def _longest(values: list[Any]) -> int:
    return max(len(str(value)) for value in values)


def _example(values: list[Any]) -> str:
    value = next((value for value in values if value not in (None, "")), "")
    text = " ".join(str(value).split())
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[:_EXAMPLE_LENGTH]}…"
