"""Dialogue-based semantic textual similarity, D-STS (DialogueCSE, EMNLP 2021, section 5.1.2)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from turnlens._utils.vectors import FloatArray, bootstrap_interval
from turnlens.errors import ConversationError
from turnlens.evaluation.scoring import Encode, cosines, percent, unit_embeddings
from turnlens.evaluation.task import MESSAGE, LoadSettings, Task
from turnlens.papers.citations import DIALOGUE_CSE
from turnlens.papers.released_files import tab_separated_lines


def spearman_rows(pairs: FloatArray) -> FloatArray:
    """Spearman's correlation of each of several lists of pairs: (rows, pairs, 2) -> (rows,).

    Ties get their average rank. Where one of the two sides is constant it holds no order at all, and the result is 0.
    """
    ranks = rankdata(pairs, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    covariance = centred.prod(axis=2).sum(axis=1)
    scale = np.sqrt((centred**2).sum(axis=1).prod(axis=1))
    return np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation in [-1, 1], ties at their average rank; 0 where one side is constant.

    Args:
        a: (pairs,) values.
        b: (pairs,) values.

    Raises:
        ValueError: The lengths differ, there are fewer than two pairs or a value is not finite.

    >>> spearman([1, 2, 3], [-3.0, -2.0, -1.0])
    1.0
    >>> spearman([1, 2, 3], [7, 7, 7])
    0.0
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or len(left) < 2:
        raise ValueError(f"two lists of one length, 2 or more, are needed; got shapes {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("values must be finite numbers, got nan or inf")
    return float(spearman_rows(np.stack([left, right], axis=1)[None])[0])


@dataclass(frozen=True)
class StsTask:
    """Pairs of texts with the similarity people gave them.

    Args:
        scores: (pairs,) similarity; the paper's go from 1 (unrelated) to 5 (same meaning).
        pairs: (pairs,) the two texts.
    """

    scores: tuple[float, ...]
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class StsResult:
    """Spearman's correlation in percent with a 95 % bootstrap interval over pairs, and every pair's cosine.

    Args:
        cosines: (pairs,) in the order of the task.
    """

    spearman: float
    spearman_interval: tuple[float, float]
    cosines: FloatArray

    def summary(self) -> dict[str, object]:
        """The figures without the per-pair values, ready for JSON."""
        return {
            "spearman": self.spearman,
            "spearman_interval": list(self.spearman_interval),
            "pairs": len(self.cosines),
        }


def read_sts_task(path: str | os.PathLike[str]) -> StsTask:
    """Read the released form, ``sts.txt``: score, text, text, tab-separated.

    A pair scored by several people has their scores in the first column, separated by spaces or semicolons; as in the
    paper, the median counts. Any scale will do, since only the order of the scores counts.

    Raises:
        ConversationError: A line breaks the format, a score is missing, or the scores are all the same.
    """
    scores, pairs = [], []
    for where, (score, first, second) in tab_separated_lines(path, ("score", "text", "text")):
        if not score.strip():
            raise ConversationError(where, "the score is empty: every pair must be annotated")
        if not (first.strip() and second.strip()):
            raise ConversationError(where, "a text is empty")
        scores.append(_parse_score(score, where))
        pairs.append((first, second))
    if len(set(scores)) < 2:
        problem = (
            f"at least two different scores are needed for a correlation, got {len(scores)} lines of {scores[0]:g}"
        )
        raise ConversationError(str(path), problem)
    return StsTask(tuple(scores), tuple(pairs))


def _parse_score(field: str, where: str) -> float:
    try:
        scores = [float(number) for number in field.replace(";", " ").split()]
    except ValueError:
        scores = []
    if not scores or not all(map(math.isfinite, scores)):
        raise ConversationError(where, f"the score must be a number, or several separated by spaces, got {field!r}")
    return median(scores)


def read_sts_file(path: Path, settings: LoadSettings) -> StsTask:
    """`read_sts_task`, which needs none of the settings of a task."""
    return read_sts_task(path)


def evaluate_sts(encode: Encode, task: StsTask, seed: int = 0) -> StsResult:
    """Correlate cosines with the annotated similarity.

    Args:
        encode: Embeds a list of texts, (texts,) -> (texts, dim); called once, with the distinct texts of the task.
        task: From ``read_sts_task``.
        seed: Seed of the bootstrap.
    """
    units = unit_embeddings(encode, [text for pair in task.pairs for text in pair])  # (2 * pairs, dim)
    similarity = cosines(units[0::2], units[1::2])
    low, high = bootstrap_interval(np.stack([task.scores, similarity], axis=1), seed, statistic=spearman_rows)
    return StsResult(percent(spearman(task.scores, similarity)), (percent(low), percent(high)), similarity)


DIALOGUE_STS = Task(
    name="dialogue-sts",
    level=MESSAGE,
    metric="spearman",
    description="Does the cosine of two utterances follow the similarity people gave them?",
    citation=DIALOGUE_CSE,
    measure=evaluate_sts,
)
