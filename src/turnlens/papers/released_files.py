"""Files in which the authors of papers published the data of tasks, such as ``select.txt``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from turnlens._utils.vectors import IntArray
from turnlens.errors import ConversationError
from turnlens.evaluation.scoring import sample_queries
from turnlens.evaluation.semantic_retrieval import RetrievalTask, retrieval_task
from turnlens.evaluation.task import LoadSettings


def tab_separated_lines(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield ``path:line`` and the fields of each line, checked for encoding and number of columns.

    Lines end at a newline only (texts may hold other Unicode line separators); blank lines at the end are ignored.

    Raises:
        ConversationError: The file is empty, not UTF-8, or a line has too few or too many columns.
    """
    lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\n")
    if lines == [b""]:
        raise ConversationError(str(path), "the file is empty")
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        try:
            fields = line.decode("utf-8").rstrip("\r").split("\t")
        except UnicodeDecodeError as error:
            raise ConversationError(where, f"not UTF-8 ({error.reason} at byte {error.start} of the line)") from error
        if len(fields) != len(columns):
            expected = f"{len(columns)} tab-separated columns ({', '.join(columns)})"
            raise ConversationError(where, f"expected {expected}, got {len(fields)}")
        yield where, fields


def read_retrieval_task(path: str | os.PathLike[str], max_queries: int | None = None, seed: int = 0) -> RetrievalTask:
    """Read the released form, ``select.txt``: index, text, intent, positives, negatives, tab-separated.

    The index is the line's number from 0, the intent may be empty, positives and negatives are comma-separated
    indices. Queries without a positive or without a negative say nothing about a system; they are left out and counted.

    Args:
        path: The file.
        max_queries: Use a random sample of this many queries; by default all.
        seed: Seed of that sample.

    Raises:
        ConversationError: A line breaks the format, or no query can be used.
    """
    columns = ("index", "text", "intent", "positives", "negatives")
    lines = list(tab_separated_lines(path, columns))
    texts: list[str] = []
    candidates: list[tuple[IntArray, IntArray]] = []
    for query, (where, (index, text, _, positive, negative)) in enumerate(lines):
        if index != str(query):
            raise ConversationError(where, f"expected index {query}, the line's number from 0, got {index!r}")
        if not text.strip():
            raise ConversationError(where, "the text is empty")
        positives = _parse_indices(positive, query, len(lines), where, "positives")
        negatives = _parse_indices(negative, query, len(lines), where, "negatives")
        if both := sorted(set(positives.tolist()) & set(negatives.tolist())):
            raise ConversationError(where, f"index {both[0]} is both a positive and a negative")
        texts.append(text)
        candidates.append((positives, negatives))
    queries = sample_queries(len(texts), max_queries, seed)
    return retrieval_task(str(path), texts, {query: candidates[query] for query in queries})


def _parse_indices(field: str, query: int, count: int, where: str, column: str) -> IntArray:
    """The indices of a comma-separated field, which may be empty."""
    indices = []
    for part in filter(None, field.split(",")):
        is_index = part.isascii() and part.isdigit() and len(part) < 19 and int(part) < count
        if not is_index:
            raise ConversationError(where, f"{column}: expected line indices from 0 to {count - 1}, got {part[:40]!r}")
        indices.append(int(part))
    if query in indices:
        raise ConversationError(where, f"{column}: the query is its own candidate")
    if len(set(indices)) < len(indices):
        raise ConversationError(where, f"{column}: an index is listed twice")
    return np.array(indices, dtype=np.int64)


def read_select_file(path: Path, settings: LoadSettings) -> RetrievalTask:
    """`read_retrieval_task` with the settings of a task."""
    return read_retrieval_task(path, settings.max_queries, settings.seed)
