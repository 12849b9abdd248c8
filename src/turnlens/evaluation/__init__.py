"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnlens.evaluation.labelled_conversations import (
    EmbeddedConversations,
    LabelledConversations,
    embed_labelled,
    labelled_conversations,
)
from turnlens.evaluation.results import compare_results
from turnlens.evaluation.running import evaluate, load_task
from turnlens.evaluation.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
)
from turnlens.evaluation.task import TASKS, Task, find_task

if TYPE_CHECKING:
    from turnlens.evaluation.evaluator import TaskEvaluator

__all__ = [
    "TASKS",
    "EmbeddedConversations",
    "LabelledConversations",
    "RetrievalResult",
    "RetrievalTask",
    "Task",
    "TaskEvaluator",
    "build_retrieval_task",
    "compare_results",
    "embed_labelled",
    "evaluate",
    "evaluate_retrieval",
    "find_task",
    "labelled_conversations",
    "load_task",
]


def __getattr__(name: str) -> Any:
    """Import what is for trainings, and needs torch, on first use."""
    if name != "TaskEvaluator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from turnlens.evaluation.evaluator import TaskEvaluator

    return TaskEvaluator
