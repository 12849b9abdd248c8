"""The words of groups: phrases that occur in their texts and not in those of other groups.

The score of a phrase is the share of the group's texts that contain it, times the logarithm of how many times more
frequent it is there than in all other groups. The phrases with the highest scores are embedded, and count by how near
they are to the middle of the group: who asks for a *renewal* may be *away at the moment*, which is about anything. What
is common in most groups is a stop word, in any language. Phrases have up to three words; in Chinese, Japanese and
Korean, two to six characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, unit_vectors
from turnlens.data.sentences import GAP, LONGEST_TEXT, PLACEHOLDER

Embed = Callable[[Sequence[str]], FloatArray]  # vectors of length 1 (n, dim) of texts (n)
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’-][^\W_{_CJK}]+)*")
_BREAK = re.compile(r"[^\w\s'’-]+|\n|\s-+\s")  # a phrase never crosses one of these
IS_CJK = re.compile(rf"[{_CJK}]")
_CJK_SIZES = (2, 3, 4, 5, 6)
_MOST_PHRASES = 50_000
LEAST_TEXTS = 3  # of the group that must have it, or all if it has fewer: it may be somebody's name or number
_COMMON = 0.05  # of a group's texts have a phrase that names it; a word so common in most groups is a stop word
_TIMES = 2  # as frequent as in all other groups, a phrase must be in a group
EMBEDDED = 20  # phrases, or clauses, of a group
_SAME = 0.6  # if this share of the texts with a phrase also has a longer phrase around it, the longer one is better
_PHRASES = 8  # the most of a group
_SAID_BEFORE = 0.5  # what a text counts for a phrase, for each phrase that it has before
EQUAL = 1e-6  # scores that differ by less are equal on any processor
_ALIKE = 0.75  # of the words of two names are the same: they do not tell their groups apart


@dataclass(frozen=True)
class _Candidates:
    """The phrases that could name a group.

    Attributes:
        group: The group.
        phrases: The phrases (m).
        scores: Their scores (m,).
        present: Which texts of the group have them (texts, m).
        middle: The mean vector of the group less that of its part, of length 1 (dim,).
    """

    group: int
    phrases: Sequence[str]
    scores: FloatArray
    present: Any
    middle: FloatArray


def without_placeholders(text: str) -> str:
    """The text with `GAP` for each placeholder."""
    return PLACEHOLDER.sub(GAP, text)


def phrases_of_text(text: str) -> list[str]:
    """The phrases of a text: up to three words beside each other, and two to six CJK characters.

    >>> phrases_of_text("Cancel my order 123. Thanks!")
    ['cancel', 'my', 'order', 'cancel my', 'my order', 'cancel my order', 'thanks']
    >>> phrases_of_text("退款")
    ['退款']
    """
    phrases, runs = [], []
    for clause in _BREAK.split(text[:LONGEST_TEXT].lower()):
        words = []
        for token in TOKEN.findall(clause):
            if IS_CJK.match(token):
                phrases += [
                    token[start : start + size] for size in _CJK_SIZES for start in range(len(token) - size + 1)
                ]
            elif not token[0].isdigit():  # numbers do not describe a group
                words.append(token)
        runs += [words[start : start + size] for size in (1, 2, 3) for start in range(len(words) - size + 1)]
    return phrases + [" ".join(run) for run in runs]


def phrases_in(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Count phrases: those that each text has (texts, phrases), and the phrases.

    Raises:
        ValueError: No text has any word.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # takes long to load

    vectorizer = CountVectorizer(analyzer=phrases_of_text, binary=True, max_features=_MOST_PHRASES, dtype=np.float32)
    return vectorizer.fit_transform(texts), vectorizer.get_feature_names_out().tolist()


def name_phrases(
    texts: Sequence[str],
    labels: IntArray,
    parts: IntArray | None = None,
    vectors: FloatArray | None = None,
    embed: Embed | None = None,
    counted: Callable[[tuple[str, ...]], tuple[Any, list[str]]] = phrases_in,
) -> list[list[str]]:
    """The phrases that best distinguish each group from the others, the most distinctive first.

    Args:
        texts: The texts.
        labels: The group of each text, from 0 on, -1 for none (n,).
        parts: The part of each group, whose other groups it is told apart from (groups,); by default, all are in one.
        vectors: The vectors of the texts, of length 1 (n, dim).
        embed: Gives phrases such vectors; without both, only words are counted.
        counted: Counts phrases, such as a cached `phrases_in` where the same texts have several groupings.
    """
    from scipy import sparse  # takes long to load

    groups = int(np.max(labels, initial=-1)) + 1
    kept = np.flatnonzero(labels >= 0)
    try:
        present, phrases = counted(tuple(texts[row] for row in kept.tolist()))
    except ValueError:  # no text has any word
        return [[] for _ in range(groups)]
    members = sparse.csr_matrix(
        (np.ones(len(kept), np.float32), (labels[kept], np.arange(len(kept)))), shape=(groups, len(kept))
    )
    sizes = np.maximum(np.asarray(members.sum(1)).ravel(), 1)
    counts = (members @ present).tocsr()  # (groups, phrases): how many texts of the group have the phrase
    common = counts.multiply(1 / sizes[:, None]) >= _COMMON
    found: list[_Candidates] = []
    for named, among in _contrasts(np.zeros(groups, np.int64) if parts is None else parts):
        distinctive = _distinctive(common[among], phrases)
        total = np.asarray(counts[among].sum(0)).ravel()
        rows = np.flatnonzero(among[labels[kept]])
        having = present[rows]
        of_part = np.zeros((len(rows), 1), np.float32) if vectors is None else vectors[kept[rows]]
        mean = of_part.mean(0)
        for group in named:
            own = counts[group]
            member = labels[kept[rows]] == group
            share = own.data / sizes[group]
            elsewhere = (total[own.indices] - own.data + 0.5) / (sizes[among].sum() - sizes[group] + 1)
            tells = distinctive[own.indices] & (share >= _TIMES * elsewhere)
            tells &= own.data >= min(LEAST_TEXTS, sizes[group])
            if (tells & (share >= _COMMON)).any():
                tells &= share >= _COMMON
            if tells.any():
                columns = own.indices[tells]
                scores = (share * np.log(share / elsewhere))[tells]
                middle = unit_vectors(of_part[member].mean(0) - mean)
                own_phrases = [phrases[at] for at in columns]
                found.append(_Candidates(group, own_phrases, scores, having[member][:, columns], middle))
    if embed is not None and vectors is not None:
        found = _weighed(found, embed)
    best: list[list[str]] = [[] for _ in range(groups)]
    for candidates in found:
        best[candidates.group] = _best(candidates.phrases, candidates.scores, candidates.present)
    return best


def _contrasts(parts: IntArray) -> Iterator[tuple[list[int], BoolArray]]:
    """The groups of each part, and those they are told apart from (groups,): its own, or all if it has only one.

    Answers repeat the words of their requests, so that neither says what is special about the other.
    """
    for part in np.unique(parts).tolist():
        own = parts == part
        yield np.flatnonzero(own).tolist(), own if own.sum() > 1 else np.ones(len(parts), bool)


def _distinctive(common: Any, phrases: Sequence[str]) -> BoolArray:
    """Find the phrases that neither begin nor end with a word that is common in most groups (phrases,)."""
    times = np.asarray(common.sum(0)).ravel()
    pale = {phrases[place] for place in np.flatnonzero(times > max(1, common.shape[0] / 2)).tolist()}
    return np.asarray([not pale & {phrase.split()[0], phrase.split()[-1]} for phrase in phrases])


def _weighed(found: Sequence[_Candidates], embed: Embed) -> list[_Candidates]:
    """The candidates, their highest scores times the cosine with the middle of the group, and 0 for all others.

    Where no phrase is near, the scores are as they were.
    """
    highest = [np.argsort(-own.scores, kind="stable")[:EMBEDDED] for own in found]
    texts = [[own.phrases[at] for at in places] for own, places in zip(found, highest)]
    weighed = []
    for own, places, cosines in zip(found, highest, nearness(texts, [own.middle for own in found], embed)):
        scores = np.zeros_like(own.scores)
        scores[places] = own.scores[places] * np.maximum(cosines, 0)
        weighed.append(replace(own, scores=scores) if scores.any() else own)
    return weighed


def nearness(texts: Sequence[Sequence[str]], middles: Sequence[FloatArray], embed: Embed) -> list[FloatArray]:
    """The cosines of texts of each group with its middle. All are embedded at once, each one once.

    Args:
        texts: Some texts of each group.
        middles: Its middle, of length 1 (dim,).
        embed: Gives texts vectors of length 1.
    """
    place = {text: number for number, text in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
    if not place:
        return [np.zeros(0, np.float32) for _ in texts]
    vectors = embed(list(place))
    return [vectors[np.asarray([place[text] for text in own], int)] @ middle for own, middle in zip(texts, middles)]


def _best(candidates: Sequence[str], scores: FloatArray, present: Any) -> list[str]:
    """The phrases with the highest scores; each counts half in a text for each phrase that the text has before it.

    So several wordings of a group are named in place of one in three parts. A phrase that mostly occurs within a longer
    one gives way to it. ``present`` has the candidates of each text of the group (texts, candidates).
    """
    counts = np.asarray(present.sum(0)).ravel()
    weights = np.ones(present.shape[0], np.float32)
    chosen: list[str] = []
    while len(chosen) < _PHRASES and (scores > 0).any():
        gains = scores * (present.T @ weights) / counts
        first = min(np.flatnonzero(gains >= gains.max() * (1 - EQUAL)).tolist(), key=candidates.__getitem__)
        around = [at for at, other in enumerate(candidates) if candidates[first] in other]
        longer = [at for at in around if counts[at] >= _SAME * counts[first]]
        best = max(longer, key=lambda at: (len(candidates[at]), candidates[at]))
        if not any(_overlap(candidates[best], other) for other in chosen):
            chosen.append(candidates[best])
            weights[np.unique(present[:, [first, best]].nonzero()[0])] *= _SAID_BEFORE
        scores = np.where([_overlap(candidates[best], other) for other in candidates], 0, scores)
    return chosen


def _overlap(phrase: str, other: str) -> bool:
    """Return true if one phrase contains the other, or they share two words or two CJK characters."""
    if phrase in other or other in phrase or len({*phrase.split()} & {*other.split()}) > 1:
        return True
    return any(IS_CJK.match(pair) and pair in other for pair in map("".join, pairwise(phrase)))


def told_apart(names: Sequence[str], phrases: Sequence[Sequence[str]]) -> list[str]:
    """The names, those that have nearly the same words as another with a phrase of their own group in parentheses.

    Args:
        names: The names, empty for none.
        phrases: The phrases of each group, the best first.
    """
    words_of = [set(TOKEN.findall(name.lower())) for name in names]
    apart = []
    for name, own, words in zip(names, phrases, words_of):
        alike = [
            set(every)
            for others, every in zip(words_of, phrases)
            if len(words & others) >= _ALIKE * len(words | others)
        ]
        theirs = Counter(phrase for every in alike for phrase in every)
        further = [phrase for phrase in own if theirs[phrase] == 1 and not words & set(phrase.split())]
        apart.append(f"{name} ({further[0]})" if name and len(alike) > 1 and further else name)
    return apart


def distinct_names(candidates: Sequence[Sequence[str]], taken: Sequence[str] = ()) -> list[str]:
    """The first name of each group that no other has; if all are taken, one gets a number.

    Args:
        candidates: The names that each group could have, the best first.
        taken: Names that may not be given.
    """
    names: list[str] = []
    used = set(taken)
    for own in candidates:
        base = own[0] if own else "no words in common"
        numbered = (f"{base} ({number})" for number in range(2, len(candidates) + len(used) + 3))
        name = next(candidate for candidate in [*(own or [base]), *numbered] if candidate not in used)
        used.add(name)
        names.append(name)
    return names
