"""Rows that wait in a temporary file until all of their conversation are read, so that memory stays small."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any

# In the order of their first rows.
_GROUPS = """
with groups as (select conversation, min(number) as first from rows group by conversation having {})
select conversation, number, row from groups join rows using (conversation) order by first, number, rows.rowid
"""


@contextmanager
def waiting_rows() -> Iterator[sqlite3.Connection]:
    """A database with the empty table ``rows`` of conversation, number and row."""
    with closing(sqlite3.connect("")) as database:  # "" is a temporary file that SQLite removes
        database.execute("create table rows (conversation text, number integer, row)")
        yield database


def groups_of(database: sqlite3.Connection, those: str = "true") -> Iterator[tuple[str, list[tuple[int, Any]]]]:
    """Each conversation with its rows and their numbers; only ``those`` that fulfil a condition of SQL on the group."""
    database.execute("create index if not exists by_conversation on rows (conversation)")
    for conversation, rows in groupby(database.execute(_GROUPS.format(those)), itemgetter(0)):
        yield conversation, [(number, row) for _, number, row in rows]
