"""Domain categorization with k-means as in dial2vec's released code (EMNLP 2022, section 4.1)."""

from __future__ import annotations

from turnlens.evaluation.labelled_conversations import EmbeddedConversations, build_conversations
from turnlens.evaluation.task import CONVERSATION, Task
from turnlens.papers.citations import DIAL2VEC
from turnlens.papers.domain_categorization import CategorizationResult, evaluate_categorization


def evaluate_published_categorization(embedded: EmbeddedConversations, seed: int = 0) -> CategorizationResult:
    """Cluster as dial2vec's released code does: unscaled embeddings, and the best of ten initialisations per run."""
    return evaluate_categorization(embedded, seed, n_init=10, scaled=False)


PUBLISHED_CATEGORIZATION = Task(
    name="domain-categorization-published",
    level=CONVERSATION,
    metric="purity",
    description="The same with k-means as in dial2vec's code: embeddings not scaled, the best of ten starts.",
    citation=DIAL2VEC,
    measure=evaluate_published_categorization,
    build=build_conversations,
)
