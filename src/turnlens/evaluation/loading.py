"""Loading the data of a task: reading a released file, or building it from conversations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens._utils.registries import RELEASED
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.evaluation.task import LoadSettings, Task, find_task


def load_task(
    task: str | Task,
    data: ConversationSource,
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

    Examples:
        >>> import turnlens
        >>> task = load_task("semantic-retrieval", turnlens.sample_conversations(20), max_queries=5)
        >>> sorted(find_task("semantic-retrieval").score(lambda texts: [[len(text), 1] for text in texts], task).values)
        ['map', 'mrr']
    """
    task = find_task(task)
    settings = LoadSettings(label, max_queries, seed, conversation_label)
    if not isinstance(data, (str, os.PathLike)):
        if task.build is None:
            raise ConversationError("conversations", _not_served(task))
        return task.build(read_conversations(data), settings)
    path = Path(data)
    released = _released_file(task, path)
    if released is not None:
        file, read_released = released
        return read_released(file, settings)
    if task.build is None:
        raise ConversationError(str(path), _not_served(task))
    try:
        return task.build(read(path), settings)
    except ConversationError as error:
        if error.where != "conversations":
            raise
        raise ConversationError(str(path), error.problem) from error


def _released_file(task: Task, path: Path) -> tuple[Path, Callable[..., Any]] | None:
    """The file at ``path`` in the task's released form, if the path leads to one, and what reads it."""
    if path.is_dir():
        present = [name for name in RELEASED if (path / name).is_file()]
        for name in present:
            if RELEASED.about(name) == task.name:
                return path / name, RELEASED[name]
        if present:
            problem = f"the folder holds {', '.join(present)} but no {_released_name(task) or 'data'} for {task.name}"
            raise ConversationError(str(path), problem)
        return None
    for name in RELEASED:
        if re.search(rf"(^|[-_.]){re.escape(name)}$", path.name):
            if RELEASED.about(name) == task.name:
                return path, RELEASED[name]
            problem = f"this is a file of the task {RELEASED.about(name)}, not of {task.name}"
            raise ConversationError(str(path), problem)
    name = _released_name(task)
    return (path, RELEASED[name]) if name and task.build is None else None


def _released_name(task: Task) -> str:
    """The name of the file in which the data of a task was released, or nothing."""
    return next((name for name in RELEASED if RELEASED.about(name) == task.name), "")


def _not_served(task: Task) -> str:
    return (
        f"{task.name} cannot be built from conversations, it needs annotated data: "
        f"a file {_released_name(task)} or a folder with one"
    )
