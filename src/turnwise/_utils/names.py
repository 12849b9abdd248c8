"""The names of methods and tasks, so that a wrong one is told before the seconds that importing them takes."""

from __future__ import annotations

METHODS = (
    "dialogue-cse",
    "dialogue-cse-paper",
    "siamese-single",
    "siamese-multi",
    "single-vector",
    "dial2vec",
    "dial2vec-paper",
    "local-to-global",
    "ccl",
    "c3l",
    "ccl-paper",
    "c3l-paper",
    "in-context",
    "turn-order-head",
    "unified",
)
TASKS = (
    "semantic-retrieval",
    "semantic-retrieval-with-history",
    "dialogue-sts",
    "domain-categorization",
    "domain-categorization-published",
    "semantic-relatedness",
    "dialogue-retrieval",
    "alignment-uniformity",
    "next-utterance",
    "component-analysis",
    "short-term-planning",
    "additivity",
)


def check_method(name: str) -> str:
    """The name of a method to train.

    Raises:
        ValueError: There is none of that name; the message lists those there are.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}: expected one of {', '.join(METHODS)}")
    return name


def check_task(name: str) -> str:
    """The name of a task to evaluate, with hyphens; it may be given with underscores.

    Raises:
        ValueError: There is none of that name; the message lists those there are.
    """
    task = name.replace("_", "-")
    if task not in TASKS:
        raise ValueError(f"unknown task {name!r}: expected one of {', '.join(TASKS)}")
    return task
