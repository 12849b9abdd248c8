"""Semantic retrieval: do messages of the same intent lie closest?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.data.messages import Conversations, labels_of_texts
from turnlens.errors import ConversationError
from turnlens.evaluation.bm25 import bm25_candidates
from turnlens.evaluation.ranking_metrics import retrieval_metrics
from turnlens.evaluation.results import RankingResult
from turnlens.evaluation.scoring import (
    Encode,
    cosines,
    sample_queries,
    unit_embeddings,
    warn_of_alike,
    warn_of_left_out,
)
from turnlens.evaluation.task import MESSAGE, Task


@dataclass(frozen=True, eq=False)
class RetrievalTask:
    """Queries with the candidates to be ranked for each.

    Args:
        texts: All texts; everything else refers to them by index.
        queries: (queries,) the text of each query.
        positives: For each query the candidates of its intent, at least one.
        negatives: For each query the candidates of other intents, at least one.
        dropped: Number of texts left out: those with several labels, and queries without a positive or without a
            negative candidate.
    """

    texts: tuple[str, ...]
    queries: tuple[int, ...]
    positives: tuple[IntArray, ...]
    negatives: tuple[IntArray, ...]
    dropped: int = 0


class RetrievalResult(RankingResult):
    """Queries are texts; those with several labels, without a positive or without a negative candidate are dropped."""


def build_retrieval_task(
    conversations: Conversations,
    label: str = "intent",
    candidates: int = 100,
    max_positives: int = 30,
    max_queries: int | None = None,
    seed: int = 0,
) -> RetrievalTask:
    """Build the task from conversations whose messages carry an intent, as in the paper but without annotators.

    The texts are the distinct labelled messages; those seen with several labels are left out. Each query's candidates
    are the texts BM25 ranks highest for it (itself excluded); those of its label are the positives. Of more than
    ``max_positives`` a random sample is kept, since the highest-ranked would be the ones easiest to find by shared
    words, and the rest is left out of the ranking.

    Args:
        conversations: A ``datasets.Dataset`` (or any rows) of ``messages``, each ``{"role", "content", <label>}``.
        label: Name of the message field with the intent.
        candidates: Texts BM25 retrieves for each query.
        max_positives: At most this many positives per query.
        max_queries: Use a random sample of this many texts as queries; by default all.
        seed: Seed of both samples. A query's candidates do not depend on which other queries are used.

    Raises:
        ConversationError: The label is missing everywhere, there are too few messages or labels to build a task, or
            no query has both a positive and a negative.
    """
    if candidates < 1 or max_positives < 1:
        raise ValueError(f"candidates and max_positives must be 1 or more, got {candidates} and {max_positives}")
    labelled = labels_of_texts(conversations, label)
    label_of = {text: value for text, value in labelled.items() if value is not None}
    texts, labels = list(label_of), np.array(list(label_of.values()))
    if len(texts) < 3 or len(set(label_of.values())) < 2:
        problem = (
            f"at least 3 distinct messages and 2 different labels {label!r} are needed, "
            f"got {len(texts)} and {len(set(label_of.values()))} (texts with several labels are left out)"
        )
        raise ConversationError("conversations", problem)
    warn_of_alike(frozenset(label_of.values()))
    ambiguous = len(labelled) - len(texts)
    warn_of_left_out(ambiguous, len(labelled), "texts with several labels")
    queries = sample_queries(len(texts), max_queries, seed)
    chosen = {
        query: _split(ranked, labels[ranked] == labels[query], max_positives, [seed, query])
        for query, ranked in zip(queries, bm25_candidates(texts, queries, candidates))
    }
    return retrieval_task("conversations", texts, chosen, ambiguous)


def evaluate_retrieval(encode: Encode, task: RetrievalTask, seed: int = 0) -> RetrievalResult:
    """Rank each query's candidates by cosine.

    Args:
        encode: Embeds a list of texts, (texts,) -> (texts, dim); called once, with the distinct texts of the task.
        task: From ``read_retrieval_task`` or ``build_retrieval_task``.
        seed: Seed of the bootstrap.
    """
    used = np.unique(np.concatenate([task.queries, *task.positives, *task.negatives]).astype(np.int64))
    row_of = np.full(len(task.texts), -1)
    row_of[used] = np.arange(len(used))
    units = unit_embeddings(encode, [task.texts[index] for index in used])
    return rank_candidates(task, lambda query, rows: cosines(units[row_of[rows]], units[row_of[query]]), seed)


# The scores of the candidates of a query, (candidates,), from the text of the query and their texts.
Score = Callable[[int, IntArray], FloatArray]


def rank_candidates(task: RetrievalTask, score: Score, seed: int = 0) -> RetrievalResult:
    """Rank each query's candidates by a score; arguments are those of ``evaluate_retrieval``."""
    rankings = []
    for query, positives, negatives in zip(task.queries, task.positives, task.negatives):
        scores = score(query, np.concatenate([positives, negatives]))
        rankings.append((scores, np.arange(len(scores)) < len(positives)))
    queries = tuple(task.texts[query] for query in task.queries)
    return RetrievalResult(queries, retrieval_metrics(rankings), task.dropped, seed)


def _split(candidates: IntArray, same: BoolArray, max_positives: int, seed: list[int]) -> tuple[IntArray, IntArray]:
    """The positives of a query, a random sample if there are too many, and its negatives.

    Args:
        candidates: (candidates,) indices of texts.
        same: (candidates,) whether the text has the query's label.
        max_positives: Keep at most this many positives.
        seed: Seed of the sample.
    """
    positives, negatives = candidates[same], candidates[~same]
    if len(positives) > max_positives:
        positives = np.sort(np.random.default_rng(seed).choice(positives, max_positives, replace=False))
    return positives, negatives


def retrieval_task(
    where: str, texts: list[str], candidates: dict[int, tuple[IntArray, IntArray]], ambiguous: int = 0
) -> RetrievalTask:
    """Keep the queries that have both kinds of candidates; ``ambiguous`` texts are dropped already."""
    kept = {query: pair for query, pair in candidates.items() if all(len(indices) for indices in pair)}
    if not kept:
        raise ConversationError(
            where, f"none of {len(candidates)} queries has both a positive and a negative candidate"
        )
    left_out = len(candidates) - len(kept)
    warn_of_left_out(left_out, len(candidates), "queries without a positive or without a negative candidate")
    return RetrievalTask(
        texts=tuple(texts),
        queries=tuple(kept),
        positives=tuple(positives for positives, _ in kept.values()),
        negatives=tuple(negatives for _, negatives in kept.values()),
        dropped=ambiguous + left_out,
    )


SEMANTIC_RETRIEVAL = Task(
    name="semantic-retrieval",
    level=MESSAGE,
    metric="map",
    description="Rank 100 BM25 candidates of a message: do those of the same intent come first?",
    citation="https://aclanthology.org/2021.emnlp-main.185",
    measure=evaluate_retrieval,
    build=lambda rows, settings: build_retrieval_task(
        rows, settings.label, max_queries=settings.max_queries, seed=settings.seed
    ),
)
