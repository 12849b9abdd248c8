"""Domain categorization: do clusters of conversations agree with their labels? (dial2vec, EMNLP 2022, section 4.1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray
from turnlens.evaluation.clustering_metrics import contingency
from turnlens.evaluation.conversation_labels import EmbeddedConversations, LabelledConversations
from turnlens.evaluation.scoring import percent
from turnlens.evaluation.task import conversation_task
from turnlens.papers.citations import DIAL2VEC

RUNS = 10  # as in the paper


def purity(clusters: ArrayLike, labels: ArrayLike) -> float:
    """Share of items that carry the commonest label of their cluster, in (0, 1].

    Every distinct cluster value is a cluster, a noise cluster such as -1 included.

    Args:
        clusters: (items,) cluster of each item, numbers or strings.
        labels: (items,) true label of each item, numbers or strings.

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> purity([0, 0, 0, 1], ["taxi", "taxi", "hotel", "hotel"])
    0.75
    """
    table = contingency(clusters, labels)
    return float(table.max(axis=1).sum() / table.sum())


def assignment_accuracy(clusters: ArrayLike, labels: ArrayLike) -> float:
    """Share of items whose cluster stands for their label, under the best one-to-one assignment, in (0, 1].

    Args:
        clusters: (items,) cluster of each item, numbers or strings.
        labels: (items,) true label of each item, numbers or strings.

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> assignment_accuracy([0, 0, 1, 2], ["taxi", "taxi", "taxi", "hotel"])  # cluster 1 stands for nothing
    0.75
    """
    table = contingency(clusters, labels)
    chosen = linear_sum_assignment(table, maximize=True)
    return float(table[chosen].sum() / table.sum())


# The agreement of clusters and labels by the names of the figures.
_METRICS: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "purity": purity,
    "nmi": lambda clusters, labels: normalized_mutual_info_score(labels, clusters),
    "ari": lambda clusters, labels: adjusted_rand_score(labels, clusters),
    "accuracy": assignment_accuracy,
}


@dataclass(frozen=True, eq=False)
class CategorizationResult:
    """Agreement of clusters and labels in every run; the figures are means and standard deviations over runs.

    Args:
        purity: (runs,) in (0, 1].
        nmi: (runs,) normalised mutual information, arithmetic mean of the entropies, in [0, 1].
        ari: (runs,) adjusted Rand index, at most 1, 0 by chance.
        accuracy: (runs,) share of conversations in the cluster assigned to their label, best one-to-one assignment.
        clusters: (runs, conversations) the cluster of each conversation.
    """

    conversations: LabelledConversations
    purity: FloatArray
    nmi: FloatArray
    ari: FloatArray
    accuracy: FloatArray
    clusters: NDArray[np.int32]

    @classmethod
    def of(cls, conversations: LabelledConversations, clusters: NDArray[np.int32]) -> CategorizationResult:
        """Compare clusters, however found, with the labels: (runs, conversations)."""
        values = {
            name: np.array([metric(clustering, conversations.codes) for clustering in clusters])
            for name, metric in _METRICS.items()
        }
        return cls(conversations, **values, clusters=clusters)

    def summary(self) -> dict[str, object]:
        """The figures in percent, ready for JSON."""
        figures: dict[str, object] = {}
        for name in _METRICS:
            values = getattr(self, name)
            figures[name] = percent(float(values.mean()))
            figures[f"{name}_std"] = percent(float(values.std(ddof=1))) if len(values) > 1 else 0.0
        return {**figures, "runs": len(self.purity), **self.conversations.counts()}


def evaluate_categorization(
    embedded: EmbeddedConversations, seed: int = 0, runs: int = RUNS, n_init: int = 1, scaled: bool = True
) -> CategorizationResult:
    """Cluster the embeddings into as many clusters as there are labels, by k-means++.

    Args:
        embedded: From ``embed_labelled``.
        seed: The runs' seeds are derived from it.
        runs: Number of independent runs.
        n_init: Initialisations of a run, of which the one with the densest clusters counts.
        scaled: Scale the embeddings to length 1 before clustering, because the other tasks compare by cosine.

    Examples:
        >>> rows = [{"messages": [{"role": "user", "content": text}], "domain": text} for text in "aabb"]
        >>> from turnlens.evaluation import embed_labelled, labelled_conversations
        >>> def encode(talks):  # (conversations, dim)
        ...     return [[talk[0]["content"] == "a", 1.0] for talk in talks]
        >>> embedded = embed_labelled(encode, labelled_conversations(rows))
        >>> from turnlens.papers import evaluate_categorization
        >>> evaluate_categorization(embedded, runs=2).summary()["purity"]  # in percent
        100.0
    """
    for name, number in (("runs", runs), ("n_init", n_init)):
        if number < 1:
            raise ValueError(f"{name} must be 1 or more, got {number}")
    conversations = embedded.conversations
    clusters = np.zeros((runs, len(conversations.codes)), dtype=np.int32)
    vectors = embedded.units if scaled else embedded.units * embedded.lengths[:, None]
    seeds = np.random.SeedSequence(seed).generate_state(runs)
    # One thread: several would add up in whatever order they finish, so that the seed would not determine the figures.
    with progress_bar() as bar, warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # fewer distinct embeddings than labels: the figures show it
        for run in bar.track(range(runs), description="clustering conversations"):
            model = KMeans(len(conversations.labels), init="k-means++", n_init=n_init, random_state=int(seeds[run]))
            clusters[run] = model.fit_predict(vectors)
    return CategorizationResult.of(conversations, clusters)


DOMAIN_CATEGORIZATION = conversation_task(
    name="domain-categorization",
    metric="purity",
    description="Do clusters of whole conversations agree with their labels?",
    citation=DIAL2VEC,
    measure=evaluate_categorization,
)


def evaluate_published_categorization(embedded: EmbeddedConversations, seed: int = 0) -> CategorizationResult:
    """Cluster as dial2vec's released code does: unscaled embeddings, and the best of ten initialisations per run."""
    return evaluate_categorization(embedded, seed, n_init=10, scaled=False)


PUBLISHED_CATEGORIZATION = conversation_task(
    name="domain-categorization-published",
    metric="purity",
    description="The same with k-means as in dial2vec's code: embeddings not scaled, the best of ten starts.",
    citation=DIAL2VEC,
    measure=evaluate_published_categorization,
)
