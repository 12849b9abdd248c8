"""Children's Book Test: books, one sentence per line, and questions of 21 sentences each.

``cbt_train.txt``, ``cbt_valid.txt`` and ``cbt_test.txt`` hold whole books. A line ``_BOOK_TITLE_ : …`` begins a book, a
line ``CHAPTER …`` a chapter. Each chapter is a conversation, and so is what precedes the first one, or a book
without any. The headings become the labels ``book`` and ``chapter`` and are not sentences.

``cbtest_NE_train.txt``, ``cbtest_CN_valid_2000ex.txt``, … hold questions: twenty sentences numbered from 1, then the
query with ``XXXXX`` for a word, that word, an empty column, and candidates for it, separated by tabs. The query with
its word put back is the last sentence; the candidates are left out.

A story has no speakers: every sentence is a message of the role ``narrator``. The tokenisation of the release
(spaces before punctuation, ``-LCB-``) is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source
from turnlens.papers.formats.numbered import Line, blocks, without_number

_TITLE = "_BOOK_TITLE_ :"
_CHAPTER = "CHAPTER "
_GAP = "XXXXX"


class Chapter(NamedTuple):
    """The sentences under one heading."""

    book: str | None
    heading: str | None
    sentences: list[str]


def records(source: Source) -> Iterator[tuple[int, Chapter | list[Line]]]:
    """Chapters of books, or blocks of numbered lines where the file holds questions."""
    is_question = any(text.startswith("1 ") for _, text in islice(source.text_lines(), 1))
    return blocks(source) if is_question else _chapters(source)


def _chapters(source: Source) -> Iterator[tuple[int, Chapter]]:
    book = heading = None
    start, sentences = 0, list[str]()
    for place, text in source.text_lines():
        if text.startswith((_TITLE, _CHAPTER)):
            if sentences:
                yield start, Chapter(book, heading, sentences)
                sentences = []
            if text.startswith(_TITLE):
                book, heading = text.removeprefix(_TITLE).strip(), None
            else:
                heading = text.strip()
            continue
        if not sentences:
            start = place
        sentences.append(text)
    if sentences:
        yield start, Chapter(book, heading, sentences)


def convert(raw: Chapter | list[Line], source: Source) -> dict[str, Any]:
    """A chapter as it stands, or the sentences of a question with the answer put back into the last one."""
    if isinstance(raw, Chapter):
        return {"messages": _messages(raw.sentences), "book": raw.book, "chapter": raw.heading}
    *context, query = (without_number(line, FORMAT.layout) for line in raw)
    sentence, *rest = query.split("\t")
    if _GAP not in sentence or not rest:
        raise BadRow(f"found {query[:40]!r} as the last line; expected {FORMAT.layout}", raw[-1][0])
    return {"messages": _messages([*context, sentence.replace(_GAP, rest[0].strip())])}


def _messages(sentences: list[str]) -> list[dict[str, str]]:
    return [{"role": "narrator", "content": sentence.strip()} for sentence in sentences]


def matches(head: Head) -> bool:
    """A book's title, or a numbered line without columns. So is a persona of PersonaChat, which is tried first."""
    return head.line.startswith(_TITLE) or bool(re.match(r"1 [^\t]+$", head.line))


FORMAT = Format(
    name="cbt",
    description="Children's Book Test (books and questions, text)",
    layout=f"one sentence a line under lines {_TITLE} … and {_CHAPTER}…; or lines numbered from 1 in each question, "
    f"the last one a query with {_GAP}, the answer and candidates, separated by tabs",
    records=records,
    convert=convert,
    matches=matches,
)
