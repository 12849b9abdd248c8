"""Filters: small expressions that are read word by word and written as SQL; the user's own text stays within quotes.

role = 'user' and label.intent in ('refund', 'cancel') and time >= 2024-01-01 and not text contains 'test'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, time
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from turnlens._utils.text_values import HALF_OF_A_PAIR

_LONGEST = 10_000  # characters
_DEEPEST = 10  # parentheses within each other; LanceDB's parser fails at 12
_MOST_COMPARISONS = 256  # each is made for every row
_MOST_DIGITS = 9  # of whole numbers, which have 32 bits in the store
_Item = TypeVar("_Item")
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
_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OF_SPANS = {  # comparisons of a column {0} with all moments from {1} to {2}
    "=": "{0} BETWEEN {1} AND {2}",
    "!=": "{0} NOT BETWEEN {1} AND {2}",
    "<": "{0} < {1}",
    "<=": "{0} <= {2}",
    ">": "{0} > {2}",
    ">=": "{0} >= {1}",
}
_SHELL = "which a shell takes away unless quotes of the other kind are around the filter"
_LONGEST_DATE = len("2024-01-31")  # a longer time is no date alone
_OF_LISTS = {"=": "", "in": "", "!=": "NOT ", "not in": "NOT "}


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
    """A filter in LanceDB's SQL, which is passed on unchanged: never make one from input that you do not trust.

    Examples:
        >>> read_filter(SQL("role LIKE 'ag%'"), MESSAGE_COLUMNS)
        "role LIKE 'ag%'"
    """

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


def read_filter(filter: str, columns: Mapping[str, Column]) -> str:
    """Translate a filter into SQL. Of an empty time no comparison is true, and no contrary of one.

    Args:
        filter: Comparisons (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in (…)``, ``not in (…)``, ``contains``)
            between a column and a quoted text, a number or an ISO 8601 time, joined by ``and``, ``or``, ``not`` and
            parentheses. A date alone is the whole day, in UTC. Labels are ``label.NAME`` or ``label."any name"``. An
            `SQL` filter is passed on unchanged.
        columns: The columns that the filter may name.

    Raises:
        FilterError: The filter cannot be read; the error says where.

    Examples:
        >>> read_filter("role = 'user' and not turn > 3", MESSAGE_COLUMNS)
        "role = 'user' AND NOT turn > 3"
    """
    return filter if isinstance(filter, SQL) else _Reader(filter, columns).condition()


def named_in(filter: str, columns: Mapping[str, Column]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the roles that a filter compares with, and the entries of labels by their names.

    Examples:
        >>> named_in("role = 'user' or label.intent in ('a', 'b')", MESSAGE_COLUMNS)
        (['user'], {'intent': ['intent=a', 'intent=b']})
    """
    reader = _Reader(filter, columns)
    reader.condition()
    return reader.roles, reader.labels


def ids_among(ids: Iterable[str]) -> str:
    """The SQL condition that a conversation's id is one of these."""
    return _is_one_of("conversation", ids)


def ids_at_once(ids: Iterable[str], most: int = 512) -> Iterator[str]:
    """The conditions of `ids_among` for some ids after the other."""
    left = iter(ids)
    while some := list(islice(left, most)):
        yield ids_among(some)


def said_by(role: str, is_not: bool = False) -> str:
    """The SQL condition that a message was said by a role, or by any other."""
    return f"role {'!=' if is_not else '='} {_quoted(role)}"


def _is_one_of(column: str, texts: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(map(_quoted, texts))})"


def said_by_one_of(roles: Iterable[str]) -> str:
    """The SQL condition that a message was said by one of some roles."""
    return _is_one_of("role", roles)


def names_role(condition: str) -> bool:
    """Return true if an SQL condition is about the role of messages."""
    return re.search(r"\brole\b", re.sub("'(?:[^']|'')*'", "", condition)) is not None


def label_entry(name: str, value: object) -> str:
    """A label as an entry of the column ``labels``."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


class _Reader:
    """The words of a filter, one after the other."""

    def __init__(self, filter: str, columns: Mapping[str, Column]) -> None:
        self._filter = filter
        self._columns = columns
        self._tokens = iter(self._tokenized())
        self._token = next(self._tokens)
        self.roles: list[str] = []
        self.labels: dict[str, list[str]] = {}

    def _tokenized(self) -> list[_Token]:
        if len(self._filter) > _LONGEST:
            raise FilterError(f"expected at most {_LONGEST:,} characters", self._filter[:40] + "…", _LONGEST)
        if "\0" in self._filter:
            raise FilterError("found a NUL character", self._filter, self._filter.index("\0"))
        if half := HALF_OF_A_PAIR.search(self._filter):
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

    def error(self, problem: str, token: _Token | None = None) -> FilterError:
        """An error about a word, by default the next one."""
        token = token or self._token
        got = "the end" if token.kind == "end" else repr(token.text)
        return FilterError(f"{problem}, got {got}", self._filter, token.position)

    def take(self, *words: str) -> str:
        """The next word, if it is one of these, in small letters; otherwise nothing."""
        word = self._token.text.lower()
        if self._token.kind not in ("word", "sign") or word not in words:
            return ""
        self._read()
        return word

    def expect(self, sign: str) -> None:
        """Go past a sign, or be at the end."""
        if sign and not self.take(sign):
            raise self.error(f"expected {sign!r}")
        if not sign and self._token.kind != "end":
            raise self.error("expected 'and', 'or' or the end")

    def condition(self) -> str:
        """Read all comparisons, and return them as SQL."""
        sql: list[str] = []
        depth = comparisons = 0
        while True:
            while opening := self.take("not", "("):
                depth += opening == "("
                if depth > _DEEPEST:
                    raise self.error(f"expected at most {_DEEPEST} levels of parentheses")
                if opening == "not" and sql[-1:] == ["NOT"]:
                    sql.pop()
                else:
                    sql.append(opening.upper())
            comparisons += 1
            if comparisons > _MOST_COMPARISONS:
                raise self.error(f"expected at most {_MOST_COMPARISONS} comparisons")
            sql.append(self.comparison())
            while depth and self.take(")"):
                depth -= 1
                sql.append(")")
            joint = self.take("and", "or")
            if not joint:
                self.expect(")" if depth else "")
                return " ".join(sql)
            sql.append(joint.upper())

    def comparison(self) -> str:
        """A comparison as SQL."""
        column, label = self._column()
        operator = self._token
        sign = _SIGNS.get(self.take(*_SIGNS)) or self.take("in", "not", "contains")
        if sign == "not" and self.take("in"):
            sign = "not in"
        if sign in ("", "not"):
            raise self.error("expected =, !=, <, <=, >, >=, in, not in or contains", operator)
        if sign == "contains" and column.kind != "text":
            raise self.error("'contains' belongs to texts", operator)
        if column.kind in ("texts", "labels") and sign not in _OF_LISTS:
            raise self.error("labels and lists are compared with =, != and in only", operator)
        if column.kind == "time":
            return self._compared_times(column.name, sign)
        if sign == "contains":
            return f"contains({column.name}, {_quoted(self._text())})"
        values = self._values(column, label) if sign.endswith("in") else self._value(column, label)
        if column.kind in ("texts", "labels"):
            return f"{_OF_LISTS[sign]}array_has_any({column.name}, make_array({values}))"
        if sign.endswith("in"):
            return f"{column.name} {sign.upper()} ({values})"
        return f"{column.name} {sign} {values}"

    def _read(self) -> _Token:
        token = self._token
        self._token = next(self._tokens, token)
        return token

    def _column(self) -> tuple[Column, str]:
        """A column, and the name of the label for the column of labels."""
        token = self._read()
        name, dot, label = token.text.partition(".")
        column = self._columns.get(name) if token.kind == "word" else None
        if column is None or (dot and column.kind != "labels"):
            known = (name + ".NAME" * (column.kind == "labels") for name, column in self._columns.items())
            raise self.error(f"expected one of {', '.join(known)}", token)
        if dot and not label and self._token.kind == "text":
            label = _unquoted(self._read().text)
        if column.kind == "labels" and not label:
            raise self.error("expected the name of a label, as in label.intent", token)
        return column, label

    def _values(self, column: Column, label: str) -> str:
        return ", ".join(self._list(lambda: self._value(column, label)))

    def _list(self, read: Callable[[], _Item]) -> list[_Item]:
        """The items of a list in parentheses."""
        self.expect("(")
        items = [read()]
        while self.take(","):
            items.append(read())
        self.expect(")")
        return items

    def _value(self, column: Column, label: str) -> str:
        """A value as SQL."""
        if column.kind in ("text", "texts"):
            text = self._text()
            if column.name in ("role", "speakers"):
                self.roles.append(text)
            return _quoted(text)
        token = self._read()
        if column.kind == "number":
            if token.kind != "number" or "." in token.text or len(token.text.lstrip("+-")) > _MOST_DIGITS:
                raise self.error(f"expected a whole number of at most {_MOST_DIGITS} digits", token)
            return str(int(token.text))
        if token.kind not in ("text", "number", "time") and token.text not in ("true", "false"):
            raise self.error(f"expected a number, true, false or a text in quotes, {_SHELL}", token)
        entry = label_entry(label, _unquoted(token.text))
        self.labels.setdefault(label, []).append(entry)
        return _quoted(entry)

    def _text(self) -> str:
        """A text in quotes, without them."""
        token = self._read()
        if token.kind != "text":
            raise self.error(f"expected a text in quotes, {_SHELL}", token)
        return _unquoted(token.text)

    def _compared_times(self, column: str, sign: str) -> str:
        if not sign.endswith("in"):
            return _OF_SPANS[sign].format(column, *self._span())
        is_in = sign == "in"
        each = [_OF_SPANS["=" if is_in else "!="].format(column, *span) for span in self._list(self._span)]
        return f"({(' OR ' if is_in else ' AND ').join(each)})"

    def _span(self) -> tuple[str, str]:
        """The first and the last moment of a time as SQL: a date alone is the whole day."""
        token = self._read()
        text = _unquoted(token.text)
        try:
            first = last = datetime.fromisoformat(text)
        except ValueError:
            raise self.error("expected a time, such as 2024-01-31 or 2024-01-31T12:00:00Z", token) from None
        if len(text) <= _LONGEST_DATE:
            last = datetime.combine(first, time.max)
        try:
            return _timestamp(first), _timestamp(last)
        except OverflowError:
            raise self.error("expected a time that has years 1 to 9999 in UTC as well", token) from None


def _timestamp(moment: datetime) -> str:
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"timestamp '{moment.replace(tzinfo=None).isoformat(sep=' ')}'"


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0]) if text[:1] in ("'", '"') else text


def _quoted(text: str) -> str:
    """A text in quotes that nothing in it can end."""
    return "'" + text.replace("'", "''") + "'"
