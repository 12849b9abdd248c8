"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

from __future__ import annotations

from turnwise.evaluation.comparing import compare_results
from turnwise.evaluation.dialogues.dialogue_retrieval import DialogueRetrievalResult, evaluate_dialogue_retrieval
from turnwise.evaluation.dialogues.domain_categorization import CategorizationResult, evaluate_categorization
from turnwise.evaluation.dialogues.labelled import (
    EmbeddedDialogues,
    LabelledDialogues,
    embed_dialogues,
    labelled_dialogues,
)
from turnwise.evaluation.dialogues.semantic_relatedness import RelatednessResult, evaluate_relatedness
from turnwise.evaluation.evaluator import TaskEvaluator
from turnwise.evaluation.loading import load_task
from turnwise.evaluation.mteb import mteb_tasks
from turnwise.evaluation.running import evaluate
from turnwise.evaluation.task import Task
from turnwise.evaluation.tasks import TASKS, find_task
from turnwise.evaluation.turn_order.next_utterance import NextUtteranceResult, evaluate_next_utterance
from turnwise.evaluation.turn_order.sequences import EmbeddedSequences, Sequences, build_sequences
from turnwise.evaluation.utterances.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
    read_retrieval_task,
)

__all__ = [
    "TASKS",
    "CategorizationResult",
    "DialogueRetrievalResult",
    "EmbeddedDialogues",
    "EmbeddedSequences",
    "LabelledDialogues",
    "NextUtteranceResult",
    "RelatednessResult",
    "RetrievalResult",
    "RetrievalTask",
    "Sequences",
    "Task",
    "TaskEvaluator",
    "build_retrieval_task",
    "build_sequences",
    "compare_results",
    "embed_dialogues",
    "evaluate",
    "evaluate_categorization",
    "evaluate_dialogue_retrieval",
    "evaluate_next_utterance",
    "evaluate_relatedness",
    "evaluate_retrieval",
    "find_task",
    "labelled_dialogues",
    "load_task",
    "mteb_tasks",
    "read_retrieval_task",
]
