"""Published corpora in text whose lines are numbered from 1 in each conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source
from turnlens.papers.formats.speakers import alternating

# --- Text whose lines are numbered from 1 in each conversation (``1 …``, ``2 …``, ``1 …``), as in bAbI and ParlAI.

Line = tuple[int, str]


def blocks(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """The lines of each conversation; a line numbered 1 begins the next."""
    block: list[Line] = []
    for line in source.text_lines():
        if line[1].startswith("1 ") and block:
            yield block[0][0], block
            block = []
        block.append(line)
    if block:
        yield block[0][0], block


def without_number(line: Line, layout: str) -> str:
    """The text after a line's number.

    Raises:
        BadRow: The line has none.
    """
    place, text = line
    number, _, rest = text.partition(" ")
    if not number.isdecimal():
        raise BadRow(f"found {text[:40]!r} without a number; expected {layout}", place)
    return rest


# --- PersonaChat and ConvAI2: ParlAI text, ``train_self_original.txt``, ``valid_none_revised_no_cands.txt``, ….
#
# The lines of a conversation are numbered from 1:
#
# 1. ``your persona: …`` and ``partner's persona: …``, one sentence per line; the name of the file says which it has
# 2. an utterance, the reply, an empty column, and the candidates for the reply separated by ``|``, all separated by
#    tabs; without candidates the line ends after the reply
#
# Whoever speaks first is read as user, whoever replies (``your``) as assistant, and the candidates are left out. The
# sentences of the personas become the labels ``persona`` and ``partner_persona``.
#
# The training files of ConvAI2 repeat all conversations with the sides swapped, and therefore with ``__SILENCE__`` as
# the first utterance. The repetitions are left out.

_PERSONAS = {"your persona:": "persona", "partner's persona:": "partner_persona"}
_REPEATED = re.compile(r"\d+ __SILENCE__\t")
# A sentence of a persona, or an utterance and a reply with or without candidates.
_FIRST_LINE = re.compile(r"1 (your persona:|partner's persona:|[^\t]+\t[^\t]+(\t\t[^\t]*)?$)")


def _records_personachat(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """Conversations without those that ConvAI2 repeats with the sides swapped."""
    for place, block in blocks(source):
        if not any(_REPEATED.match(text) for _, text in block):
            yield place, block


def _convert_personachat(raw: list[Line], source: Source) -> dict[str, Any]:
    """Every line is a sentence of a persona, or an utterance and the reply to it."""
    messages: list[dict[str, str]] = []
    personas: dict[str, list[str]] = {}
    for line in raw:
        text = without_number(line, PERSONACHAT.layout)
        prefix = next((prefix for prefix in _PERSONAS if text.startswith(prefix)), None)
        if prefix is not None:
            personas.setdefault(_PERSONAS[prefix], []).append(text.removeprefix(prefix).strip())
            continue
        utterance, tab, rest = text.partition("\t")
        if not tab:
            raise BadRow(f"found {text[:40]!r} without a reply; expected {PERSONACHAT.layout}", line[0])
        messages += alternating([utterance.strip(), rest.split("\t")[0].strip()])
    return {"messages": messages, **personas}


PERSONACHAT = Format(
    name="personachat",
    description="PersonaChat, ConvAI2 (ParlAI text)",
    layout="lines numbered from 1 in each conversation: personas (1 your persona: …), then turns (5 utterance, reply "
    "and perhaps candidates, separated by tabs)",
    records=_records_personachat,
    convert=_convert_personachat,
    matches=lambda head: bool(_FIRST_LINE.match(head.line)),
)


# --- Children's Book Test: books, one sentence per line, and questions of 21 sentences each.
#
# ``cbt_train.txt``, ``cbt_valid.txt`` and ``cbt_test.txt`` hold whole books. A line ``_BOOK_TITLE_ : …`` begins a book,
# a line ``CHAPTER …`` a chapter. Each chapter is a conversation, and so is what precedes the first one, or a book
# without any. The headings become the labels ``book`` and ``chapter`` and are not sentences.
#
# ``cbtest_NE_train.txt``, ``cbtest_CN_valid_2000ex.txt``, … hold questions: twenty sentences numbered from 1, then the
# query with ``XXXXX`` for a word, that word, an empty column, and candidates for it, separated by tabs. The query with
# its word put back is the last sentence; the candidates are left out.
#
# A story has no speakers: every sentence is a message of the role ``narrator``. The tokenisation of the release
# (spaces before punctuation, ``-LCB-``) is kept.

_TITLE = "_BOOK_TITLE_ :"
_CHAPTER = "CHAPTER "
_GAP = "XXXXX"


class Chapter(NamedTuple):
    """The sentences under one heading."""

    book: str | None
    heading: str | None
    sentences: list[str]


def _records_cbt(source: Source) -> Iterator[tuple[int, Chapter | list[Line]]]:
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


def _convert_cbt(raw: Chapter | list[Line], source: Source) -> dict[str, Any]:
    """A chapter as it stands, or the sentences of a question with the answer put back into the last one."""
    if isinstance(raw, Chapter):
        return {"messages": _told(raw.sentences), "book": raw.book, "chapter": raw.heading}
    *context, query = (without_number(line, CBT.layout) for line in raw)
    sentence, *rest = query.split("\t")
    if _GAP not in sentence or not rest:
        raise BadRow(f"found {query[:40]!r} as the last line; expected {CBT.layout}", raw[-1][0])
    return {"messages": _told([*context, sentence.replace(_GAP, rest[0].strip())])}


def _told(sentences: list[str]) -> list[dict[str, Any]]:
    return alternating(map(str.strip, sentences), ["narrator"])


def _matches_cbt(head: Head) -> bool:
    """A book's title, or a numbered line without columns. So is a persona of PersonaChat, which is tried first."""
    return head.line.startswith(_TITLE) or bool(re.match(r"1 [^\t]+$", head.line))


CBT = Format(
    name="cbt",
    description="Children's Book Test (books and questions, text)",
    layout=f"one sentence a line under lines {_TITLE} … and {_CHAPTER}…; or lines numbered from 1 in each question, "
    f"the last one a query with {_GAP}, the answer and candidates, separated by tabs",
    records=_records_cbt,
    convert=_convert_cbt,
    matches=_matches_cbt,
)
