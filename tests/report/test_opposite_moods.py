"""Two moods in one group are told apart by how they are answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from turnlens._utils.vectors import unit_vectors
from turnlens.groups.group_members import opposite_halves
from turnlens.report.report import Group

DIM = 8


def around(random: np.random.Generator, means: np.ndarray) -> np.ndarray:
    """Vectors near the given ones."""
    return unit_vectors((means + 0.1 * random.standard_normal(means.shape)).astype(np.float32))


def group(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Eighty messages about one thing: fifty in one mood, thirty in another, which come second."""
    topic, mood = np.eye(DIM)[0], np.repeat([0, 1], [50, 30])
    return around(random, topic + 0.5 * np.eye(DIM)[1 + mood]), mood == 1


def same(found: np.ndarray, second: np.ndarray) -> float:
    """The share of messages in the right mood; which mood is called the second does not matter."""
    share = float((found == second).mean())
    return max(share, 1 - share)


def test_what_is_answered_differently_is_in_another_mood() -> None:
    random = np.random.default_rng(0)
    messages, second = group(random)
    answers = around(random, np.eye(DIM)[3 + second])
    found = opposite_halves(messages, answers)
    assert found is not None and same(found, second) > 0.95


def test_unanswered_messages_are_in_the_nearest_mood() -> None:
    random = np.random.default_rng(0)
    messages, second = group(random)
    answers = around(random, np.eye(DIM)[3 + second])
    answers[::3] = 0
    found = opposite_halves(messages, answers)
    assert found is not None and same(found[::3], second[::3]) > 0.8


def test_chance_equal_or_few_answers_show_no_moods() -> None:
    random = np.random.default_rng(0)
    messages, second = group(random)
    of_anybody = around(random, np.eye(DIM)[3 + random.integers(0, 2, len(messages))])
    assert opposite_halves(messages, of_anybody) is None
    assert opposite_halves(messages, np.tile(np.eye(DIM, dtype=np.float32)[3], (len(messages), 1))) is None
    few = around(random, np.eye(DIM)[3 + second])
    few[:60] = 0
    assert opposite_halves(messages, few) is None


def test_a_group_shows_one_of_each_mood_first() -> None:
    from turnlens.report.report_groups import with_halves

    random = np.random.default_rng(0)
    messages, second = group(random)
    said = np.stack([messages, around(random, np.eye(DIM)[3 + second])], 1).reshape(-1, DIM)
    rows = np.arange(0, len(said), 2)
    corpus: Any = SimpleNamespace(
        vectors=said, texts=[""] * len(said), conversation=np.arange(len(said)) // 2, role=np.arange(len(said)) % 2
    )
    grouping: Any = SimpleNamespace(sample=rows, groups=np.where(np.arange(len(said)) % 2, -1, 7))
    central = tuple(rows[:3].tolist())
    row: Any = dict.fromkeys(("phrases", "parent", "level", "size", "share", "edge", "new", "renamed"))
    [shown] = with_halves([Group(id=7, name="", central=central, **row)], grouping, corpus)
    assert [bool(second[place // 2]) for place in shown.central[:2]] == [False, True] and len(shown.central) == 3
