"""Sampling the queries of a task, and saying what is left out of it."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import defaultdict
from functools import lru_cache

import numpy as np

_SHOWN = 3  # pairs of labels in a warning


def sample_queries(count: int, wanted: int | None, seed: int) -> list[int]:
    """The first ``wanted`` of a random order, sorted, so that a larger sample contains every smaller one."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"max_queries must be 1 or more, got {wanted}")
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())


def warn_of_left_out(count: int, total: int, kind: str) -> None:
    """Log how many of the rows of an evaluation say nothing about an encoder and are left out, if any."""
    if count:
        logging.getLogger("turnlens").warning("left out of the evaluation: %d %s, of %d", count, kind, total)


@lru_cache  # several tasks of one evaluation have the same labels
def warn_of_alike(labels: frozenset[str]) -> None:
    """Log which labels differ only in capitals, blanks or punctuation, if any: they may be meant to be one."""
    spellings = defaultdict(list)
    for label in sorted(labels):
        spellings[_words(label)].append(label)
    pairs = [f"{found[0]!r} and {found[1]!r}" for words, found in spellings.items() if words and len(found) > 1]
    if pairs:
        more = f", and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
        logging.getLogger("turnlens").warning(
            "labels that differ only in capitals, blanks or punctuation count as different labels: %s%s",
            ", ".join(pairs[:_SHOWN]),
            more,
        )


def _words(label: str) -> str:
    """What stays of a label without capitals and punctuation; nothing of one without letters, such as ``-1``."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", label).casefold())
    return " ".join(words) if any(map(str.isalpha, label)) else ""
