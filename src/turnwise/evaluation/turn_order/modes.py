"""The modes of next utterance: ways of scoring the utterances at one depth as the next ones of contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import torch

from turnwise._utils.vectors import FloatArray, IntArray, unit_vectors
from turnwise.encoders.reply_head import ReplyHead, map_candidates
from turnwise.evaluation.bm25 import bm25_scorer
from turnwise.evaluation.dialogues.ranking import on_grid
from turnwise.evaluation.turn_order.depths import Depth, after_units, context_turns, context_views
from turnwise.evaluation.turn_order.sequences import EmbeddedSequences
from turnwise.replies.scores import bi_query, max_scores, triple_query

# Before-embeddings of contexts, before1 and before2, each (contexts, turns, dim) -> one vector each, (contexts, dim).
Query = Callable[[FloatArray, FloatArray], FloatArray]
# Some contexts of a depth -> the scores of the depth's candidates, (contexts, candidates).
Scorer = Callable[[slice], FloatArray]

_BLOCK = 2_000_000  # scores at a time


def _bi(before: FloatArray) -> FloatArray:
    """The mean of the cosines instead of their sum, which gives the same order but no vector longer than 1."""
    return np.asarray(bi_query(before) / before.shape[-2])


def _neighbours(before1: FloatArray, before2: FloatArray) -> FloatArray:
    """The mean of the normalised pair means of adjacent utterances: each is the query of a context of two."""
    first, second = (np.stack([rows[:, :-1], rows[:, 1:]], axis=2) for rows in (before1, before2))
    return np.asarray(triple_query(first, second).mean(axis=1))  # of (contexts, turns - 1, dim)


# The modes whose score is one inner product. Where there is one before-view, or none, it stands for both.
_BI: dict[str, Query] = {"bi": lambda before1, before2: _bi(before2)}
_TRIPLE: dict[str, Query] = {
    "average": triple_query,
    **{f"last-{rows}": partial(triple_query, last_rows=rows) for rows in (1, 2, 3, 4)},
}
# Appendix D.
COMPONENTS: dict[str, Query] = {
    "normal": triple_query,
    "normal-and-bi-b2": lambda before1, before2: (triple_query(before1, before2) + _bi(before2)) / 2,
    "neighbours": _neighbours,
    "bi-b1-and-b2": lambda before1, before2: (_bi(before1) + _bi(before2)) / 2,
    "mean-b2": lambda before1, before2: triple_query(before2, before2),
    "bi-b2": lambda before1, before2: _bi(before2),
    "mean-b1": lambda before1, before2: triple_query(before1, before1),
    "bi-b1": lambda before1, before2: _bi(before1),
}
_QUERIES = {**_BI, **_TRIPLE, **COMPONENTS}
SINGLE = ("single", "single-averaged")
NEED_BEFORE1 = frozenset({*_TRIPLE, *COMPONENTS, "max"})


def served_modes(embedded: EmbeddedSequences) -> tuple[str, ...]:
    """The modes an encoder can be evaluated in, except the components; BM25 needs no encoder."""
    composed = ("composed",) if embedded.head is not None else ()
    if embedded.views is None:
        return (*composed, *_BI, *SINGLE, "bm25")
    return (*composed, *_TRIPLE, "max", *_BI, "bm25") if embedded.triple else (*composed, *_BI, "bm25")


def check_modes(names: Sequence[str], embedded: EmbeddedSequences) -> None:
    """Raise ``ValueError`` if an encoder cannot be evaluated in all of these modes, or none is given."""
    served = served_modes(embedded) + (tuple(COMPONENTS) if embedded.triple else ())
    if not names or not set(names) <= set(served):
        raise ValueError(f"modes must be among {', '.join(served)} for this encoder, got {', '.join(names) or 'none'}")


def single_vectors(embedded: EmbeddedSequences, depth: Depth, name: str) -> FloatArray:
    """Every context of a depth as one vector of length 1, in one of the modes ``SINGLE``: (contexts, dim)."""
    turns = embedded.sequences.text[depth.contexts, : depth.turn]
    if name == "single":
        return embedded.joined(turns)
    # What encode_contexts calls "averaged", made of joined contexts that mode "single" and the previous depth use, too.
    return unit_vectors(embedded.joined(turns[:, :-1]) + embedded.joined(turns[:, -1:]))


def scored_blocks(
    embedded: EmbeddedSequences, depth: Depth, names: Sequence[str], singles: Mapping[str, FloatArray]
) -> Iterator[tuple[str, FloatArray, IntArray]]:
    """Score all candidates of a depth as the next utterance of its contexts.

    Args:
        embedded: The conversations.
        depth: The depth.
        names: The modes.
        singles: Those of ``SINGLE`` among them -> from ``single_vectors``.

    Yields:
        Block by block of contexts and for each mode: its name, the scores (block, candidates) and the true candidates
        (block,).
    """
    after = after_units(embedded, depth.candidates)
    grid = on_grid(after).T  # inner products on the grid are exact: equal embeddings tie
    if "max" in names:
        distinct, place = np.unique(after.astype(np.float32), axis=0, return_inverse=True)  # the same for MaxSim
    scorers: dict[str, Scorer] = {}
    if "bm25" in names:
        scorers["bm25"] = _bm25(embedded, depth)
    if "composed" in names and embedded.head is not None:
        scorers["composed"] = _composed(embedded, depth, embedded.head, after)
    step = max(1, _BLOCK // max(len(depth.candidates), depth.turn * after.shape[1]))
    for start in range(0, len(depth.contexts), step):
        some = slice(start, start + step)
        before = context_views(embedded, depth.contexts[some], depth.turn)
        for name in names:
            scores: FloatArray
            if name in _QUERIES:
                scores = on_grid(_QUERIES[name](*before)) @ grid
            elif name in singles:
                scores = on_grid(singles[name][some]) @ grid
            elif name == "max":
                scores = np.stack([max_scores(*one, distinct) for one in zip(*before)])[:, place]
            else:
                scores = scorers[name](some)
            yield name, scores, depth.true[some]


def _bm25(embedded: EmbeddedSequences, depth: Depth) -> Scorer:
    texts = embedded.sequences.texts
    score = bm25_scorer([texts[index] for index in depth.candidates])

    def scores(some: slice) -> FloatArray:
        spoken = embedded.sequences.text[depth.contexts[some], : depth.turn]
        return np.stack([score(" ".join(texts[index] for index in turns)) for turns in spoken])

    return scores


def _composed(embedded: EmbeddedSequences, depth: Depth, head: ReplyHead, after: FloatArray) -> Scorer:
    """The reply head's queries against its candidates, from vectors that other modes use as well."""
    grid = on_grid(map_candidates(head, after)).T

    def scores(some: slice) -> FloatArray:
        text, same = context_turns(embedded.sequences, depth.contexts[some], depth.turn)
        latest = slice(None, -1 - head.turns, -1)
        vectors = torch.from_numpy(unit_vectors(embedded.rows("before", text)[:, latest]).astype(np.float32))
        relation = torch.from_numpy(same[:, latest].copy())
        with torch.inference_mode():
            queries = head.queries(vectors, relation, torch.ones_like(relation))
        return on_grid(queries.numpy()) @ grid

    return scores
