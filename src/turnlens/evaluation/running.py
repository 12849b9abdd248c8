"""Running tasks by name, on data that is read from a released file or built from conversations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens._utils.registries import RELEASED
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.encoders.loading import load_encoder
from turnlens.errors import ConversationError
from turnlens.evaluation.task import TASKS, Evaluated, LoadSettings, Task, find_task, is_encoder


def evaluate(
    data: ConversationSource,
    *,
    encoder: Evaluated | str | os.PathLike[str] | None = None,
    tasks: str | Sequence[str | Task],
    pooling: str = "mean",
    seed: int = 0,
    max_queries: int | None = None,
    label: str = "intent",
    conversation_label: str | None = None,
    read: Callable[[Path], Dataset] = read_conversations,
) -> dict[str, dict[str, object]]:
    """Run evaluation tasks on an encoder.

    Tasks on whole conversations share one embedding of each conversation, and tasks on sequences share theirs.

    Args:
        data: The conversations, or the folder or file of a released benchmark; see ``load_task``.
        encoder: An encoder, or its name or path; ``None`` is the default encoder. For tasks on
            messages, any function will do that embeds a list of texts, (texts,) -> (texts, dim); for tasks on whole
            conversations, one that embeds a list of conversations, each a list of messages ``{"role", "content"}``,
            (conversations,) -> (conversations, dim).
        tasks: Names of tasks, see ``TASKS``, or tasks themselves; a single name may be given as it is.
        pooling: How an encoder embeds whole conversations, see `turnlens.ConversationEncoder`.
        seed: Seed of the samples, of clusterings, of candidates and of the bootstrap.
        max_queries: Evaluate at most this many random queries; by default all. A query of a task on sequences is a
            conversation whose next messages are asked for.
        label: Message field with the intent, for tasks on messages built from conversations.
        conversation_label: Column with the label of whole conversations, see ``labelled_conversations``.
        read: Reads conversations from a path that is no released file.

    Returns:
        For each task, under its name with underscores, the figures, in percent where they are shares or correlations,
        with 95 % intervals and the number of queries or pairs:
        ``{"semantic_retrieval": {"map": 58.3, "map_interval": [56.1, 60.4], …}}``. A task on sequences has such figures
        for each way of scoring: ``{"next_message": {"bi": {"average_rank": 15.2, …}, "bm25": …}}``.

    Raises:
        ValueError: A task is unknown, or the encoder cannot be evaluated on it.
        ConversationError: A task cannot be made from the data.

    Examples:
        >>> import turnlens
        >>> figures = turnlens.evaluate(turnlens.sample_conversations(20), tasks="semantic-retrieval", max_queries=5)
        >>> sorted(figures["semantic_retrieval"])
        ['dropped', 'map', 'map_interval', 'mrr', 'mrr_interval', 'queries']
    """
    chosen = _chosen(tasks)
    if encoder is None or isinstance(encoder, str | os.PathLike):
        encoder = load_encoder(encoder)
    _check_served(encoder, chosen)
    # All are loaded before the first is scored, so that bad data is reported before minutes of embedding.
    settings: dict[str, Any] = {"seed": seed, "max_queries": max_queries}
    settings |= {"label": label, "conversation_label": conversation_label}
    if not isinstance(data, str | os.PathLike):
        data = read_conversations(data)
    loaded: dict[str, Any] = {}
    for task in chosen:
        if task.data_key not in loaded:
            loaded[task.data_key] = load_task(task, data, **settings, read=read)
    embedded: dict[str, tuple[Any, ...]] = {}
    for task in chosen:
        if task.data_key not in embedded:
            embedded[task.data_key] = task.level.embed(encoder, loaded[task.data_key], pooling)
    return {task.key: task.measure(*embedded[task.data_key], seed).summary() for task in chosen}


def _chosen(tasks: str | Sequence[str | Task]) -> list[Task]:
    given = [tasks] if isinstance(tasks, str) else tasks
    chosen = [find_task(task) for task in given]
    if not chosen:
        raise ValueError(f"no task given: expected one or more of {', '.join(TASKS)}")
    return list(dict.fromkeys(chosen))


def _check_served(encoder: Evaluated, tasks: Sequence[Task]) -> None:
    levels = {task.level for task in tasks}
    if not is_encoder(encoder) and not (len(levels) == 1 and levels.pop().takes_functions):
        names = ", ".join(task.name for task in tasks)
        raise ValueError(
            f"a function serves tasks on messages or tasks on conversations, got {names}: give the encoder itself"
        )


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
