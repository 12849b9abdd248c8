"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

from __future__ import annotations

from turnwise.evaluation.comparing import compare_results
from turnwise.evaluation.conversations.conversation_retrieval import (
    ConversationRetrievalResult,
    evaluate_conversation_retrieval,
)
from turnwise.evaluation.conversations.labelled import (
    EmbeddedConversations,
    LabelledConversations,
    embed_labelled,
    labelled_conversations,
)
from turnwise.evaluation.evaluator import TaskEvaluator
from turnwise.evaluation.loading import load_task
from turnwise.evaluation.messages.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
    read_retrieval_task,
)
from turnwise.evaluation.replies.next_message import NextMessageResult, evaluate_next_message
from turnwise.evaluation.replies.sequences import EmbeddedSequences, Sequences, build_sequences
from turnwise.evaluation.running import evaluate
from turnwise.evaluation.task import Task
from turnwise.evaluation.tasks import TASKS, find_task

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
