"""Latent Dirichlet allocation: the topics of dialogues (Blei et al., JMLR 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations, Messages, document
from turnlens.papers.baselines.corpus import documents, fitted
from turnlens.papers.baselines.waiting import waiting


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
        with waiting("finding topics"):
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
