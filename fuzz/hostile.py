"""Damage: to bytes, to values of JSON, and to the columns of tables."""

import copy
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

# Bytes that mean something to one reader or another.
_PIECES = (
    *(b"\0", b"\xff", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"PAR1", b"\x1b[31m", b"\xc2\x85"),
    *(b"\n", b"\r", b"\r\n", b"\t", b" ", b",", b";", b":", b'"', b"'", b"{", b"}", b"[", b"]", b"null", b"NaN"),
    *(b"\\ud800", b"\\u0000", b"-1", b"1e999", b"99999999999999999999", b"9" * 5000, b"[" * 3000, b'{"a":' * 3000),
    *(b"From ", b"-->", b"WEBVTT", b"__eou__", b"#", b"|", b"1 ", b"01\t", b"_BOOK_TITLE_ : ", b"Ann: "),
    *(
        b"\xe2\x80\xa8",
        b"[01.02.23, 12:00] ",
        b"Date: Thu, 32 Foo 99999 25:61:61 +9999",
        b"Content-Type: multipart/x; boundary=",
    ),
)
_TEXTS = (
    *("", " ", "\0", "\x1b[31m", "\ud800", "\u2028", "é" * 300),
    *("user", "1", "nan", "2024-01-01", "0001-01-01T00:00+14:00"),
)
_NUMBERS = (0, -1, 1, 0.5, 2**63, -(2**64), 10**400, 1e308, float("nan"), float("inf"))

texts = st.sampled_from(_TEXTS) | st.text(max_size=8)
scalars = texts | st.sampled_from(_NUMBERS) | st.booleans() | st.none()


def values(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Any value of JSON, with these keys in its objects."""
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=12
    )


@st.composite
def damaged_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """A few parts of some bytes left out, repeated, replaced, or others put in."""
    pieces = st.sampled_from(_PIECES) | st.binary(max_size=6)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 40)))
        new = draw(st.sampled_from((b"", content[start:end] * 2)) | pieces)
        content = content[:start] + new + (b"" if draw(st.integers(0, 9)) == 0 else content[end:])
    return content


# What the parser of e-mail headers gives a meaning, also many times over.
_HEADER_PIECES = (
    *'()<>[]"\\,;:@.=*\t \0\udcff',
    *("\n ", "\r\n\t", "=?utf-8?q?", "=?utf-8?b?", "?=", "=?klingon?q?a?=", "Ann", "a@b.c", "<a@b.c>", "é"),
    "text/plain",
    *("multipart/mixed", "boundary=x", "filename*0=", "charset=utf-7", "Wed, 1 May 2024 10:00:00 +9999", "99999"),
    *("-0000",),
)


def headers() -> st.SearchStrategy[str]:
    """The value of a header."""
    repeated = st.builds(str.__mul__, st.sampled_from(_HEADER_PIECES), st.sampled_from((1, 1, 1, 2, 50, 3000, 50_000)))
    return st.lists(repeated, max_size=6).map("".join)


@st.composite
def changed_value(draw: st.DrawFn, value: Any) -> Any:
    """A value of JSON of which a few parts, at any depth, are left out, replaced, renamed or wrapped."""
    changed = [copy.deepcopy(value)]
    keys = st.sampled_from(sorted({key for _, key in _places(changed) if isinstance(key, str)}) or [""]) | texts
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(list(_places(changed))))
        action = draw(st.sampled_from(("replace", "replace", "wrap", "unwrap", "remove", "rename")))
        old = container[key]
        if action == "replace":
            container[key] = draw(values(keys))
        elif action == "wrap":
            container[key] = draw(st.sampled_from(([old], {draw(keys): old}, [old] * 3)))
        elif action == "unwrap" and isinstance(old, list | dict) and old:
            container[key] = next(iter(old.values() if isinstance(old, dict) else old))
        elif container is not changed:
            if action == "rename" and isinstance(container, dict):
                container[draw(keys)] = old
            del container[key]
    return changed[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: the list or object, and the key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


# What personal data is made of, repeated until a pattern that looks at anything twice does not end.
_SIGNS = st.text("0123456789 +-.()/@:,#\n\t_%'[]?=&<>aAzé请１＠．ﷺ\u0301\u200b", min_size=1, max_size=12)
_NUMBERS_AND_ADDRESSES = st.sampled_from(
    [
        *("1 ", "11 ", "4444 ", "4111 1111 1111 1112\n", "+12 34 56 78 ", "0049 ", "0171/1234567/"),
        *("12 34 56 78 90 ", "DE89 ", "aa11", "1.1.1.1 ", "1::1 ", "fe80:", "DE89 3704 0044 0532 0130 0 "),
        *("550e8400-e29b-41d4-", "a@", "a@a.", "'@a.b", "a.a/", "a.com?a=", "a://", "http://", "www."),
        *("localhost:", "call ", "order 1234567 "),
    ]
)
_LETTERS = 20_000


@st.composite
def repetitive_texts(draw: st.DrawFn) -> str:
    """A long text of few pieces, each repeated very often."""
    pieces = draw(st.lists(_SIGNS | _NUMBERS_AND_ADDRESSES, min_size=1, max_size=3))
    times = [_LETTERS // len(pieces) // len(piece) for piece in pieces]
    repeated = "".join(piece * count for piece, count in zip(pieces, times))
    return draw(st.sampled_from((repeated, "".join(pieces) * (_LETTERS // len("".join(pieces))))))


_MOMENT = datetime(2024, 1, 1, 12)
_COLUMNS = (
    pa.array(["a", "b", None]),
    pa.array([1, 2, 3]),
    pa.array([0.5, float("nan"), None]),
    pa.array([True, False, None]),
    pa.array([b"\xff", b"a", None]),
    pa.array([_MOMENT, _MOMENT, None]),
    pa.array([_MOMENT.date(), _MOMENT.date(), None]),
    pa.array([_MOMENT.time(), _MOMENT.time(), None]),
    pa.array([timedelta(days=1), timedelta(0), None]),
    pa.array([2**62, 0, 1], pa.timestamp("ns")),
    pa.array([2**48, 0, 1], pa.timestamp("s", "Asia/Tokyo")),
    pa.array([Decimal("1.5"), Decimal(0), None]),
    pa.array(["a", "b", "a"]).dictionary_encode(),
    pa.array([["a"], [], None]),
    pa.array([{"a": 1}, {"a": None}, None]),
    pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    pa.array([[{"role": "a", "content": "b"}]] * 3),
    pa.nulls(3),
)
_NAMES = ("conversation_id", "speaker", "text", "timestamp", "messages", "id", "prompt", "completion", "label", "")


@st.composite
def typed_tables(draw: st.DrawFn) -> bytes:
    """A Parquet file with columns of any types under names that mean something."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=6, unique=True))
    table = pa.table({name: draw(st.sampled_from(_COLUMNS)) for name in names})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()
