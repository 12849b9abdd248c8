"""Naming groups by the phrases that occur in their texts and not in those of other groups.

Class-based TF-IDF (Grootendorst, BERTopic, 2022): the score of a phrase is the share of the group's texts that contain
it, weighted by its rarity over all groups. Phrases have up to three words; in Chinese, Japanese and Korean, two to six
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from turnwise._utils.vectors import FloatArray, IntArray

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’-][^\W_{_CJK}]+)*")
_BREAK = re.compile(r"[^\w\s'’-]+|\n|\s-+\s")  # a phrase never crosses one of these
_IS_CJK = re.compile(rf"[{_CJK}]")
_CJK_SIZES = (2, 3, 4, 5, 6)
_MOST_PHRASES = 50_000
_LONGEST_TEXT = 4000  # characters
_LEAST_TEXTS = 0.03  # the share of a group's texts that a phrase must occur in to name the group
_SAME = 0.6  # if this share of the texts with a phrase also has a longer phrase around it, the longer one is better
# Alone or at the ends of a phrase, these words say nothing. They name a group only if it has no other words.
_PALE_WORDS = """
    a about all also am an and any are as at be been but by can could did do does don't for from get got had has
    have he her him his how i i'd i'll i'm i've if in into is it it's its just let like may me might my no not of
    on one or our out please she should so some than that that's the their them then there these they this to too
    up us was we were what what's when where which who will with would you you're your"""
_PALE = frozenset(_PALE_WORDS.split())


def phrases_of_text(text: str) -> list[str]:
    """The phrases of a text: up to three words beside each other, and two to six CJK characters.

    >>> phrases_of_text("Cancel my order 123. Thanks!")
    ['cancel', 'my', 'order', 'cancel my order', 'thanks']
    >>> phrases_of_text("退款")
    ['退款']
    """
    phrases, runs = [], []
    for clause in _BREAK.split(text[:_LONGEST_TEXT].lower()):
        words = []
        for token in _TOKEN.findall(clause):
            if _IS_CJK.match(token):
                phrases += [
                    token[start : start + size] for size in _CJK_SIZES for start in range(len(token) - size + 1)
                ]
            elif not token[0].isdigit():  # numbers do not describe a group
                words.append(token)
        runs += [words[start : start + size] for size in (1, 2, 3) for start in range(len(words) - size + 1)]
    return phrases + [" ".join(run) for run in runs if len(run) == 1 or not _PALE & {run[0], run[-1]}]


def name_phrases(texts: Sequence[str], labels: IntArray, count: int = 8) -> list[list[str]]:
    """The phrases that best distinguish each group from the others, the most distinctive first.

    Args:
        texts: The texts.
        labels: The group of each text, from 0 on, -1 for none (n,).
        count: The most phrases for a group.
    """
    groups = int(np.max(labels, initial=-1)) + 1
    kept = np.flatnonzero(labels >= 0)
    vectorizer = CountVectorizer(analyzer=phrases_of_text, binary=True, max_features=_MOST_PHRASES, dtype=np.float32)
    try:
        present = vectorizer.fit_transform([texts[row] for row in kept.tolist()])
    except ValueError:  # no text has any word
        return [[] for _ in range(groups)]
    phrases = vectorizer.get_feature_names_out().tolist()
    members = sparse.csr_matrix(
        (np.ones(len(kept), np.float32), (labels[kept], np.arange(len(kept)))), shape=(groups, len(kept))
    )
    sizes = np.maximum(np.asarray(members.sum(1)).ravel(), 1)
    shares = (members @ present).multiply(1 / sizes[:, None]).tocsr()  # (groups, phrases)
    rarity = np.log1p(1 / np.maximum(np.asarray(shares.sum(0)).ravel(), 1e-9))
    return [_best(shares[group], rarity, phrases, count) for group in range(groups)]


def _best(shares: sparse.csr_matrix, rarity: FloatArray, phrases: Sequence[str], count: int) -> list[str]:
    """The best phrases of a group. No phrase is part of another one that occurs in most of the same texts."""
    frequent = {phrases[place]: (share, share * rarity[place]) for place, share in zip(shares.indices, shares.data)}
    telling = {phrase: both for phrase, both in frequent.items() if phrase not in _PALE} or frequent
    enough = {phrase: both for phrase, both in telling.items() if both[0] >= _LEAST_TEXTS} or telling
    chosen: list[str] = []
    for phrase in sorted(enough, key=lambda candidate: (-enough[candidate][1], candidate)):
        longer = [other for other in enough if phrase in other and enough[other][0] >= _SAME * enough[phrase][0]]
        best = max(longer, key=lambda other: (len(other), other))
        if not any(_overlap(best, other) for other in chosen):
            chosen.append(best)
        if len(chosen) == count:
            break
    return chosen


def _overlap(phrase: str, other: str) -> bool:
    """Whether two phrases say nearly the same: one contains the other, or they share two CJK characters."""
    if phrase in other or other in phrase:
        return True
    return any(_IS_CJK.match(pair) and pair in other for pair in map("".join, pairwise(phrase)))


def distinct_names(phrases: Sequence[Sequence[str]], taken: Sequence[str] = (), words: int = 3) -> list[str]:
    """A name for each group, made from its phrases. If two groups would get the same name, one gets a number.

    Args:
        phrases: The phrases of each group.
        taken: Names that may not be given.
        words: How many phrases make up a name.
    """
    names: list[str] = []
    used = set(taken)
    for own in phrases:
        base = ", ".join(own[:words]) or "no words"
        longer = [", ".join(own[: words + further]) for further in range(1, len(own) - words + 1)]
        numbered = (f"{base} ({number})" for number in range(2, len(phrases) + len(used) + 3))
        name = next(candidate for candidate in [base, *longer, *numbered] if candidate not in used)
        used.add(name)
        names.append(name)
    return names
