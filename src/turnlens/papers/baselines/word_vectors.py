"""Word vectors, read from a file or learned from conversations, and Doc2Vec."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from turnlens._compat import infer_document
from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_bar, progress_of
from turnlens._utils.registries import require
from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations, Messages, document
from turnlens.errors import ConversationError
from turnlens.papers.baselines.baseline import documents, fitted, utterances


class _Averaged:
    """The mean of the vectors of a text's words, as ``tokenize`` finds them; zeros where none is known."""

    vectors: Any = None  # gensim's KeyedVectors

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        known = fitted(self.vectors, self)
        texts = require_list(texts, "texts")
        means = np.zeros((len(texts), known.vector_size), dtype=np.float32)
        for row, text in enumerate(texts):
            places = [known.key_to_index[word] for word in tokenize(text) if word in known.key_to_index]
            if places:
                means[row] = known.vectors[places].mean(axis=0)
        return means


class WordVectors(_Averaged):
    """Averaged vectors from a file.

    Args:
        path: A text file of GloVe (``word 0.1 0.2 …``) or word2vec (the same under a line with the two sizes),
            possibly compressed (``.gz``).

    Raises:
        ImportError: gensim is not installed.
        ConversationError: It is not such a file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        keyed_vectors = require("gensim.models", "baselines").KeyedVectors
        # Checked before gensim opens it, since gensim would fetch a name with a scheme from other machines.
        has_header = _has_header(Path(path))
        try:
            with progress_of("reading word vectors", total=None):
                self.vectors = keyed_vectors.load_word2vec_format(str(Path(path)), no_header=not has_header)
        except (ValueError, EOFError) as error:
            raise ConversationError(str(path), f"not a whole text file of word vectors: {error}") from error

    def fit(self, conversations: Conversations) -> Self:
        """Nothing is learned."""
        return self


@contextmanager
def _training(description: str, settings: Word2Vec | Doc2Vec) -> Iterator[dict[str, Any]]:
    """Inside the block, a bar of the epochs; gives the arguments of gensim's that all trainings share."""
    with progress_of(description, settings.epochs) as advance:
        others = dict.fromkeys(("on_train_begin", "on_train_end", "on_epoch_begin"), lambda model: None)
        shared = {"vector_size": settings.dim, "epochs": settings.epochs, "seed": settings.seed}
        callback = SimpleNamespace(on_epoch_end=lambda model: advance(1), **others)
        yield {**shared, "min_count": 1, "workers": 1, "callbacks": (callback,)}


@dataclass(eq=False)
class Word2Vec(_Averaged):
    """Averaged vectors of skip-gram word2vec, trained on the conversations' distinct utterances.

    Args:
        dim: Length of the vectors.
        window: A word predicts at most this many words to either side.
        epochs: Passes over the data.
        learning_rate: Initial learning rate; gensim's 0.025 is for corpora of billions of words.
        subsample: Words more frequent than this share are dropped at random, since they carry least information.
        seed: Seed of the training, which runs in one thread so that the result depends on nothing else.
    """

    dim: int = 100
    window: int = 10
    epochs: int = 10
    learning_rate: float = 0.1
    subsample: float = 1e-4
    seed: int = 0

    def fit(self, conversations: Conversations) -> Self:
        """Train on conversations.

        Raises:
            ImportError: gensim is not installed.
            ValueError: There is no text.
        """
        word2vec = require("gensim.models.word2vec", "baselines").Word2Vec
        words = [tokenize(text) for text in utterances(conversations)]
        own = {"window": self.window, "alpha": self.learning_rate, "sample": self.subsample}
        with _training("training word vectors", self) as shared:
            self.vectors = word2vec(words, sg=1, **own, **shared).wv
        return self


def _has_header(path: Path) -> bool:
    """Return whether the text of a file of word vectors starts with its two sizes.

    Raises:
        ConversationError: It is not a text file of word vectors.
    """
    expected = "a text file of GloVe or word2vec (word 0.1 0.2 …, possibly .gz) is needed"
    if not path.is_file():
        raise ConversationError(str(path), f"no such file: {expected}")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            first = file.readline(1_000_000).decode("utf-8").split()
        numbers = [float(number) for number in first[1:]]
    except (ValueError, OSError) as error:  # gensim's own .kv and .model are pickles, which run code when opened
        raise ConversationError(
            str(path), f"binary or other content: {expected}. Save .kv, .model and .bin as text with gensim first"
        ) from error
    if not numbers:
        raise ConversationError(str(path), f"the first line has no vector: {expected}")
    return len(first) == 2 and first[0].isdigit() and first[1].isdigit()


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
        with _training("training Doc2Vec", self) as shared:
            self.model = gensim.Doc2Vec(tagged, dm=0, **shared)
        return self

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Infer vectors of dialogues, float32 (dialogues, dim); zeros for one without any word seen in training."""
        model = fitted(self.model, self)
        with progress_bar() as bar:
            shown = bar.track(conversations, description="inferring Doc2Vec")
            texts = (tokenize(document(messages)) for messages in shown)
            vectors = [infer_document(model, words, self.epochs, self.seed) for words in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(conversations), self.dim)
