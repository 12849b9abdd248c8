"""Retrieval with earlier messages, and of whole conversations: tasks of DialogueCSE and dial2vec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import override

from turnlens._utils.vectors import FloatArray
from turnlens.data.messages import Conversations, plain_messages
from turnlens.encoders.history import DECAY, SHARE, add_history
from turnlens.evaluation.conversation_labels import EmbeddedConversations, LabelledConversations
from turnlens.evaluation.ranking_metrics import RETRIEVAL_METRICS
from turnlens.evaluation.results import RankingResult
from turnlens.evaluation.scoring import Encode, unit_embeddings
from turnlens.evaluation.semantic_retrieval import (
    RetrievalResult,
    RetrievalTask,
    build_retrieval_task,
    evaluate_retrieval,
)
from turnlens.evaluation.task import MESSAGE, Task, conversation_task


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


@dataclass(frozen=True, eq=False)
class RankedConversations(RankingResult):
    """Also says what was ranked. Queries are ids of conversations; those whose label no other one has are dropped."""

    conversations: LabelledConversations

    @classmethod
    def of(cls, conversations: LabelledConversations, values: Mapping[str, FloatArray], seed: int, **more: Any) -> Self:
        """Make it from the values of the queries of labelled conversations, (queries,) each."""
        return cls(conversations.query_ids, values, conversations.dropped, seed, conversations, **more)

    @override
    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        return {**super().summary(), **self.conversations.counts()}


class ConversationRetrievalResult(RankedConversations):
    """Each query's ranking of all other conversations."""


def evaluate_conversation_retrieval(embedded: EmbeddedConversations, seed: int = 0) -> ConversationRetrievalResult:
    """Rank all other conversations by cosine with each query; those of its label are relevant.

    Args:
        embedded: From ``embed_labelled``.
        seed: Seed of the bootstrap.

    Examples:
        >>> rows = [{"messages": [{"role": "user", "content": text}], "domain": text} for text in "aabb"]
        >>> from turnlens.evaluation import embed_labelled, labelled_conversations
        >>> def encode(talks):  # (conversations, dim)
        ...     return [[talk[0]["content"] == "a", 1.0] for talk in talks]
        >>> embedded = embed_labelled(encode, labelled_conversations(rows))
        >>> from turnlens.papers import evaluate_conversation_retrieval
        >>> evaluate_conversation_retrieval(embedded).map  # in percent
        100.0
    """
    values = {name: embedded.ranking[name] for name in RETRIEVAL_METRICS}
    return ConversationRetrievalResult.of(embedded.conversations, values, seed)


CONVERSATION_RETRIEVAL = conversation_task(
    name="conversation-retrieval",
    metric="map",
    description="Rank all other conversations: do those of the same label come first?",
    citation="https://aclanthology.org/2022.emnlp-main.490",
    measure=evaluate_conversation_retrieval,
)
