"""Loading the data of a task: reading a released file, or building it from conversations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens.data.conversation_source import Given
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.evaluation.load_settings import LoadSettings
from turnlens.evaluation.task import Task
from turnlens.evaluation.tasks import TASKS, find_task


def load_task(
    task: str | Task,
    data: Given,
    *,
    seed: int = 0,
    max_queries: int | None = None,
    label: str = "intent",
    conversation_label: str | None = None,
    read: Callable[[Path], Dataset] = read_conversations,
) -> Any:
    """Load the data of a task once, to score any number of encoders on it: ``TASKS[name].score(encoder, data)``.

    Args:
        task: The task, or its name.
        data: What ``read_conversations`` reads or gives, or the path of a released file (``select.txt``, ``sts.txt`` or
            a name that ends in one) or of a folder that holds one.
            A task that cannot be built from conversations reads any file in its released form, whatever its name.
        seed: Seed of the samples.
        max_queries: Use at most this many random queries; by default all.
        label: Message field with the intent, for tasks on messages built from conversations.
        conversation_label: Column with the label of whole conversations, see ``labelled_conversations``.
        read: Reads conversations from a path that is no released file.

    Raises:
        ValueError: There is no such task.
        ConversationError: The task cannot be made from the data.
    """
    task = find_task(task)
    settings = LoadSettings(label, max_queries, seed, conversation_label)
    if not isinstance(data, (str, os.PathLike)):
        if task.build is None:
            raise ConversationError("conversations", _not_served(task))
        return task.build(read_conversations(data), settings)
    path = Path(data)
    released = _released_file(task, path)
    if released is not None and task.read is not None:
        return task.read(released, settings)
    if task.build is None:
        raise ConversationError(str(path), _not_served(task))
    try:
        return task.build(read(path), settings)
    except ConversationError as error:
        if error.where != "conversations":
            raise
        raise ConversationError(str(path), error.problem) from error


def _released_file(task: Task, path: Path) -> Path | None:
    """The file at ``path`` in the task's released form, if that is what the path leads to."""
    released = {other.released_file: other.name for other in TASKS.values() if other.released_file}
    if path.is_dir():
        present = [name for name in released if (path / name).is_file()]
        if task.released_file in present:
            return path / task.released_file
        if present:
            problem = f"the folder holds {', '.join(present)} but no {task.released_file or 'data'} for {task.name}"
            raise ConversationError(str(path), problem)
        return None
    for name, owner in released.items():
        if re.search(rf"(^|[-_.]){re.escape(name)}$", path.name):
            if owner == task.name:
                return path
            raise ConversationError(str(path), f"this is a file of the task {owner}, not of {task.name}")
    return path if task.build is None else None


def _not_served(task: Task) -> str:
    return (
        f"{task.name} cannot be built from conversations, it needs annotated data: "
        f"a file {task.released_file} or a folder with one"
    )
