"""Conversation retrieval: do conversations of the same label come first?"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from turnlens.evaluation.conversations.labelled import EmbeddedConversations, LabelledConversations, build_conversations
from turnlens.evaluation.levels import CONVERSATION
from turnlens.evaluation.metrics.ranking_rows import RETRIEVAL_METRICS
from turnlens.evaluation.ranking_result import RankingResult
from turnlens.evaluation.task import Task


@dataclass(frozen=True, eq=False)
class ConversationRetrievalResult(RankingResult):
    """Also says what was ranked. Queries are ids of conversations; those whose label no other one has are dropped."""

    conversations: LabelledConversations

    @override
    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        return {**super().summary(), **self.conversations.counts()}


def evaluate_conversation_retrieval(embedded: EmbeddedConversations, seed: int = 0) -> ConversationRetrievalResult:
    """Rank all other conversations by cosine with each query; those of its label are relevant.

    Args:
        embedded: From ``embed_labelled``.
        seed: Seed of the bootstrap.
    """
    return ConversationRetrievalResult(
        queries=embedded.conversations.query_ids,
        values={name: embedded.ranking[name] for name in RETRIEVAL_METRICS},
        dropped=embedded.conversations.dropped,
        seed=seed,
        conversations=embedded.conversations,
    )


CONVERSATION_RETRIEVAL = Task(
    name="conversation-retrieval",
    level=CONVERSATION,
    metric="map",
    description="Rank all other conversations: do those of the same label come first?",
    citation="https://aclanthology.org/2022.emnlp-main.490",
    measure=evaluate_conversation_retrieval,
    build=build_conversations,
)
