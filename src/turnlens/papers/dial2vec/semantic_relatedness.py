"""Semantic relatedness: are conversations of one label more alike than others? (dial2vec, EMNLP 2022, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.conversation_labels import EmbeddedConversations
from turnlens.evaluation.scoring import percent
from turnlens.evaluation.task import conversation_task
from turnlens.papers.citations import DIAL2VEC
from turnlens.papers.retrieval import RankedConversations


@dataclass(frozen=True, eq=False)
class RelatednessResult(RankedConversations):
    """Mean Spearman's correlation in percent with a 95 % bootstrap interval over queries, and that of every query.

    Args:
        spearman_best: The highest value that these labels allow if no cosines of a query are equal, in percent.
    """

    spearman_best: float

    @property
    def spearman(self) -> float:
        """Mean Spearman's correlation, in percent."""
        return self._figures["spearman"][0]

    @property
    def spearman_interval(self) -> tuple[float, float]:
        """The interval of ``spearman``."""
        return self._figures["spearman"][1]

    @override
    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        mean, interval, *others = super().summary().items()
        return dict([mean, interval, ("spearman_best", self.spearman_best), *others])


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
    relevant = np.bincount(conversations.codes)[conversations.codes[conversations.queries]] - 1  # (queries,)
    best = percent(float(best_spearman_binary(relevant, len(conversations.codes) - 1).mean()))
    values = {"spearman": embedded.ranking["spearman"]}
    return RelatednessResult.of(conversations, values, seed, spearman_best=best)


SEMANTIC_RELATEDNESS = conversation_task(
    name="semantic-relatedness",
    metric="spearman",
    description="Is the cosine of two conversations higher when they share their label?",
    citation=DIAL2VEC,
    measure=evaluate_relatedness,
)
