"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

from __future__ import annotations

from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.evaluation.labelled_conversations import (
    EmbeddedConversations,
    LabelledConversations,
    embed_labelled,
    labelled_conversations,
)
from turnlens.evaluation.loading import load_task
from turnlens.evaluation.results import compare_results
from turnlens.evaluation.running import evaluate
from turnlens.evaluation.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
)
from turnlens.evaluation.task import TASKS, Task, find_task

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
