"""BM25 candidates with a defined order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from turnlens._compat import import_bm25s
from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.data.languages import tokenize


def bm25_candidates(texts: Sequence[str], queries: Sequence[int], count: int) -> Iterator[IntArray]:
    """For each query, the other texts that BM25 ranks highest (Lucene's variant, k1 1.5, b 0.75, no stop words).

    Only texts that share a token with the query are candidates: there may be fewer than ``count``, even none.
    Equal scores are taken in the order of ``texts``.

    Args:
        texts: The collection.
        queries: Indices of the texts that are queries.
        count: At most this many candidates per query.

    Yields:
        (candidates,) indices of texts, best first, never the query itself.
    """
    score = bm25_scorer(texts)
    with progress_bar() as bar:
        for query in bar.track(queries, description="BM25 candidates"):
            scores = score(texts[query])
            scores[query] = 0.0
            yield _best(scores, count)


def bm25_scorer(texts: Sequence[str]) -> Callable[[str], FloatArray]:
    """A function that scores all texts for a query: (texts,), 0 where no token is shared.

    Args:
        texts: The collection.
    """
    tokens = [tokenize(text) for text in texts]
    if not any(tokens):  # bm25s cannot index a collection in which all texts are empty
        return lambda query: np.zeros(len(texts), dtype=np.float32)
    bm25s = import_bm25s()
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # when imported, it asks for every line of debugging
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(tokens, show_progress=False)

    def score(query: str) -> FloatArray:
        tokens = tokenize(query)
        return index.get_scores(tokens) if tokens else np.zeros(len(texts), dtype=np.float32)

    return score


def _best(scores: FloatArray, count: int) -> IntArray:
    """Indices of the highest positive scores, best first, ties by index.

    This does not use bm25s' own top-k: its partial sort breaks ties differently on different processors.
    """
    indices = np.flatnonzero(scores > 0)
    if len(indices) > count:
        threshold = np.partition(scores[indices], -count)[-count]
        indices = indices[scores[indices] >= threshold]
    return indices[np.argsort(-scores[indices], kind="stable")][:count]
