"""Next utterance: which place has what was really said next? (triple-encoders, ACL 2024, sections 4.1 and 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from turnwise._utils.progress import progress_bar
from turnwise.encoders.views import Views
from turnwise.evaluation.bm25 import bm25_scorer
from turnwise.evaluation.dialogues.ranking import on_grid
from turnwise.evaluation.turn_order.context_scores import RANK, ContextScores
from turnwise.evaluation.turn_order.depths import (
    LENGTHS,
    Depth,
    after_units,
    context_views,
    find_depths,
    prepare_depths,
)
from turnwise.evaluation.turn_order.places import find_places, recall_among
from turnwise.evaluation.turn_order.sequences import EmbeddedSequences
from turnwise.replies.scores import bi_query, max_scores, triple_query

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Before-embeddings of contexts, before1 and before2, each (contexts, turns, dim) -> one vector each, (contexts, dim).
Query = Callable[[np.ndarray, np.ndarray], np.ndarray]

_RECALLS = (1, 10)
_OTHERS = 99  # wrong utterances beside the true one, for these
_BLOCK = 2_000_000  # scores at a time


def _bi(before: np.ndarray) -> np.ndarray:
    """The mean instead of the sum of the cosines: the same order, and no longer than 1."""
    return np.asarray(bi_query(before) / before.shape[-2])


def _neighbours(before1: np.ndarray, before2: np.ndarray) -> np.ndarray:
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
_SINGLE = ("single", "single-averaged")


@dataclass(frozen=True, eq=False)
class NextUtteranceResult:
    """The rank of every true next utterance among all utterances at its depth, in each mode.

    Args:
        modes: Mode -> its figures; ``compare_results`` takes two of them.
        context_length: (contexts,) turns before the utterance.
        candidates: (contexts,) utterances at its depth, itself included.
        seed: Seed of the bootstrap.
    """

    modes: dict[str, ContextScores]
    context_length: IntArray
    candidates: IntArray
    seed: int

    def summary(self) -> dict[str, object]:
        """For each mode the means over all contexts and over those of each length, ready for JSON."""
        found: dict[str, object] = {}
        for mode, scores in self.modes.items():
            lengths = {}
            for length in np.unique(self.context_length):
                chosen = self.context_length == length
                lengths[str(length)] = {**scores.means(chosen), "candidates": int(self.candidates[chosen][0])}
            found[mode] = {**scores.summary(self.seed), "by_context_length": lengths}
        return found


def served_modes(views: Views | None) -> tuple[str, ...]:
    """The modes an encoder can be evaluated in, but for the components; BM25 needs no encoder."""
    if views is None:
        return (*_BI, *_SINGLE, "bm25")
    return (*_TRIPLE, "max", *_BI, "bm25") if views.triple else (*_BI, "bm25")


def evaluate_next_utterance(
    embedded: EmbeddedSequences,
    seed: int = 0,
    modes: Sequence[str] | None = None,
    lengths: Sequence[int] = LENGTHS,
) -> NextUtteranceResult:
    """Rank the utterances at one depth of all conversations as the next one of each conversation.

    Its context is all that was said before. Figures are expected values over all orders of equal scores. R@1 and R@10
    are among 100 candidates: the mean over all draws of 99 others, not one draw; fewer take part where there are fewer.

    Args:
        embedded: From ``build_sequences`` and an encoder.
        seed: Seed of the bootstrap.
        modes: ``"average"``, ``"last-1"``, ``"last-2"``, ``"last-3"``, ``"last-4"`` (rows of the triangle) and
            ``"max"`` of a triple-encoder; ``"bi"``, the summed cosines; ``"single"`` and ``"single-averaged"`` of a
            plain encoder, its context as one vector, see ``encode_contexts``; ``"bm25"``; those of ``COMPONENTS`` of a
            triple-encoder. By default all that the encoder serves, without the components.
        lengths: Turns of the context; a length that fewer than two conversations exceed is left out.

    Raises:
        ValueError: The encoder does not serve a mode, or a length is out of range.
        ConversationError: No length is left.
    """
    names = tuple(modes) if modes is not None else served_modes(embedded.views)
    _check_modes(names, embedded.views)
    depths = find_depths(embedded.sequences, lengths)
    prepare_depths(embedded, depths, before1=bool({*_TRIPLE, *COMPONENTS, "max"} & set(names)))
    singles = {name: [_single(embedded, depth, name) for depth in depths] for name in _SINGLE if name in names}
    figures: dict[str, list[dict[str, FloatArray]]] = {name: [] for name in names}
    with progress_bar() as bar:
        task = bar.add_task("ranking utterances", total=len(names) * sum(len(depth.contexts) for depth in depths))
        for number, depth in enumerate(depths):
            recalls = {f"r_at_{k}": recall_among(k, depth.items, _OTHERS) for k in _RECALLS}
            tables = {"mrr": 1 / np.arange(1, depth.items + 1), **recalls}
            own = {name: rows[number] for name, rows in singles.items()}
            for name, block, true in _scored_blocks(embedded, depth, names, own):
                places = find_places(block, true, depth.counts)
                expected = {figure: places.expected(table) for figure, table in tables.items()}
                figures[name].append({RANK: places.rank(), **expected})
                bar.advance(task, len(true))
    contexts = [depth.contexts for depth in depths]
    scores = {}
    for name, some in figures.items():
        values = {key: np.concatenate([one[key] for one in some]) for key in some[0]}
        scores[name] = ContextScores.of(embedded.sequences, contexts, values)
    return NextUtteranceResult(
        modes=scores,
        context_length=np.concatenate([np.full(len(depth.contexts), depth.turn) for depth in depths]),
        candidates=np.concatenate([np.full(len(depth.contexts), depth.items) for depth in depths]),
        seed=seed,
    )


def evaluate_components(embedded: EmbeddedSequences, seed: int = 0) -> NextUtteranceResult:
    """The same with parts of a triple-encoder only (appendix D): the modes are ``COMPONENTS``.

    Raises:
        ValueError: The encoder is no triple-encoder.
    """
    if not embedded.triple:
        raise ValueError("component-analysis takes a triple-encoder apart: the model must be trained with c3l")
    return evaluate_next_utterance(embedded, seed, tuple(COMPONENTS))


def _check_modes(names: Sequence[str], views: Views | None) -> None:
    served = served_modes(views) + (tuple(COMPONENTS) if views is not None and views.triple else ())
    if not names or not set(names) <= set(served):
        raise ValueError(f"modes must be among {', '.join(served)} for this encoder, got {', '.join(names) or 'none'}")


def _single(embedded: EmbeddedSequences, depth: Depth, name: str) -> NDArray[np.float32]:
    """Every context as one vector, of length 1: (contexts, dim)."""
    turns = embedded.sequences.text[depth.contexts, : depth.turn]
    if name == "single":
        return embedded.joined(turns)
    # What encode_contexts calls "averaged", of joined contexts that mode "single" and the depth before need as well.
    both = embedded.joined(turns[:, :-1]) + embedded.joined(turns[:, -1:])
    return np.asarray(both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-12))


def _scored_blocks(
    embedded: EmbeddedSequences, depth: Depth, names: Sequence[str], singles: dict[str, NDArray[np.float32]]
) -> Iterator[tuple[str, NDArray[np.floating], IntArray]]:
    """For some contexts after the other and each mode: its name, the scores (block, candidates), the true (block,)."""
    after = after_units(embedded, depth.candidates)
    grid = on_grid(after).T  # inner products on the grid are exact: equal embeddings tie
    if "max" in names:
        distinct, place = np.unique(after.astype(np.float32), axis=0, return_inverse=True)  # the same for MaxSim
    texts = embedded.sequences.texts
    bm25 = bm25_scorer([texts[index] for index in depth.candidates]) if "bm25" in names else None
    step = max(1, _BLOCK // max(len(depth.candidates), depth.turn * after.shape[1]))
    for start in range(0, len(depth.contexts), step):
        some = slice(start, start + step)
        conversations = depth.contexts[some]
        before = context_views(embedded, conversations, depth.turn)
        for name in names:
            scores: NDArray[np.floating]
            if name in _QUERIES:
                scores = on_grid(_QUERIES[name](*before)) @ grid
            elif name in singles:
                scores = on_grid(singles[name][some]) @ grid
            elif name == "max":
                scores = np.stack([max_scores(*one, distinct) for one in zip(*before)])[:, place]
            elif bm25 is not None:
                spoken = embedded.sequences.text[conversations, : depth.turn]
                scores = np.stack([bm25(" ".join(texts[index] for index in turns)) for turns in spoken])
            yield name, scores, depth.true[some]
