"""Repeated sentences that decide the answer: a request that a form offers, not a signature.

A sentence decides if the answers to it are much more alike than answers are in general, and more alike than each is to
the answer of the message that says most nearly the same beside it. A greeting or a signature leaves the answer to the
rest of the message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import FloatArray, IntArray

_MORE = 0.15  # so much higher must the mean cosine of its answers be than both others
_LEAST = 5  # answers to a sentence
_MOST = 64  # answers to a sentence that are compared
_OTHERS = 4000  # messages among which the one is looked for that says the same beside it

Sentence = tuple[int, str]  # the role that says it, and its letters


@dataclass(frozen=True)
class Opening:
    """The first message of a conversation, which is answered.

    Attributes:
        text: The message.
        rest: The message without repeated sentences.
        answer: The row of its answer.
        sentences: Its repeated sentences.
    """

    text: str
    rest: str
    answer: int
    sentences: set[Sentence]


def decisive(openings: Sequence[Opening], vectors: FloatArray) -> set[Sentence]:
    """The repeated sentences that decide how they are answered.

    Args:
        openings: The first messages of conversations.
        vectors: The vectors of all messages, of length 1 (n, dim).
    """
    having: dict[Sentence, list[int]] = defaultdict(list)
    for number, opening in enumerate(openings):
        for sentence in opening.sentences:
            having[sentence].append(number)
    others = _evenly(np.arange(len(openings)), _OTHERS)
    answers = np.array([opening.answer for opening in openings], np.int64)
    usual = _alikeness(vectors[answers[others]])
    found = set()
    for sentence, numbers in having.items():
        if len(numbers) < _LEAST:
            continue
        some = _evenly(np.array(numbers), _MOST)
        own = vectors[answers[some]]
        alike = _alikeness(own)
        apart = np.setdiff1d(others, numbers)
        if alike < usual + _MORE or not len(apart):
            continue
        if alike >= _beside(openings, some, apart, own, vectors[answers[apart]]) + _MORE:
            found.add(sentence)
    return found


def _beside(openings: Sequence[Opening], some: IntArray, apart: IntArray, own: FloatArray, other: FloatArray) -> float:
    """The mean cosine of answers (n, dim), and answers (m, dim) to the messages apart that say the same beside."""
    from sklearn.feature_extraction.text import HashingVectorizer  # takes a second to load

    words = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3))  # in any language
    rests = words.transform([openings[number].rest for number in some.tolist()])
    nearness = (rests @ words.transform([openings[number].text for number in apart.tolist()]).T).toarray()
    return float((own * other[nearness.argmax(axis=1)]).sum(axis=1).mean())


def _alikeness(vectors: FloatArray) -> float:
    """The mean cosine of different ones of some vectors of length 1 (n, dim)."""
    count = len(vectors)
    return float((np.square(vectors.sum(axis=0, dtype=np.float64)).sum() - count) / max(1, count * (count - 1)))


def _evenly(numbers: IntArray, most: int) -> IntArray:
    """At most so many of some numbers, from all over them."""
    return numbers[:: -(-len(numbers) // most)] if len(numbers) > most else numbers
