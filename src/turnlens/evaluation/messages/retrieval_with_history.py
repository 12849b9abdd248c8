"""Semantic retrieval of messages with what was said before them, from the vectors of single messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens.data.messages import Conversations, plain_messages
from turnlens.encoders.history import DECAY, SHARE, add_history
from turnlens.evaluation.levels import MESSAGE
from turnlens.evaluation.messages.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
)
from turnlens.evaluation.scoring import Encode, unit_embeddings
from turnlens.evaluation.task import Task


@dataclass(frozen=True, eq=False)
class RetrievalWithHistory:
    """Queries with their candidates, and the conversations they were said in.

    Args:
        task: The queries and candidates of semantic retrieval.
        conversations: The texts of all messages of conversations, empty ones left out.
    """

    task: RetrievalTask
    conversations: tuple[tuple[str, ...], ...]


def build_retrieval_with_history(
    conversations: Conversations, label: str = "intent", max_queries: int | None = None, seed: int = 0
) -> RetrievalWithHistory:
    """Build the task of ``build_retrieval_task``; arguments and errors are the same."""
    rows = list(conversations)
    task = build_retrieval_task(rows, label, max_queries=max_queries, seed=seed)
    talks = (plain_messages(row["messages"], f"row {number}") for number, row in enumerate(rows) if row["messages"])
    wanted = set(task.texts)
    said = (tuple(message["content"] for message in talk if message["content"]) for talk in talks)
    return RetrievalWithHistory(task, tuple(texts for texts in said if not wanted.isdisjoint(texts)))


def evaluate_retrieval_with_history(
    encode: Encode, data: RetrievalWithHistory, seed: int = 0, share: float = SHARE, decay: float = DECAY
) -> RetrievalResult:
    """Rank as ``evaluate_retrieval``, by vectors to which ``add_history`` has added the messages before.

    The vector of a text that was said several times is the mean over its occurrences.

    Args:
        encode: Embeds a list of texts, (texts,) -> (texts, dim); called once, with all distinct messages.
        data: From ``build_retrieval_with_history``.
        seed: Seed of the bootstrap.
        share: See ``add_history``.
        decay: See ``add_history``.
    """
    said = [text for texts in data.conversations for text in texts]
    turns = [len(texts) for texts in data.conversations]
    vectors = add_history(unit_embeddings(encode, said), turns, share, decay)
    row_of = {text: row for row, text in enumerate(dict.fromkeys(said))}
    means = np.zeros((len(row_of), vectors.shape[1]))
    np.add.at(means, [row_of[text] for text in said], vectors)
    return evaluate_retrieval(lambda texts: means[[row_of[text] for text in texts]], data.task, seed)


RETRIEVAL_WITH_HISTORY = Task(
    name="semantic-retrieval-with-history",
    level=MESSAGE,
    metric="map",
    description="The same, with the vectors of earlier messages added to the vector of each message.",
    citation="https://aclanthology.org/2021.emnlp-main.185",
    measure=evaluate_retrieval_with_history,
    build=lambda rows, settings: build_retrieval_with_history(
        rows, settings.label, settings.max_queries, settings.seed
    ),
)
