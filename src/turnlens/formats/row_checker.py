"""The check of each conversation: its messages, its labels, and that every label keeps its type."""

from __future__ import annotations

import json
from typing import Any

from turnlens.formats.bad_input import BadRow

_KINDS: dict[type, str] = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list"}
_MAX_INTEGER = 2**63 - 1


class RowChecker:
    """Checks rows that are read together, remembering the types of the labels seen so far."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def check(self, row: dict[str, Any], default_id: str) -> dict[str, Any]:
        """The row with its id and labels made storable: ``id``, ``messages``, labels.

        Args:
            row: A conversation as a format gives it. Labels other than texts, numbers, booleans and lists of texts
                become JSON text; null in a list of texts is left out. Texts lose blanks as by `plain_label`.
            default_id: The id of a conversation that has none; "" if it needs one.

        Raises:
            BadRow: It has no messages or no id, a message has no role or text, or a label changes its type.
        """
        messages = row.get("messages")
        if not isinstance(messages, list):
            found = f"{_short(messages)} as 'messages'" if "messages" in row else f"no 'messages' but {', '.join(row)}"
            raise BadRow(f"found {found}; expected a list of {{'role', 'content'}}")
        if not messages:
            raise BadRow("the conversation has no messages; expected at least one")
        identifier = row.get("id")
        identifier = default_id if identifier is None or identifier == "" else str(identifier)
        if not identifier:
            raise BadRow("the conversation has no id; expected a text under 'id', by which it is known again")
        _check_unicode(identifier, "the id")
        checked = {
            "id": identifier,
            "messages": [self._message(message, number) for number, message in enumerate(messages, start=1)],
        }
        for name, value in row.items():
            if name not in checked:
                checked[name] = self._label(name, value, f"label {name!r}")
        return checked

    def _message(self, message: Any, number: int) -> dict[str, Any]:
        if type(message) is not dict:
            raise BadRow(f"message {number} is {_short(message)}; expected {{'role': …, 'content': …}}")
        role, content = message.get("role"), message.get("content")
        if type(content) is not str:
            actual = _short(content) if "content" in message else "no 'content'"
            raise BadRow(f"message {number} has {actual}; expected a text under 'content'")
        if type(role) is not str or not role:
            actual = _short(role) if "role" in message else "no 'role'"
            raise BadRow(f"message {number} has {actual}; expected a speaker's name, such as 'user', under 'role'")
        if not (content.isascii() and role.isascii()):
            _check_unicode(content + role, f"message {number}")
        if len(message) == 2:
            return message
        for name, value in message.items():
            if name not in ("role", "content"):
                # the key of a message label must not be mistaken for one of the conversation
                message[name] = self._label(f"messages.{name}", value, f"message label {name!r}")
        return message

    def _label(self, key: str, value: Any, subject: str) -> Any:
        if value is None:
            return None
        _check_unicode(key, "the name of a label")
        if "\0" in key:
            raise BadRow(f"the name of {subject} has a NUL character; rename it")
        value = _storable(value, subject)
        kind = _KINDS[type(value)]
        earlier = self._kinds.setdefault(key, kind)
        if kind != earlier:
            raise BadRow(f"{subject} is {kind} here but {earlier} in earlier rows; give it one type in all rows")
        return value


def plain_label(value: Any) -> Any:
    """A label without the blanks around it, which would make it another label.

    >>> plain_label(" refund "), plain_label(2)
    ('refund', 2)
    """
    return value.strip() if isinstance(value, str) else value


def _storable(value: Any, subject: str) -> Any:
    if isinstance(value, str):
        _check_unicode(value, subject)
        return plain_label(value)
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        raise BadRow(f"{subject} is a number of more than 64 bits; write it as text")
    if type(value) in (bool, int, float):
        return value
    if isinstance(value, list) and all(item is None or isinstance(item, str) for item in value):
        texts = [item for item in value if item is not None]
        _check_unicode("".join(texts), subject)
        return [plain_label(text) for text in texts]
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False, default=str)
        _check_unicode(text, subject)
        return text
    return str(value)


def _check_unicode(text: str, subject: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRow(f"{subject} is not UTF-8 text; save the file as UTF-8, or name its encoding") from None


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:40] + "…"
