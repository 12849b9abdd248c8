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

from turnlens._utils.vectors import FloatArray, IntArray

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
    answers = np.array([opening.answer for opening in openings], np.int64)
    others = _evenly(np.arange(len(openings)), _OTHERS)
    usual = _alikeness(vectors[answers[others]])
    some = {sentence: _evenly(np.array(rows), _MOST) for sentence, rows in having.items() if len(rows) >= _LEAST}
    alike = {sentence: _alikeness(vectors[answers[rows]]) for sentence, rows in some.items()}
    likely = [sentence for sentence in alike if alike[sentence] >= usual + _MORE]
    if not likely:
        return set()
    from sklearn.feature_extraction.text import HashingVectorizer  # takes a second to load

    words = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3))  # in any language
    texts = words.transform([openings[number].text for number in others.tolist()])
    found = set()
    for sentence in likely:
        is_apart = ~np.isin(others, having[sentence])
        if not is_apart.any():
            continue
        rests = words.transform([openings[number].rest for number in some[sentence].tolist()])
        nearest = (rests @ texts[is_apart].T).toarray().argmax(axis=1)
        own, other = vectors[answers[some[sentence]]], vectors[answers[others[is_apart]]][nearest]
        if alike[sentence] >= float((own * other).sum(axis=1).mean()) + _MORE:
            found.add(sentence)
    return found


def _alikeness(vectors: FloatArray) -> float:
    """The mean cosine of different ones of some vectors of length 1 (n, dim)."""
    count = len(vectors)
    return float((np.square(vectors.sum(axis=0, dtype=np.float64)).sum() - count) / max(1, count * (count - 1)))


def _evenly(numbers: IntArray, most: int) -> IntArray:
    """At most so many of some numbers, from all over them."""
    return numbers[:: -(-len(numbers) // most)] if len(numbers) > most else numbers
