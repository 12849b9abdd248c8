"""Semantic relatedness: are dialogues of one label more alike than others? (dial2vec, EMNLP 2022, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnwise._utils.citations import DIAL2VEC
from turnwise._utils.vectors import FloatArray
from turnwise.evaluation.dialogues.labelled import EmbeddedDialogues, LabelledDialogues, build_dialogues
from turnwise.evaluation.levels import DIALOGUE
from turnwise.evaluation.metrics.bootstrap import bootstrap_interval
from turnwise.evaluation.metrics.ranking_rows import best_spearman_binary
from turnwise.evaluation.scoring import percent
from turnwise.evaluation.task import Task


@dataclass(frozen=True, eq=False)
class RelatednessResult:
    """Mean Spearman's correlation in percent with a 95 % bootstrap interval over queries, and that of every query.

    Args:
        spearman_best: The highest value that these labels allow if no cosines of a query are equal, in percent.
        queries: (queries,) id of each query.
        per_query: (queries,) Spearman's correlation in [-1, 1].
    """

    dialogues: LabelledDialogues
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
            "dropped": self.dialogues.dropped,
            **self.dialogues.counts(),
        }


def evaluate_relatedness(embedded: EmbeddedDialogues, seed: int = 0) -> RelatednessResult:
    """Correlate each query's cosines to all other dialogues with "same label" (1) or not (0), and average.

    The paper pairs every dialogue with random ones; here nothing is sampled, all pairs count.

    Args:
        embedded: From ``embed_dialogues``.
        seed: Seed of the bootstrap.
    """
    dialogues = embedded.dialogues
    values = embedded.ranking.spearman
    low, high = bootstrap_interval(values, seed)
    relevant = np.bincount(dialogues.codes)[dialogues.codes[dialogues.queries]] - 1  # (queries,)
    best = best_spearman_binary(relevant, len(dialogues.codes) - 1)
    return RelatednessResult(
        dialogues=dialogues,
        spearman=percent(float(values.mean())),
        spearman_interval=(percent(low), percent(high)),
        spearman_best=percent(float(best.mean())),
        queries=dialogues.query_ids,
        per_query=values,
    )


SEMANTIC_RELATEDNESS = Task(
    name="semantic-relatedness",
    level=DIALOGUE,
    metric="spearman",
    description="Is the cosine of two dialogues higher when they share their label?",
    citation=DIAL2VEC,
    measure=evaluate_relatedness,
    build=build_dialogues,
)
