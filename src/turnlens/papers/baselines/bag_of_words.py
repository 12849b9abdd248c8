"""Baselines that count words: TF-IDF, BM25, LDA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations, Messages, document
from turnlens.evaluation.bm25 import bm25_scorer
from turnlens.evaluation.conversation_labels import LabelledConversations
from turnlens.evaluation.ranking_metrics import retrieval_metrics
from turnlens.evaluation.semantic_retrieval import RetrievalResult, RetrievalTask, Score, rank_candidates
from turnlens.papers.baselines.baseline import documents, fitted, utterances
from turnlens.papers.retrieval import ConversationRetrievalResult


class TfIdf:
    """Word counts weighted by rarity, scaled to length 1.

    Evaluation takes dense vectors, so the vocabulary is limited: 4,096 words are 16 kB a text, and nearly all words of
    a support corpus.

    Args:
        max_words: Keep at most this many words, the most frequent ones.
    """

    def __init__(self, max_words: int = 4096) -> None:
        self.max_words = max_words
        self.vectorizer: Any = None

    def fit(self, conversations: Conversations) -> Self:
        """Count the words of the conversations' distinct utterances.

        Raises:
            ValueError: There is no text.
        """
        # Here and not at the top: importing scikit-learn takes a second.
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(analyzer=tokenize, max_features=self.max_words, dtype=np.float32)
        self.vectorizer = vectorizer.fit(utterances(conversations))
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, words)."""
        vectorizer = fitted(self.vectorizer, self)
        texts = require_list(texts, "texts")
        if not texts:
            return np.zeros((0, len(vectorizer.vocabulary_)), dtype=np.float32)
        return np.asarray(vectorizer.transform(texts).toarray())


class BM25:
    """The variant that also retrieves the candidates of semantic retrieval: Lucene's, k1 1.5, b 0.75."""

    def fit(self, conversations: Conversations) -> Self:
        """Nothing is learned."""
        return self

    def score_retrieval(self, task: RetrievalTask, seed: int = 0) -> RetrievalResult:
        """Rank each query's candidates by BM25 over all texts of the task; as ``evaluate_retrieval``."""
        with _scores(task.texts, len(task.queries)) as score:
            return rank_candidates(task, score, seed)

    def score_conversation_retrieval(
        self, dialogues: LabelledConversations, seed: int = 0
    ) -> ConversationRetrievalResult:
        """Rank all other dialogues by BM25 for the whole text of each one; as ``evaluate_conversation_retrieval``."""
        codes, numbers = dialogues.codes, np.arange(len(dialogues.codes))
        with _scores([document(messages) for messages in dialogues.conversations], len(dialogues.queries)) as score:
            others = ((query, numbers[numbers != query]) for query in dialogues.queries.tolist())
            values = retrieval_metrics((score(query, rest), codes[rest] == codes[query]) for query, rest in others)
        return ConversationRetrievalResult.of(dialogues, values, seed)


@contextmanager
def _scores(texts: Sequence[str], queries: int) -> Iterator[Score]:
    """Inside the block, a progress bar of queries; gives the function that scores the candidates of a query."""
    score = bm25_scorer(texts)
    with progress_of("BM25", queries) as advance:

        def scores(query: int, candidates: IntArray) -> FloatArray:
            advance(1)
            return score(texts[query])[candidates].astype(np.float64)

        yield scores


class LDA:
    """Topics of whole dialogues, for domain categorization: each dialogue's strongest topic is its cluster.

    Args:
        topics: Number of topics; for categorization, the number of labels.
        max_share: Words in more than this share of the dialogues are left out: they belong to every topic.
        iterations: Passes over the data.
        seed: Seed of the initial topics.
    """

    def __init__(self, topics: int = 20, max_share: float = 0.5, iterations: int = 20, seed: int = 0) -> None:
        self.topics = topics
        self.max_share = max_share
        self.iterations = iterations
        self.seed = seed
        self.pipeline: Any = None

    def fit(self, conversations: Conversations) -> Self:
        """Find the topics of conversations.

        Raises:
            ValueError: There is no text, or no word is rare enough.
        """
        # Here and not at the top: importing scikit-learn takes a second.
        from sklearn.decomposition import LatentDirichletAllocation
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.pipeline import make_pipeline

        pipeline = make_pipeline(
            CountVectorizer(analyzer=tokenize, max_df=self.max_share),
            LatentDirichletAllocation(self.topics, max_iter=self.iterations, random_state=self.seed),
        )
        with progress_of("finding topics", total=None):
            self.pipeline = pipeline.fit(documents(conversations))
        return self

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """The topic distribution of each dialogue, float32 (dialogues, topics); rows add up to 1."""
        pipeline = fitted(self.pipeline, self)
        if not len(conversations):
            return np.zeros((0, self.topics), dtype=np.float32)
        return np.asarray(pipeline.transform([document(messages) for messages in conversations]), dtype=np.float32)

    def clusters(self, conversations: Sequence[Messages]) -> np.ndarray:
        """The strongest topic of each dialogue, (dialogues,) numbers from 0."""
        return self.encode_conversations(conversations).argmax(axis=1)
