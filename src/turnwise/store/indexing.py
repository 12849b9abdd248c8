"""Indexes and maintenance of a store: texts are indexed from the start, vectors only once an index saves time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from turnwise._utils.memory import give_back_memory
from turnwise._utils.optional import require
from turnwise.store.lance_table import LanceTable, Tables
from turnwise.store.records import vectors_of
from turnwise.store.searching import SMALLEST_INDEXED, indexed_columns
from turnwise.store.state import IndexFacts, IndexKind

if TYPE_CHECKING:
    from turnwise.store.tables import Transaction

_COMMITS_UNTIL_TIDY = 64
_LARGEST_UNINDEXED = 0.25  # texts outside the index, as a share of the texts in it
RETENTION = timedelta(minutes=10)  # longer than any reader needs to notice a commit
_NEVER = timedelta(days=36_500)
_GROWTH = 2  # an index is built again when the number of vectors has grown by this factor
_SAMPLE = 100  # queries that measure recall
_ROUNDING = 1e-6
_RECALL = 0.98
# Probes, and candidates per hit whose full vectors are compared: tried in turn until recall is high enough.
_SETTINGS: dict[IndexKind, list[tuple[int, int]]] = {
    "flat": [(8, 0), (16, 0), (32, 0), (64, 0), (128, 0), (256, 0)],
    "compressed": [(8, 10), (16, 10), (32, 20), (64, 40), (128, 80)],
}
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHARE_OF_CJK = 0.2  # of all characters


def add_text_index(tables: Tables, tokenizer: str, language: str, texts: Sequence[str]) -> str:
    """Build the full-text index with the first messages; later messages are found whether they are indexed or not.

    Args:
        tables: The tables, with messages.
        tokenizer: ``"simple"`` (words), ``"ngram"`` (pairs of characters) or another of LanceDB's. If it is empty, one
            that fits the texts is chosen.
        language: The language of the stems and stop words of ``"simple"``.
        texts: The texts by which the tokenizer is chosen.

    Returns:
        The name of the tokenizer.
    """
    tokenizer = tokenizer or _fitting_tokenizer(texts)
    fts = require("lancedb.index", "store").FTS
    if tokenizer == "ngram":
        config = fts(
            base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False, remove_stop_words=False
        )
    else:
        config = fts(base_tokenizer=tokenizer, language=language)
    tables.messages.inner.create_index("text", config=config)
    return tokenizer


def has_text_index(tables: Tables) -> bool:
    """Whether texts can be searched."""
    return any(index.index_type == "FTS" for index in tables.messages.inner.list_indices())


def tidy_is_due(tables: Tables) -> bool:
    """Whether there are many small files, or many texts outside their index.

    Texts outside the index are found too, but LanceDB scores them by the frequencies of words inside it, so that their
    scores are not quite comparable.
    """
    text = next((index for index in tables.messages.inner.list_indices() if index.index_type == "FTS"), None)
    outgrown = text is not None and text.num_unindexed_rows > _LARGEST_UNINDEXED * text.num_indexed_rows
    return tables.state.commits >= _COMMITS_UNTIL_TIDY or outgrown


def tidy(changes: Transaction, retention: timedelta, kind: IndexKind | None = None) -> None:
    """Merge small files, update the indexes, and remove versions that nobody reads any more.

    Args:
        changes: The transaction.
        retention: Versions younger than this are kept, for readers that have not noticed the last commit yet.
        kind: Build the vector indexes again, of this kind; by default only those that are due, and of their old kind.
    """
    tables = changes.tables
    for table in (tables.messages, tables.conversations):
        table.inner.optimize(cleanup_older_than=_NEVER)  # the committed version is not the last one yet
    changes.commit(commits=0)
    for name, (table, column) in indexed_columns(tables).items():
        build_index(changes, name, table, column, kind)
    for table in (tables.messages, tables.conversations):
        table.inner.optimize(cleanup_older_than=retention, delete_unverified=True)  # under the lock: nobody else writes
    changes.commit()
    give_back_memory()


def build_index(changes: Transaction, name: str, table: LanceTable, column: str, kind: IndexKind | None) -> None:
    """Build a vector index if it is worth it and either a kind is given, there is none, or vectors have doubled."""
    indexes, rows = changes.tables.state.indexes, table.count_rows()
    facts = indexes.get(name)
    if rows < (SMALLEST_INDEXED if facts is None or kind is not None else _GROWTH * facts.rows):
        return
    kind = kind or (facts.kind if facts is not None else "flat")
    types = require("lancedb.index", "store")
    table.inner.create_index(column, config=(types.IvfFlat if kind == "flat" else types.IvfRq)(distance_type="dot"))
    changes.commit(indexes={**indexes, name: _measured(table, column, rows, kind)})


def _measured(table: LanceTable, column: str, rows: int, kind: IndexKind) -> IndexFacts:
    """The index with the smallest search effort that still finds nearly everything that an exact scan finds."""
    places = np.sort(np.random.default_rng(0).choice(rows, min(_SAMPLE, rows), replace=False))
    queries = vectors_of(table.inner.take_offsets(places.tolist()).select([column]).to_arrow()[column])

    def found(query: np.ndarray, index: IndexFacts | None) -> list[float]:
        return table.nearest(column, query, None, 10, [], index)["score"].to_pylist()

    # Scores are compared instead of rows, because either of two messages with the same text is correct.
    worst = [min(found(query, None)) - _ROUNDING for query in queries]
    for probes, refined in _SETTINGS[kind]:
        facts = IndexFacts(kind, rows, probes, refined, recall=0.0)
        shares = [np.mean([score >= last for score in found(query, facts)]) for query, last in zip(queries, worst)]
        facts = replace(facts, recall=round(float(np.mean(shares)), 4))
        if facts.recall >= _RECALL:
            break
    return facts


def _fitting_tokenizer(texts: Sequence[str]) -> str:
    """The tokenizer that fits texts: pairs of characters for scripts without spaces, else words."""
    characters = sum(map(len, texts)) or 1
    return "ngram" if sum(len(_CJK.findall(text)) for text in texts) / characters > _SHARE_OF_CJK else "simple"
