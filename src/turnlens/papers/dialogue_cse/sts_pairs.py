"""Pairs to annotate for D-STS, enough of which are similar (DialogueCSE, EMNLP 2021, section 5.1.2)."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

import numpy as np
from datasets import Dataset
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from turnlens._utils.files import atomic_path, check_file
from turnlens._utils.registries import require
from turnlens._utils.vectors import FloatArray
from turnlens.data.languages import tokenize
from turnlens.data.messages import Conversations, distinct_texts, labelled_texts
from turnlens.errors import ConversationError

_NEIGHBOURS = 10  # a pair is a text and a random one of this many nearest
_BATCH = 64  # texts whose neighbours are looked up at a time: (batch, pool) distances

Pairs = Iterator[tuple[str, str]]


class WordVectors(Protocol):
    """The part of gensim's ``KeyedVectors`` that is needed."""

    vector_size: int

    def __contains__(self, word: str) -> bool: ...
    def __getitem__(self, word: str) -> FloatArray: ...


def propose_sts_pairs(
    conversations: Conversations,
    n: int,
    label: str = "intent",
    seed: int = 0,
    word_vectors: WordVectors | None = None,
    pool: int = 50_000,
) -> Dataset:
    """Propose pairs of utterances for annotation, a third each by the paper's three heuristics.

    ``unigram``: an utterance and a random one of its ten nearest by unigrams (TF-IDF); ``word-vectors``: the same by
    mean word vector; ``same-label``: two random utterances of one label. No pair occurs twice, and the two texts of a
    pair never differ only in case and punctuation.

    Args:
        conversations: Rows with ``messages``, read twice; only the third heuristic needs labels.
        n: Number of pairs.
        label: Name of the message field with the intent.
        seed: Seed of every choice. The rows come in random order.
        word_vectors: gensim ``KeyedVectors`` for the words ``tokenize`` yields (Chinese: characters); by default
            word2vec is trained on the utterances of the pool.
        pool: Look for neighbours among at most this many distinct utterances, a random sample of all.

    Returns:
        Rows of ``text_a``, ``text_b`` and ``heuristic``.

    Raises:
        ConversationError: The utterances do not yield enough pairs, or no message carries the label.
    """
    if n < 3:
        raise ValueError(f"n must be 3 or more, a pair for each heuristic, got {n}")
    generator = np.random.default_rng(seed)
    texts = [text for text in distinct_texts(conversations) if tokenize(text)]
    texts = [texts[index] for index in generator.permutation(len(texts))[:pool]]
    labels = labelled_texts(conversations, label)
    heuristics: dict[str, Callable[[], Pairs]] = {
        "unigram": lambda: _neighbour_pairs(texts, _unigrams(texts), generator),
        "word-vectors": lambda: _neighbour_pairs(*_mean_vectors(texts, word_vectors, seed), generator),
        "same-label": lambda: _same_label_pairs(labels, generator),
    }
    proposed = _thirds(heuristics, n)
    return Dataset.from_list([proposed[index] for index in generator.permutation(n)])


def write_sts_pairs(pairs: Iterable[Mapping[str, Any]], path: str | os.PathLike[str], force: bool = False) -> None:
    """Write pairs for annotation: an empty column for the score, text, text, tab-separated.

    Filled in, the file is what ``read_sts_task`` reads. The heuristic is left out, so that it cannot sway anyone.

    Args:
        pairs: Rows with ``text_a`` and ``text_b``.
        path: The file; must not exist unless ``force``.
        force: Overwrite.
    """
    target = check_file(path, force)
    lines = ["\t" + " ".join(row["text_a"].split()) + "\t" + " ".join(row["text_b"].split()) for row in pairs]
    with atomic_path(target) as temporary:
        temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def _thirds(heuristics: Mapping[str, Callable[[], Pairs]], n: int) -> list[dict[str, str]]:
    """``n`` rows, a third of them by each heuristic.

    Raises:
        ConversationError: A heuristic does not find its third.
    """
    seen: set[frozenset[str]] = set()
    proposed: list[dict[str, str]] = []
    for number, (heuristic, pairs) in enumerate(heuristics.items()):
        share = (n + 2 - number) // 3  # n = 8: 3, 3, 2
        drawn = list(islice(_unseen(pairs(), seen), share))
        if len(drawn) < share:
            problem = f"only {len(drawn)} of {share} pairs found by the heuristic {heuristic!r}; ask for fewer than {n}"
            raise ConversationError("conversations", problem)
        proposed += [{"text_a": a, "text_b": b, "heuristic": heuristic} for a, b in drawn]
    return proposed


def _unseen(pairs: Pairs, seen: set[frozenset[str]]) -> Pairs:
    """Pairs of different words that have not come before in either order; they are added to ``seen``."""
    for a, b in pairs:
        key = frozenset((a, b))
        if key not in seen and tokenize(a) != tokenize(b):
            seen.add(key)
            yield a, b


def _unigrams(texts: list[str]) -> csr_matrix:
    """Token counts, weighted by rarity so that neighbours share more than function words: (texts, vocabulary)."""
    return TfidfVectorizer(analyzer=tokenize).fit_transform(texts)


def _mean_vectors(texts: list[str], word_vectors: WordVectors | None, seed: int) -> tuple[list[str], FloatArray]:
    """The texts that have a word with a vector, and the means of those vectors: (texts, dim)."""
    tokens = {text: tokenize(text) for text in texts}
    if word_vectors is None:
        word2vec = require("gensim.models.word2vec", "baselines").Word2Vec
        # One worker: with more, the result depends on which thread comes first.
        word_vectors = word2vec(list(tokens.values()), vector_size=100, min_count=1, seed=seed, workers=1).wv
    vectors: WordVectors = word_vectors
    known = {text: [word for word in words if word in vectors] for text, words in tokens.items()}
    kept = [text for text in texts if known[text]]
    means = [np.mean([vectors[word] for word in known[text]], axis=0) for text in kept]
    return kept, np.array(means, dtype=np.float64).reshape(len(kept), vectors.vector_size)


def _neighbour_pairs(texts: list[str], features: Any, generator: np.random.Generator) -> Pairs:
    """Pair each text, in random order, with a random one of its nearest by cosine; then with a second, and so on.

    Texts at a right angle or more have no word in common. They are not neighbours, even if all others are farther away.
    """
    count = min(_NEIGHBOURS + 1, len(texts))  # with the text itself
    if count < 2:
        return
    units = normalize(features)
    # On unit vectors the Euclidean order is the cosine order; brute force also serves sparse features.
    index = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(units)
    order = generator.permutation(len(texts))
    later = []
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        for row, distances, neighbours in zip(batch, *index.kneighbors(units[batch])):
            near = distances**2 < 2 - 1e-9  # squared distance of unit vectors: 2 - 2 cosine
            others = generator.permutation(neighbours[near & (neighbours != row)])
            if len(others):
                yield texts[row], texts[others[0]]
                later.append((row, others[1:]))
    for place in range(_NEIGHBOURS - 1):
        yield from ((texts[row], texts[others[place]]) for row, others in later if place < len(others))


def _same_label_pairs(label_of: dict[str, str], generator: np.random.Generator) -> Pairs:
    """Endless random pairs of one label; each label occurs in proportion to its number of utterances."""
    groups = defaultdict(list)
    for text, value in label_of.items():
        if tokenize(text):
            groups[value].append(text)
    texts = [text for group in groups.values() if len(group) > 1 for text in group]
    if not texts:
        return
    # Draws repeat. A given pair is drawn with chance 2 / (texts * group), so this many miss it with e^-20 at most.
    for _ in range(10 * len(texts) * max(len(group) for group in groups.values())):
        first = texts[generator.integers(len(texts))]
        group = groups[label_of[first]]
        yield first, group[generator.integers(len(group))]
