"""Semantic relatedness: are conversations of one label more alike than others? (dial2vec, EMNLP 2022, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray, bootstrap_interval
from turnlens.evaluation.conversation_labels import EmbeddedConversations, LabelledConversations, build_conversations
from turnlens.evaluation.scoring import percent
from turnlens.evaluation.task import CONVERSATION, Task
from turnlens.papers.citations import DIAL2VEC


@dataclass(frozen=True, eq=False)
class RelatednessResult:
    """Mean Spearman's correlation in percent with a 95 % bootstrap interval over queries, and that of every query.

    Args:
        spearman_best: The highest value that these labels allow if no cosines of a query are equal, in percent.
        queries: (queries,) id of each query.
        per_query: (queries,) Spearman's correlation in [-1, 1].
    """

    conversations: LabelledConversations
    spearman: float
    spearman_interval: tuple[float, float]
    spearman_best: float
    queries: tuple[str, ...]
    per_query: FloatArray

    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        return {
            "spearman": self.spearman,
            "spearman_interval": list(self.spearman_interval),
            "spearman_best": self.spearman_best,
            "queries": len(self.queries),
            "dropped": self.conversations.dropped,
            **self.conversations.counts(),
        }


def best_spearman_binary(relevant: IntArray, items: int) -> FloatArray:
    """The highest Spearman's correlation with a 0/1 variable that is possible without ties in the scores: (rows,).

    All relevant items come first; the correlation stays below 1 since the variable ties most of them:
    sqrt(3 K (N - K) / (N² - 1)).

    Args:
        relevant: (rows,) K, the relevant items of each row.
        items: N, the items of each row, 2 or more.

    >>> best_spearman_binary(np.array([1]), 2)  # two items can be in perfect order
    array([1.])
    """
    return np.asarray(np.sqrt(3.0 * relevant * (items - relevant) / (float(items) ** 2 - 1)))


def evaluate_relatedness(embedded: EmbeddedConversations, seed: int = 0) -> RelatednessResult:
    """Correlate each query's cosines to all other conversations with "same label" (1) or not (0), and average.

    The paper pairs every conversation with random ones; here nothing is sampled, all pairs count.

    Args:
        embedded: From ``embed_labelled``.
        seed: Seed of the bootstrap.

    Examples:
        >>> rows = [{"messages": [{"role": "user", "content": text}], "domain": text} for text in "aabb"]
        >>> from turnlens.evaluation import embed_labelled, labelled_conversations
        >>> def encode(talks):  # (conversations, dim)
        ...     return [[talk[0]["content"] == "a", 1.0] for talk in talks]
        >>> embedded = embed_labelled(encode, labelled_conversations(rows))
        >>> from turnlens.papers import evaluate_relatedness
        >>> evaluate_relatedness(embedded).spearman  # in percent
        100.0
    """
    conversations = embedded.conversations
    values = embedded.ranking["spearman"]
    low, high = bootstrap_interval(values, seed)
    relevant = np.bincount(conversations.codes)[conversations.codes[conversations.queries]] - 1  # (queries,)
    best = best_spearman_binary(relevant, len(conversations.codes) - 1)
    return RelatednessResult(
        conversations=conversations,
        spearman=percent(float(values.mean())),
        spearman_interval=(percent(low), percent(high)),
        spearman_best=percent(float(best.mean())),
        queries=conversations.query_ids,
        per_query=values,
    )


SEMANTIC_RELATEDNESS = Task(
    name="semantic-relatedness",
    level=CONVERSATION,
    metric="spearman",
    description="Is the cosine of two conversations higher when they share their label?",
    citation=DIAL2VEC,
    measure=evaluate_relatedness,
    build=build_conversations,
)
