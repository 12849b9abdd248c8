"""Finding an evaluation task by its name."""

from __future__ import annotations

from turnlens._utils.registries import TASKS, check_task
from turnlens.evaluation.task import Task

__all__ = ["TASKS", "find_task"]


def find_task(task: str | Task) -> Task:
    """The task of that name, with hyphens or underscores; a task as it is.

    Raises:
        ValueError: There is no such task; the message lists all tasks.
    """
    found: Task = TASKS[check_task(task)] if isinstance(task, str) else task
    return found
