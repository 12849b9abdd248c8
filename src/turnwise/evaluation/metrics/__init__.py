"""Metrics and their uncertainty: pure functions of arrays that know nothing of tasks."""

from __future__ import annotations

from turnwise._utils.bootstrap import bootstrap_interval, mean_rows, paired_bootstrap_p
from turnwise.evaluation.metrics.clustering import assignment_accuracy, discovery_figures, purity
from turnwise.evaluation.metrics.correlation import spearman, spearman_rows
from turnwise.evaluation.metrics.ranking import average_precision, reciprocal_rank

__all__ = [
    "assignment_accuracy",
    "average_precision",
    "bootstrap_interval",
    "discovery_figures",
    "mean_rows",
    "paired_bootstrap_p",
    "purity",
    "reciprocal_rank",
    "spearman",
    "spearman_rows",
]
