"""Filters: small expressions that are parsed and translated, so that the user's own text never reaches the database.

role = 'user' and label.intent in ('refund', 'cancel') and time >= 2024-01-01 and not text contains 'test'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from turnwise.store.conditions import (
    All,
    Among,
    Compared,
    Condition,
    Contains,
    Either,
    Has,
    Not,
    Raw,
    alternations,
    comparisons,
    normalised,
)

_LONGEST = 10_000  # characters
_DEEPEST = 50  # parentheses and nots within each other
_MOST_ALTERNATIONS = 12  # of "and" and "or" after simplification; LanceDB's parser fails at 16
_MOST_COMPARISONS = 256  # each is made for every row
_MOST_DIGITS = 9  # of whole numbers, which have 32 bits in the store
_Read = TypeVar("_Read")
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?)
      | (?P<number>[+-]?\d+(?:\.\d+)?)
      | (?P<word>[^\W\d][\w.-]*)
      | (?P<sign><=|>=|!=|<>|==|[=<>(),])
    )""",
    re.VERBOSE,
)
_ORDERED = ("<", "<=", ">", ">=")
_SIGNS = {"==": "=", "<>": "!="}


class FilterError(ValueError):
    """A filter that cannot be read.

    Args:
        problem: What was found and what was expected.
        filter: The filter.
        position: Where, in characters from 0.
    """

    def __init__(self, problem: str, filter: str, position: int) -> None:
        super().__init__(f"filter, character {position + 1}: {problem} in {filter!r}")
        self.problem = problem
        self.position = position


class SQL(str):
    """A filter in LanceDB's SQL, which is passed on unchanged: never make one from input that you do not trust."""

    __slots__ = ()


class Column(NamedTuple):
    """A column that filters may name. In ``texts`` and ``labels``, which are lists, one entry must be equal."""

    name: str
    kind: Literal["text", "number", "time", "texts", "labels"]


MESSAGE_COLUMNS = {
    "conversation": Column("conversation", "text"),
    "turn": Column("turn", "number"),
    "role": Column("role", "text"),
    "speaker": Column("role", "text"),
    "text": Column("text", "text"),
    "time": Column("time", "time"),
    "label": Column("labels", "labels"),
}
CONVERSATION_COLUMNS = {
    "conversation": Column("conversation", "text"),
    "turns": Column("turns", "number"),
    "role": Column("speakers", "texts"),
    "speaker": Column("speakers", "texts"),
    "first_time": Column("first_time", "time"),
    "last_time": Column("last_time", "time"),
    "time": Column("last_time", "time"),
    "label": Column("labels", "labels"),
}


def read_filter(filter: str, columns: Mapping[str, Column]) -> Condition:
    """Parse a filter into a condition.

    Args:
        filter: Comparisons (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in (…)``, ``not in (…)``, ``contains``)
            between a column and a quoted text, a number or an ISO 8601 time, joined by ``and``, ``or``, ``not`` and
            parentheses. Labels are ``label.NAME`` or ``label."any name"``. An `SQL` filter is passed on unchanged.
        columns: The columns that the filter may name.

    Raises:
        FilterError: The filter cannot be read; the error says where.
    """
    if isinstance(filter, SQL):
        return Raw(str(filter))
    condition = normalised(_Parser(filter, columns).parse())
    if alternations(condition) > _MOST_ALTERNATIONS:
        raise FilterError(f"expected 'or' within 'and' at most {_MOST_ALTERNATIONS} times", filter, 0)
    if (count := comparisons(condition)) > _MOST_COMPARISONS:
        raise FilterError(f"expected at most {_MOST_COMPARISONS} comparisons, got {count:,}", filter, 0)
    return condition


def label_entry(name: str, value: object) -> str:
    """A label as an entry of the column ``labels``."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int

    @property
    def told(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


class _Parser:
    def __init__(self, filter: str, columns: Mapping[str, Column]) -> None:
        self._filter = filter
        self._columns = columns
        self._tokens = self._tokenize()
        self._next = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._either()
        if self._peek().kind != "end":
            raise self._error("expected 'and', 'or' or the end", self._peek())
        return condition

    def _tokenize(self) -> list[_Token]:
        if len(self._filter) > _LONGEST:
            raise FilterError(f"expected at most {_LONGEST:,} characters", self._filter[:40] + "…", _LONGEST)
        if "\0" in self._filter:
            raise FilterError("found a NUL character", self._filter, self._filter.index("\0"))
        if half := _HALF_OF_A_PAIR.search(self._filter):
            raise FilterError("half of a surrogate pair is not text", self._filter, half.start())
        tokens, position, end = [], 0, len(self._filter.rstrip())
        while position < end:
            match = _TOKEN.match(self._filter, position)
            if match is None:
                start = position + len(self._filter[position:]) - len(self._filter[position:].lstrip())
                problem = "this quote is never closed" if self._filter[start] in "'\"" else "found a stray character"
                raise FilterError(problem, self._filter, start)
            kind = str(match.lastgroup)
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return [*tokens, _Token("end", "", end)]

    def _either(self) -> Condition:
        parts = self._joined(self._all, "or")
        return parts[0] if len(parts) == 1 else Either(parts)

    def _all(self) -> Condition:
        parts = self._joined(self._term, "and")
        return parts[0] if len(parts) == 1 else All(parts)

    def _joined(self, part: Callable[[], Condition], word: str) -> tuple[Condition, ...]:
        parts = [part()]
        while self._take_word(word):
            parts.append(part())
        return tuple(parts)

    def _term(self) -> Condition:
        condition: Condition
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"expected at most {_DEEPEST} levels of parentheses and nots", self._peek())
        if self._take_word("not"):
            condition = Not(self._term())
        elif self._take_sign("("):
            condition = self._either()
            self._expect(")")
        else:
            condition = self._comparison()
        self._depth -= 1
        return condition

    def _comparison(self) -> Condition:
        column, label = self._column()
        operator = self._peek()
        self._next += 1
        word = operator.text.lower() if operator.kind == "word" else ""
        if operator.kind == "sign" and operator.text not in "(),":
            return self._compared(column, label, _SIGNS.get(operator.text, operator.text), operator)
        if word == "contains":
            if column.kind != "text":
                raise self._error("'contains' belongs to texts", operator)
            return Contains(column.name, self._text())
        if word == "not" and self._take_word("in"):
            return Not(self._among(column, label))
        if word == "in":
            return self._among(column, label)
        raise self._error("expected =, !=, <, <=, >, >=, in, not in or contains", operator)

    def _column(self) -> tuple[Column, str | None]:
        token = self._peek()
        self._next += 1
        name, dot, label = token.text.partition(".")
        column = self._columns.get(name) if token.kind == "word" else None
        known = ", ".join(
            f"{known_name}.NAME" if known_column.kind == "labels" else known_name
            for known_name, known_column in self._columns.items()
        )
        if column is None or (dot and column.kind != "labels"):
            raise self._error(f"expected one of {known}", token)
        if column.kind != "labels":
            return column, None
        if dot and not label and self._peek().kind == "text":
            label = _unquoted(self._peek().text)
            self._next += 1
        if not label:
            raise self._error("expected the name of a label, as in label.intent", token)
        return column, label

    def _compared(self, column: Column, label: str | None, sign: str, operator: _Token) -> Condition:
        if column.kind in ("texts", "labels"):
            if sign in _ORDERED:
                raise self._error("labels and lists are compared with =, != and in only", operator)
            condition = self._equal(column, label)
            return condition if sign == "=" else Not(condition)
        return Compared(column.name, sign, self._value(column))

    def _among(self, column: Column, label: str | None) -> Condition:
        self._expect("(")
        condition: Condition
        if column.kind == "text":
            condition = Among(column.name, tuple(self._separated(self._text)))
        else:
            condition = Either(tuple(self._separated(partial(self._equal, column, label))))
        self._expect(")")
        return condition

    def _separated(self, read: Callable[[], _Read]) -> Iterator[_Read]:
        """Read items that are separated by commas."""
        yield read()
        while self._take_sign(","):
            yield read()

    def _equal(self, column: Column, label: str | None) -> Condition:
        if column.kind not in ("texts", "labels"):
            return Compared(column.name, "=", self._value(column))
        if label is None:
            return Has(column.name, self._text())
        token = self._peek()
        if token.kind not in ("text", "number", "time", "word"):
            raise self._error("expected the value of a label", token)
        if token.kind == "word" and token.text not in ("true", "false"):
            raise self._error("expected a text in quotes, a number, true or false", token)
        self._next += 1
        value = _unquoted(token.text) if token.kind == "text" else token.text
        return Has(column.name, label_entry(label, value))

    def _value(self, column: Column) -> str | int | datetime:
        if column.kind == "number":
            token = self._peek()
            self._next += 1
            if token.kind != "number" or "." in token.text or len(token.text.lstrip("+-")) > _MOST_DIGITS:
                raise self._error(f"expected a whole number of at most {_MOST_DIGITS} digits", token)
            return int(token.text)
        return self._time() if column.kind == "time" else self._text()

    def _text(self) -> str:
        token = self._peek()
        self._next += 1
        if token.kind != "text":
            raise self._error("expected a text in quotes", token)
        return _unquoted(token.text)

    def _time(self) -> datetime:
        token = self._peek()
        self._next += 1
        written = _unquoted(token.text) if token.kind == "text" else token.text
        try:
            moment = datetime.fromisoformat(written)
        except ValueError:
            raise self._error("expected a time, such as 2024-01-31 or 2024-01-31T12:00:00Z", token) from None
        try:
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError:
            raise self._error("expected a time that has years 1 to 9999 in UTC as well", token) from None

    def _peek(self) -> _Token:
        return self._tokens[min(self._next, len(self._tokens) - 1)]

    def _take_word(self, word: str) -> bool:
        return self._take("word", word)

    def _take_sign(self, sign: str) -> bool:
        return self._take("sign", sign)

    def _take(self, kind: str, text: str) -> bool:
        token = self._peek()
        if token.kind != kind or token.text.lower() != text:
            return False
        self._next += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._take_sign(sign):
            raise self._error(f"expected {sign!r}", self._peek())

    def _error(self, problem: str, token: _Token) -> FilterError:
        return FilterError(f"{problem}, got {token.told}", self._filter, token.position)


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
