"""Exports of help desks, chat apps and bots that differ from one another in names only.

`turnlens.formats.export_layouts` has the names of each product. A file holds records one after the other, or a page
of them as an API gives it. A record is a conversation with its messages, or a message with the id of its conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from turnlens.errors import ConversationError
from turnlens.formats.api_pages import page_records, pages_in
from turnlens.formats.export_layouts import EXPORTS, Names, Paths, rating
from turnlens.formats.file_head import object_head, record_head
from turnlens.formats.format import Format, Head
from turnlens.formats.html_text import html_text, without_markup
from turnlens.formats.message_layouts import text_and_labels
from turnlens.formats.message_times import DateOrder, moment
from turnlens.formats.quoted_mail import own_text
from turnlens.formats.source_file import OTHER_LAYOUT, BadRow, Source, parse_record


class Record(NamedTuple):
    """A conversation, the names of its product and, where records are messages, all of them."""

    names: Names
    record: dict[str, Any]
    messages: list[Any]


def records(source: Source) -> Iterator[tuple[int, Record | BadRow]]:
    """Conversations; where records are messages, in the order of their first ones, after the records that are bad."""
    names, page = _layout(source)
    rows = page_records(source, page) if page else source.records()
    together: dict[Any, tuple[int, Record]] = {}
    for number, raw in rows:
        source.tick()
        try:
            record = parse_record(raw)
            record = names.unpack(record) if names.unpack else record
        except OTHER_LAYOUT as problem:
            yield number, problem if isinstance(problem, BadRow) else BadRow(f"unexpected layout ({problem})")
            continue
        if names.messages or names.opening:
            yield number, Record(names, record, [_unwrapped(item) for item in _list_at(record, names.messages)])
            continue
        place = together.setdefault(_first(record, names.conversation), (number, Record(names, record, [])))
        place[1].messages.append(record)
    yield from together.values()


def _layout(source: Source) -> tuple[Names, str]:
    head = object_head(source)[0] if source.ending == ".json" else Head()
    found = _found(head) or _found(record_head(source))
    if found is None:
        raise ConversationError(source.name, f"found no {FORMAT.layout}")
    return found


def convert(raw: Record | BadRow, source: Source) -> dict[str, Any] | None:
    """What was said in order of time, with names and files as labels; None where nothing was."""
    if isinstance(raw, BadRow):
        raise raw
    names, record, said = raw
    people = {person.get("id"): person for person in _list_at(record, (names.people,)) if isinstance(person, dict)}
    timed = []
    if opening := _text(record, names.opening, names)[0]:
        timed.append(_timed({"role": "user", "content": opening}, record, names))
    for item in said:
        if not isinstance(item, dict):
            raise BadRow(f"found {json.dumps(item)[:40]} as a message; expected an object with {names.text[0]!r}")
        item = {**item, "person": people.get(item.get(names.author))}
        timed += [_timed(message, item, names) for message in _messages(item, names)]
    if all(order is not None for order, _ in timed):
        timed.sort(key=lambda pair: pair[0] or 0.0)
    identifier = _first(record, names.conversation)
    labels = {name: _label(name, _first(record, paths)) for name, paths in names.labels.items()}
    messages = [message for _, message in timed]
    return {**labels, "id": _id(identifier), "messages": messages} if messages else None


def _messages(item: dict[str, Any], names: Names) -> Iterator[dict[str, Any]]:
    """The message of an item and, where it holds one, its answer; nothing where neither is told."""
    text, labels = _text(item, names.text, names)
    labels |= {name: _label(name, _first(item, paths)) for name, paths in names.message_labels.items()}
    if files := labels.get("attachments"):
        labels["attachments"] = files if isinstance(files, list) else [str(files)]
    speaker = _first(item, names.speaker)
    side = _plain(_at(item, names.side)) if names.side else None
    role = str(speaker or "unknown") if not names.side else "user" if side in names.asking else "assistant"
    if names.answer:
        role = "user"
    elif names.side and speaker:
        labels["name"] = str(speaker)
    if names.aside and _plain(_at(item, names.aside[0])) == names.aside[1]:
        labels["note"], text = text, ""
    elif names.said and _plain(_at(item, names.said[0])) not in names.said[1]:
        labels["notice"], text = labels.get("notice") or text, ""
    else:
        labels.pop("notice", None)
    labels = {name: value for name, value in labels.items() if value}
    if text or labels.keys() - {"name", "message_id", "reply_to", "intent"}:
        yield {"role": role, "content": text, **labels}
    answers = ([text for text in _every(item, path.split(".")) if isinstance(text, str)] for path in names.answer)
    if answer := "\n".join(next(filter(None, answers), ())).strip():
        yield {"role": "assistant", "content": without_markup(answer)}


def _text(item: dict[str, Any], paths: Paths, names: Names) -> tuple[str, dict[str, Any]]:
    """The first text at these paths, and labels for its parts that are none."""
    value = _first(item, paths)
    if isinstance(value, list) and names.has_runs:
        value = "".join(str(run.get("text") or "") if isinstance(run, dict) else str(run) for run in value)
    if isinstance(value, list):
        text, labels = text_and_labels(value)
        return text.strip(), labels
    if value is None or isinstance(value, dict | bool):
        return "", {}
    text = html_text(str(value))[0] if names.is_html else without_markup(str(value)).strip()
    return own_text(text) if names.is_mail else text, {}


def _timed(message: dict[str, Any], item: dict[str, Any], names: Names) -> tuple[float | None, dict[str, Any]]:
    with suppress(BadRow):
        when = moment(_first(item, names.time), names.time[0], 0, DateOrder())
        return when.order, {**message, **when.labels}
    return None, message


def _first(record: dict[str, Any], paths: Paths) -> Any:
    return next((value for path in paths if (value := _at(record, path)) not in (None, "", [])), None)


def _at(value: Any, path: str) -> Any:
    """The value at a path, through objects, the first items of lists, and JSON in a cell."""
    for name in path.split("."):
        value = _opened(value)
        if isinstance(value, list):
            value = value[0] if value else None
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _every(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, through objects, all items of lists, and JSON in a cell."""
    opened = _opened(value) if path else value
    if isinstance(opened, list):
        for item in opened:
            yield from _every(item, path)
    elif not path:
        yield value
    elif isinstance(opened, dict):
        yield from _every(opened.get(path[0]), path[1:])


def _opened(value: Any) -> Any:
    """What a cell holds as JSON; all else as it is."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _list_at(record: dict[str, Any], paths: Paths) -> list[Any]:
    found = _first(record, paths)
    return found if isinstance(found, list) else []


def _unwrapped(item: Any) -> Any:
    """A message in an object of its own, ``{"note": {…}}``, without that."""
    inner = next(iter(item.values())) if isinstance(item, dict) and len(item) == 1 else None
    return inner if isinstance(inner, dict) else item


def _plain(value: Any) -> str:
    """A value as it is compared, in lower case: true as ``true``, 1 as ``1``."""
    return value.lower() if isinstance(value, str) else json.dumps(value)


def _id(value: Any) -> str | None:
    """An id; of an address, its last part."""
    return None if value is None else str(value).rpartition("/")[2] if "://" in str(value) else str(value)


def _label(name: str, value: Any) -> Any:
    """A label, as text unless it is a rating; of tags and files, their names."""
    if name == "rating":
        return rating(value)
    if not isinstance(value, list):
        return value if value is None else str(value)
    named = [
        _first(item, ("name", "file_name", "filename", "url")) if isinstance(item, dict) else item for item in value
    ]
    return [str(name) for name in named if name] or None


def _found(head: Head) -> tuple[Names, str] | None:
    """The names of the product, and where the file keeps its records if it is a page."""
    for page, keys in (("", head.keys), *pages_in(head)):
        for names in EXPORTS.values():
            if names.keys <= keys and (names.within is None or _holds(head, page, *names.within)):
                return names, page
    for names in EXPORTS.values():
        if any(keys <= (head.inner.get(name, frozenset()) if name else head.keys) for name, keys in names.page_signs):
            return names, names.page
    return None


def _holds(head: Head, page: str, name: str, keys: frozenset[str]) -> bool:
    """Whether an object in a record has these names; it is not known in those of a page."""
    return not page and keys <= head.inner.get(name, frozenset())


def matches(head: Head) -> bool:
    """A record has the names of a product, or the file is a page of such records."""
    return _found(head) is not None


FORMAT = Format(
    name="exports",
    description="exports of help desks, chats and bots that differ in names only, such as Freshdesk and Telegram",
    layout=f"records of {', '.join(EXPORTS)}",
    records=records,
    convert=convert,
    matches=matches,
)
