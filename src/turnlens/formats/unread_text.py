"""Text that a format passes over, although the message that holds it is read as empty.

Products add fields; a reader that does not know one of them must not be silent. A field counts as not read if nothing
from it is in any message or label of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_value, warn
from turnlens.formats.text_encoding import without_mojibake

_SCRIPT_WITHOUT_BLANKS = re.compile(r"[\u3040-\ud7ff]{6}")
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
    return len(words) > 2 or bool(_SCRIPT_WITHOUT_BLANKS.search(text))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", _MARKUP.sub("", without_mojibake(text)))
