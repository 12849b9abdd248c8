"""The checks of what was read: messages, labels that keep their types, and text that no message has.

Products add fields; a reader that does not know one of them must not be silent. A field counts as not read if a message
that holds text in it is read as empty, and nothing from it is in any message or label of the file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from turnlens._utils.text_values import HALF_OF_A_PAIR
from turnlens.formats.bad_input import CELL, LABEL, BadRow, parse_value, warn
from turnlens.formats.text_encoding import without_mojibake

_KINDS: dict[type, str] = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list"}
# Where a company or an application keeps fields of its own, such as a branch. Sources: the first of
# https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation, the second of
# https://developer.zendesk.com/api-reference/ticketing/tickets/tickets/ (a list, mostly of ids without names) and of
# https://developers.freshdesk.com/api/#tickets (an object).
_OWN = ("custom_attributes", "custom_fields")


class RowChecker:
    """Checks rows that are read together, remembering the types of the labels seen so far.

    Characters that are no Unicode become U+FFFD. `replaced` counts them.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._kinds_in_messages: dict[str, str] = {}
        self._cost = 0
        self.replaced = 0

    def report(self, place: str) -> None:
        """Log how many characters of a file were replaced, if any were."""
        if self.replaced:
            problem = "not UTF-8, or half of a pair of surrogates; read as U+FFFD"
            warn(place, f"{self.replaced:,} characters are {problem}")
        self.replaced = 0

    def check(self, row: dict[str, Any], default_id: str) -> dict[str, Any]:
        """The row with its id and labels made storable: ``id``, ``messages``, labels.

        Args:
            row: A conversation as a format gives it. Labels other than texts, numbers, booleans and lists of texts
                become JSON text; null in a list of texts is left out. Texts lose blanks as by `plain_label`. Fields
                that a company added (`own_labels`) become labels where no other has their name.
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
        checked = {
            "id": self._unicode(identifier),
            "messages": [self._message(message, number) for number, message in enumerate(messages, start=1)],
        }
        for name, value in _with_own(row).items():
            if name not in checked:
                checked[self._unicode(name)] = self._label(self._kinds, name, value, f"label {name!r}")
        self._cost += CELL * (len(self._kinds) + len(self._kinds_in_messages) * len(messages))
        return checked

    def take_cost(self) -> int:
        """The units of a `Budget` that the labels of the last row take: every label is a column of all rows."""
        cost, self._cost = self._cost, 0
        return cost

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
            message |= {"role": self._unicode(role), "content": self._unicode(content)}
        if len(message) == 2:
            return message
        for name, value in list(message.items()):
            if name not in ("role", "content"):
                if (plain := self._unicode(name)) != name:
                    del message[name]
                message[plain] = self._label(self._kinds_in_messages, name, value, f"message label {name!r}")
        return message

    def _label(self, kinds: dict[str, str], name: str, value: Any, subject: str) -> Any:
        if value is None:
            return None
        if "\0" in name:
            raise BadRow(f"the name of {subject} has a NUL character; rename it")
        value = self._storable(value, subject)
        kind = _KINDS[type(value)]
        if name not in kinds:
            self._cost += LABEL
        earlier = kinds.setdefault(name, kind)
        if kind != earlier:
            raise BadRow(f"{subject} is {kind} here but {earlier} in earlier rows; give it one type in all rows")
        return value

    def _storable(self, value: Any, subject: str) -> Any:
        if isinstance(value, str):
            return plain_label(self._unicode(value))
        if isinstance(value, int) and abs(value) > 2**63 - 1:
            raise BadRow(f"{subject} is a number of more than 64 bits; write it as text")
        if type(value) in (bool, int, float):
            return value
        if isinstance(value, list) and all(item is None or isinstance(item, str) for item in value):
            return [plain_label(self._unicode(item)) for item in value if item is not None]
        if isinstance(value, list | dict):
            return self._unicode(json.dumps(value, ensure_ascii=False, default=str))
        return str(value)

    def _unicode(self, text: str) -> str:
        if text.isascii():
            return text
        text, count = HALF_OF_A_PAIR.subn("\ufffd", text)
        self.replaced += count
        return text


def _with_own(row: dict[str, Any]) -> dict[str, Any]:
    places = [name for name in _OWN if isinstance(row.get(name), dict | list)]
    if not places:
        return row
    own = {name: value for place in places for name, value in own_labels(row[place]).items()}
    rest = {name: value for name, value in row.items() if name not in places}
    return own | {name: value for name, value in rest.items() if value is not None or name not in own}


def own_labels(fields: Any) -> dict[str, Any]:
    """Return the texts, numbers and booleans of ``{name: value}`` or ``[{"id", "name"?, "value"}]`` as labels.

    Fields that are not filled, or hold lists or objects, are left out.

    >>> own_labels({"Branch": "Mill Lane", "Order": {"type": "order.list"}, "Paid": None})
    {'Branch': 'Mill Lane'}
    >>> own_labels([{"id": 27642, "value": "745"}, {"id": 5, "name": "Pets", "value": 2}])
    {'custom_field_27642': '745', 'Pets': 2}
    """
    if isinstance(fields, list):
        fields = {_own_name(field): field.get("value") for field in fields if isinstance(field, dict)}
    named = fields.items() if isinstance(fields, dict) else ()
    return {name: value for name, value in named if isinstance(value, str | int | float) and value != ""}


def _own_name(field: dict[str, Any]) -> str:
    return str(field.get("name") or field.get("title") or f"custom_field_{field.get('id')}")


def plain_label(value: Any) -> Any:
    """A label without the blanks around it, which would make it another label.

    >>> plain_label(" refund "), plain_label(2)
    ('refund', 2)
    """
    return value.strip() if isinstance(value, str) else value


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:40] + "…"


_SCRIPT_WITHOUT_BLANKS = re.compile(r"[\u3040-\ud7ff]{6}")
_FEW_WORDS = 2
_LOOKED_AT = 2000  # letters of each text
_MARKUP = re.compile(r"<[^<>]*>|&\w+;")  # a text may stand in another field as HTML
_NO_LETTERS = re.compile(r"[\W_]+")
_MESSAGES_LOOKED_AT = 1000  # of a record
_MOST_LETTERS = 1 << 16  # of a conversation in which a text is looked for that is part of another
_RECORDS_LOOKED_AT = 100  # whatever is read from them; products fill their fields in much the same way in a file
Path = tuple[str, ...]


class UnreadText:
    """Counts messages of one file that are read as empty, by the field in which they hold text.

    Args:
        passed_over: Names of fields that the format leaves out on purpose.

    Examples:
        >>> unread = UnreadText()
        >>> unread.add([{"text": "", "blocks": "my laptop does not start"}], {"messages": [{"content": ""}]})
        >>> unread.fields()
        {'blocks': 1}
    """

    def __init__(self, passed_over: Collection[str] = ()) -> None:
        self._passed_over = frozenset(passed_over)
        self._read: set[Path] = set()
        self._records = 0
        self._unread: Counter[Path] = Counter()

    def add(self, raw: Any, row: dict[str, Any] | None) -> None:
        """Compare a record with the conversation read from it, if that has a message without text."""
        self._records += 1
        is_whole = row is not None and all(message["content"] for message in row["messages"])
        if is_whole and self._records > _RECORDS_LOOKED_AT:
            return
        with suppress(BadRow, RecursionError):
            messages = row["messages"] if row is not None else ()
            contents = {_letters(message["content"][:_LOOKED_AT]) for message in messages} - {""}
            read = {_letters(text) for _, text in _texts(row) if _has_words(text)}
            everything = "\n".join(read)[:_MOST_LETTERS]
            for message in islice(_messages(parse_value(raw)), _MESSAGES_LOOKED_AT):
                texts = {path: (text, _letters(text)) for path, text in _texts(message)}
                long = {path: own for path, (text, own) in texts.items() if _has_words(_MARKUP.sub(" ", text))}
                known = [path for path, letters in long.items() if letters in read or letters in everything]
                # what stands in several fields is read from the outermost
                self._read.update(sorted(known, key=len)[:1])
                if not known and contents.isdisjoint(letters for _, letters in texts.values()):
                    self._unread.update(path for path in long if self._passed_over.isdisjoint(path))

    def fields(self) -> dict[str, int]:
        """Return the number of messages by the field that is not read."""
        return {".".join(path): count for path, count in self._unread.items() if path not in self._read}

    def report(self, place: str, told: Callable[[str], str] = str) -> None:
        """Log a line for each field, if there are any, with its name as ``told``."""
        for field, count in self.fields().items():
            warn(place, f"{count:,} messages without text hold text in `{told(field)}`, which is not read")


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in the outermost lists of a record, or in objects of nothing but objects."""
    values = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list | tuple) else []
    is_list = not isinstance(value, dict) or (len(values) > 1 and all(isinstance(item, dict) for item in values))
    for item in values:
        if is_list and isinstance(item, dict):
            yield item
        else:
            yield from _messages(item)


def _texts(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts in a value, with the names that lead to them."""
    if isinstance(value, str):
        yield path, value[:_LOOKED_AT]
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, path)


def _has_words(text: str) -> bool:
    words = [word for word in text.split() if any(map(str.isalpha, word))]
    return len(words) > _FEW_WORDS or bool(_SCRIPT_WITHOUT_BLANKS.search(text))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", _MARKUP.sub("", without_mojibake(text)))
