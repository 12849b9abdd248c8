"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

from __future__ import annotations

from turnlens.evaluation.comparing import compare_results
from turnlens.evaluation.conversations.conversation_retrieval import (
    ConversationRetrievalResult,
    evaluate_conversation_retrieval,
)
from turnlens.evaluation.conversations.labelled import (
    EmbeddedConversations,
    LabelledConversations,
    embed_labelled,
    labelled_conversations,
)
from turnlens.evaluation.evaluator import TaskEvaluator
from turnlens.evaluation.loading import load_task
from turnlens.evaluation.messages.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
    read_retrieval_task,
)
from turnlens.evaluation.replies.next_message import NextMessageResult, evaluate_next_message
from turnlens.evaluation.replies.sequences import EmbeddedSequences, Sequences, build_sequences
from turnlens.evaluation.running import evaluate
from turnlens.evaluation.task import Task
from turnlens.evaluation.tasks import TASKS, find_task

__all__ = [
    "TASKS",
    "ConversationRetrievalResult",
    "EmbeddedConversations",
    "EmbeddedSequences",
    "LabelledConversations",
    "NextMessageResult",
    "RetrievalResult",
    "RetrievalTask",
    "Sequences",
    "Task",
    "TaskEvaluator",
    "build_retrieval_task",
    "build_sequences",
    "compare_results",
    "embed_labelled",
    "evaluate",
    "evaluate_conversation_retrieval",
    "evaluate_next_message",
    "evaluate_retrieval",
    "find_task",
    "labelled_conversations",
    "load_task",
    "read_retrieval_task",
]
