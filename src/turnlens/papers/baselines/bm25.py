"""BM25 as a row of the retrieval tasks (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).

BM25 is not an embedding: its score of a text for a query is not a cosine of two vectors computed separately. So it has
no ``encode_messages``; it takes the tasks themselves and ranks the same candidates that embeddings rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.data.messages import Conversations, document
from turnlens.evaluation.bm25 import bm25_scorer
from turnlens.evaluation.exact_ranking import retrieval_metrics
from turnlens.evaluation.labelled_conversations import LabelledConversations
from turnlens.evaluation.semantic_retrieval import RetrievalResult, RetrievalTask
from turnlens.papers.retrieval import ConversationRetrievalResult

# A query, its candidates, and which of those are relevant.
Query = tuple[int, IntArray, BoolArray]


class BM25:
    """The variant that also retrieves the candidates of semantic retrieval: Lucene's, k1 1.5, b 0.75."""

    def fit(self, conversations: Conversations) -> Self:
        """Nothing is learned."""
        return self

    def score_retrieval(self, task: RetrievalTask, seed: int = 0) -> RetrievalResult:
        """Rank each query's candidates by BM25 over all texts of the task; as ``evaluate_retrieval``."""
        candidates = (
            (query, np.concatenate([positives, negatives]), np.arange(len(positives) + len(negatives)) < len(positives))
            for query, positives, negatives in zip(task.queries, task.positives, task.negatives)
        )
        values = retrieval_metrics(_ranked(task.texts, candidates, len(task.queries)))
        queries = tuple(task.texts[query] for query in task.queries)
        return RetrievalResult(queries, values, task.dropped, seed)

    def score_conversation_retrieval(
        self, dialogues: LabelledConversations, seed: int = 0
    ) -> ConversationRetrievalResult:
        """Rank all other dialogues by BM25 for the whole text of each one; as ``evaluate_conversation_retrieval``."""
        texts = [document(messages) for messages in dialogues.conversations]
        codes = dialogues.codes
        candidates = (
            (query, others := np.flatnonzero(np.arange(len(codes)) != query), codes[others] == codes[query])
            for query in dialogues.queries.tolist()
        )
        values = retrieval_metrics(_ranked(texts, candidates, len(dialogues.queries)))
        return ConversationRetrievalResult(dialogues.query_ids, values, dialogues.dropped, seed, dialogues)


def _ranked(texts: Sequence[str], queries: Iterable[Query], count: int) -> Iterator[tuple[FloatArray, BoolArray]]:
    """The scores and the relevance of each query's candidates."""
    score = bm25_scorer(texts)
    with progress_bar() as bar:
        shown = bar.track(queries, total=count, description="BM25")
        for query, candidates, relevant in shown:
            yield score(texts[query])[candidates].astype(np.float64), relevant
