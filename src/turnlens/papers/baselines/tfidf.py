"""TF-IDF vectors as embeddings (Spärck Jones, 1972; scikit-learn's smoothed variant)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations
from turnlens.papers.baselines.corpus import fitted, utterances


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
