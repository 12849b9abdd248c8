"""A task as an evaluator of sentence-transformers, to watch an encoder learn and keep its best step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate.utils import extract_model_from_parallel
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import nn
from typing_extensions import override

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.evaluation.running import load_task
from turnlens.evaluation.task import Task, find_task


class TaskEvaluator(BaseEvaluator):
    """A task for ``SentenceTransformerTrainer(evaluator=...)``.

    Its figures are named after the task, such as ``semantic_retrieval_map``. A task with several ways of scoring has
    the figures of each, such as ``next_message_bi_mrr``. Its main figure is also given without a way of scoring, and
    is then that of the first way in which the encoder can be scored. So the name in ``primary_metric`` does not depend
    on the encoder, and
    training arguments can have ``metric_for_best_model=f"eval_{evaluator.primary_metric}"`` together with
    ``greater_is_better=evaluator.greater_is_better``.

    Args:
        task: The task or its name, see ``TASKS``.
        data: See ``load_task``; loaded once, here.
        seed: Seed of the samples, of clusterings, of candidates and of the bootstrap.
        max_queries: Evaluate at most this many random queries; by default all.
        label: Message field with the intent, for tasks on messages built from conversations.
        conversation_label: Column with the label of whole conversations, see ``labelled_conversations``.
        pooling: How whole conversations are embedded, see `turnlens.ConversationEncoder`.
        read: Reads conversations from a path that is no released file.

    Raises:
        ValueError: There is no such task.
        ConversationError: The task cannot be made from the data.

    Examples:
        >>> import turnlens
        >>> evaluator = TaskEvaluator("semantic-retrieval", turnlens.sample_conversations(20), max_queries=5)
        >>> evaluator.primary_metric
        'semantic_retrieval_map'
    """

    def __init__(
        self,
        task: str | Task,
        data: ConversationSource,
        *,
        seed: int = 0,
        max_queries: int | None = None,
        label: str = "intent",
        conversation_label: str | None = None,
        pooling: str = "mean",
        read: Callable[[Path], Dataset] = read_conversations,
    ) -> None:
        super().__init__()
        settings: dict[str, Any] = {"seed": seed, "max_queries": max_queries}
        settings |= {"label": label, "conversation_label": conversation_label}
        self.task = find_task(task)
        self.data = load_task(self.task, data, **settings, read=read)
        self.settings = {**settings, "pooling": pooling}
        self.name = self.task.key
        self.primary_metric = f"{self.name}_{self.task.metric}"
        self.greater_is_better = self.task.greater_is_better

    @override
    def __call__(
        self, model: nn.Module, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Evaluate an encoder as it is.

        Args:
            model: The encoder, perhaps wrapped for distributed training.
            output_path: Ignored: no file is written.
            epoch: The epoch, for the model card.
            steps: The step, for the model card.

        Returns:
            The figures as floats, without intervals and counts.
        """
        encoder: Any = extract_model_from_parallel(model, keep_torch_compile=False)
        with _evaluation_mode(encoder):
            summary = self.task.score(encoder, self.data, self.settings["seed"], self.settings["pooling"]).summary()
        metrics = self.prefix_name_to_metrics(_flat(summary, self.task.metric), self.name)
        self.store_metrics_in_model_card_data(encoder, metrics, epoch, steps)
        return metrics

    @property
    @override
    def description(self) -> str:
        """The task's name as a title."""
        return self.task.name.replace("-", " ").title()

    @override
    def get_config_dict(self) -> dict[str, Any]:
        """Everything that the figures depend on besides the data and the encoder."""
        return {"task": self.task.name, **self.settings}


def _flat(summary: dict[str, Any], metric: str) -> dict[str, float]:
    """The figures of a summary, which are its floats; intervals are lists, counts are whole numbers."""
    modes = {name: figures for name, figures in summary.items() if isinstance(figures, dict)}
    if not modes:
        return _floats(summary)
    flat = {f"{mode}_{name}": value for mode, figures in modes.items() for name, value in _floats(figures).items()}
    first = next(iter(modes.values()))
    return {metric: first[metric], **flat}


def _floats(figures: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if isinstance(value, float)}


@contextmanager
def _evaluation_mode(model: nn.Module) -> Iterator[None]:
    """A block without dropout. Afterwards every module gets its own mode back, since frozen ones must never train."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
