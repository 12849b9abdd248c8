"""Metrics and their uncertainty: pure functions of arrays that know nothing of tasks."""

from __future__ import annotations

from turnlens._utils.vectors import bootstrap_interval, mean_rows, paired_bootstrap_p
from turnlens.evaluation.metrics.clustering import discovery_figures
from turnlens.evaluation.metrics.one_query import average_precision, reciprocal_rank

__all__ = [
    "average_precision",
    "bootstrap_interval",
    "discovery_figures",
    "mean_rows",
    "paired_bootstrap_p",
    "reciprocal_rank",
]
