"""Doc2Vec: whole dialogues as documents (Le and Mikolov, Distributed Representations of Sentences, ICML 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from turnlens._compat import infer_document
from turnlens._utils.progress import progress_bar
from turnlens._utils.registries import require
from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations, Messages, document
from turnlens.papers.baselines.corpus import documents, fitted
from turnlens.papers.baselines.waiting import EpochBar


class Doc2Vec:
    """Distributed bag of words (PV-DBOW), trained on dialogues; new dialogues get their vectors by inference.

    Args:
        dim: Length of the vectors.
        epochs: Passes over the data, and over a new dialogue.
        seed: Seed of training, which runs in one thread, and of every inference.
    """

    def __init__(self, dim: int = 100, epochs: int = 20, seed: int = 0) -> None:
        self.dim = dim
        self.epochs = epochs
        self.seed = seed
        self.model: Any = None

    def fit(self, conversations: Conversations) -> Self:
        """Train on conversations.

        Raises:
            ImportError: gensim is not installed.
            ValueError: There is no text.
        """
        gensim = require("gensim.models.doc2vec", "baselines")
        tagged = [gensim.TaggedDocument(tokenize(text), [row]) for row, text in enumerate(documents(conversations))]
        with progress_bar() as bar:
            task = bar.add_task("training Doc2Vec", total=self.epochs)
            self.model = gensim.Doc2Vec(
                tagged,
                dm=0,
                vector_size=self.dim,
                min_count=1,
                epochs=self.epochs,
                seed=self.seed,
                workers=1,
                callbacks=(EpochBar(bar, task),),
            )
        return self

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Infer vectors of dialogues, float32 (dialogues, dim); zeros for one without any word seen in training."""
        model = fitted(self.model, self)
        with progress_bar() as bar:
            shown = bar.track(conversations, description="inferring Doc2Vec")
            texts = (tokenize(document(messages)) for messages in shown)
            vectors = [infer_document(model, words, self.epochs, self.seed) for words in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(conversations), self.dim)
