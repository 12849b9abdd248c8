"""The indexes of a store: full text from the first messages on, vectors once an index saves time, and their upkeep."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnlens._utils.processes import give_back_memory
from turnlens.data.languages import forget_languages, language_of
from turnlens.store.lance_table import LanceTable, Tables
from turnlens.store.state import IndexFacts, naming_damage
from turnlens.store.vector_index import VectorPart, remove_others, write_index

if TYPE_CHECKING:
    from turnlens.store.tables import Transaction

# Of scripts that put no space between words: Thai to Lao, Burmese, Khmer, and those of Chinese, Japanese and Korean.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOSTLY = 0.2  # of all characters
_MANY = 0.1  # of all texts
_TOGETHER = 20  # messages, which are too short one by one for a language to be told
_COMMITS_UNTIL_TIDY, _SMALL = 64, 4096  # in a store of 4,096 messages at most; beyond, with their square root
_LARGEST_UNINDEXED, _WHILE_ADDING = 0.25, 1.0  # texts outside the index, as a share of the texts in it
_UNINDEXED_BYTES = 2 * 2**20  # of a store of that size, too; a search for words reads them in some 70 ms
RETENTION = timedelta(minutes=10)  # longer than any reader needs to notice a commit
SMALLEST_INDEXED = 20_000  # vectors; fewer are held in memory. Measured in docs/results.md#what-it-costs.
_LEAST_LIVE = 0.75  # of the rows of an index; if more were deleted, it is written again


def add_text_index(tables: Tables, tokenizer: str, language: str, texts: Sequence[str]) -> str:
    """Build the full-text index with the first messages; later messages are found whether they are indexed or not.

    Args:
        tables: The tables, with messages.
        tokenizer: ``"simple"`` (words), ``"icu"`` (words of any languages, as they are), ``"ngram"`` (pairs of
            characters) or another of LanceDB's. If it is empty, one that fits the texts is chosen.
        language: The language of the stems and stop words of ``"simple"``.
        texts: The texts by which the tokenizer is chosen.

    Returns:
        The name of the tokenizer.
    """
    from lancedb.index import FTS

    tokenizer = tokenizer or _fitting_tokenizer(texts, language)
    as_they_are: dict[str, Any] = {"stem": False, "remove_stop_words": False}
    settings = {"icu": as_they_are, "ngram": {"ngram_min_length": 2, "ngram_max_length": 2, **as_they_are}}
    config = FTS(base_tokenizer=tokenizer, **settings.get(tokenizer, {"language": language}))
    tables.messages.inner.create_index("text", config=config)
    return tokenizer


def has_text_index(tables: Tables) -> bool:
    """Return true if texts can be searched."""
    with naming_damage(tables.messages.store):
        return any(index.index_type == "FTS" for index in tables.messages.inner.list_indices())


def _fitting_tokenizer(texts: Sequence[str], language: str) -> str:
    """Pairs of characters for scripts without spaces, words of any language where many texts have some, else stems."""
    unspaced = [len(_UNSPACED.findall(text)) for text in texts]
    if sum(unspaced) > _MOSTLY * sum(map(len, texts)):
        return "ngram"
    is_mixed = sum(map(bool, unspaced)) > _MANY * len(texts)
    return "icu" if is_mixed or (language == "English" and _is_foreign(texts)) else "simple"


def _is_foreign(texts: Sequence[str]) -> bool:
    """Return true if most texts are in other languages than English."""
    starts = range(0, len(texts), _TOGETHER)
    languages = [language_of([{"content": text} for text in texts[start : start + _TOGETHER]]) for start in starts]
    forget_languages()
    known = [language for language in languages if language is not None]
    return known.count("en") < len(known) / 2


def _is_due(tables: Tables, is_adding: bool) -> bool:
    """Return true if there are many small files, or many or long texts outside their index.

    Tidying writes up to a million messages again and keeps the old files for a while. So the larger a store is, the
    more commits there must be; and while messages are added, they must have doubled.

    Texts outside the index are found too, but LanceDB scores them by the frequencies of words inside it, so that their
    scores are not quite comparable.
    """
    text = next((index for index in tables.messages.inner.list_indices() if index.index_type == "FTS"), None)
    largest = _WHILE_ADDING if is_adding else _LARGEST_UNINDEXED
    outgrown = text is not None and text.num_unindexed_rows > largest * text.num_indexed_rows
    growth = max(1.0, tables.messages.count_rows() / _SMALL) ** 0.5
    too_long = not is_adding and tables.state.unindexed >= _UNINDEXED_BYTES * growth
    return tables.state.commits >= _COMMITS_UNTIL_TIDY * growth or outgrown or too_long


def tidy_if_due(path: Path, changes: Transaction, is_adding: bool = False) -> None:
    """Tidy a store in which there are many small files; ``is_adding`` says that there will soon be more."""
    with naming_damage(path):
        if _is_due(changes.tables, is_adding):
            tidy(changes, RETENTION)


def tidy(changes: Transaction, retention: timedelta) -> None:
    """Merge small files, update the indexes, and remove versions that nobody reads any more.

    Args:
        changes: The transaction.
        retention: Versions younger than this are kept, for readers that have not noticed the last commit yet.
    """
    tables = changes.tables
    for table in (tables.messages, tables.conversations):
        table.inner.optimize(cleanup_older_than=timedelta(days=36_500))  # the committed version is not the last one yet
    changes.commit(commits=0, unindexed=0)
    indexes = {
        name: _indexed(changes, name, table, column) for name, (table, column) in _vector_columns(tables).items()
    }
    changes.commit(indexes={name: built for name, built in indexes.items() if built})
    remove_others(changes.vectors, {facts.file for built in indexes.values() for facts in built})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "optimize", UserWarning)  # nobody else writes, and readers read again
        for table in (tables.messages, tables.conversations):
            table.inner.optimize(cleanup_older_than=retention, delete_unverified=True)
    changes.commit()
    give_back_memory()


def _vector_columns(tables: Tables) -> dict[str, tuple[LanceTable, str]]:
    """The names of all possible indexes of vectors, with the table and column of each."""
    columns = {"vector": (tables.messages, "vector"), "conversation": (tables.conversations, "vector")}
    return {**columns, "reply": (tables.messages, "reply")} if tables.state.has_replies else columns


def _indexed(changes: Transaction, name: str, table: LanceTable, column: str) -> list[IndexFacts]:
    """The indexes of a column, with a new one of the vectors that are in none if it is worth it.

    The new one takes in the vectors of others that are not at least twice as large. So there are few, and a vector is
    written again only when what it is written with has grown by half.
    """
    left = table.row_ids(table.with_text)
    kept: list[tuple[IndexFacts, np.ndarray]] = []
    for facts in sorted(changes.tables.state.indexes.get(name, []), key=lambda facts: -facts.rows):
        part = VectorPart.open(changes.vectors, facts)
        if part is not None:
            _, others = part.live_among(left)
            if len(left) - len(others) >= _LEAST_LIVE * facts.rows:
                kept.append((facts, np.setdiff1d(left, others, assume_unique=True)))
                left = others
    if len(left) >= SMALLEST_INDEXED:
        while kept and kept[-1][0].rows < 2 * len(left):
            left = np.union1d(left, kept.pop()[1])
        written = write_index(changes.vectors, name, left, partial(table.vector_batches, column))
        kept.append((written, left))
    return [facts for facts, _ in kept]
