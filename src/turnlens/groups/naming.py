"""Naming groups by a sentence: the most typical of their messages, without rare words, greetings and signatures.

Candidates are the clauses, and runs of clauses, of the messages nearest to the middle of a group. They gain by the
words that the group has and others have not, and lose by words that few of the group's messages have, by being cut out
of a longer sentence, and by beginning or ending with a clause that has none of the group's own words, such as a
greeting or a signature. The best are embedded, and gain by how near they are to the middle themselves. Most is lost by
a number, or a word that hardly any message has, such as somebody's name; and where even the best is poor, as among mere
names and numbers, there is no sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, unit_vectors
from turnlens.data.sentences import GAP, LONGEST_TEXT
from turnlens.groups.phrases import EMBEDDED, EQUAL, IS_CJK, LEAST_TEXTS, TOKEN, Embed, nearness

_WIDEST = 60  # Latin letters; a longer name is taken only if no clause is shorter
_CJK_WIDTH = 2
_CENTRAL = 100  # messages whose clauses are considered
_TELLING = 0.5  # what clauses gain by the words of the group, and lose by words that few of its messages have
_TELLING_WORDS = 6  # that a clause has at best
_NEAR = 3  # times as much counts the cosine of a clause with its group as that of the text it is from
_USUAL = 0.1  # share of its messages from which on a word is not rare
_FLAW = 0.1  # each word less than three, a word of fewer than three texts of the group, a gap, more sentences at an end
_CUT = 0.3  # what they lose, at each end, by being cut out of a sentence
_PRIVATE = 1.0  # what they lose by a number, or by a word that fewer than three texts have: it may be about somebody
_LEAST = 0.7  # what must be left to the best before it loses by numbers, cuts and width
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_CLAUSE_END = re.compile(r"(?<=[,;:])\s+|(?<=[，；：、])|\s+[-–—]+\s+")
_MARKS = re.compile(r"\s*([,.!?;:…])(?:\s*\1)*")  # the same one, perhaps several times
_LONG_NUMBER = re.compile(r"(?<![\w-])[\w-]*\d{5,}[\w-]*")  # somebody's telephone or order, with letters around it
_DIGITS = 3  # of a number with letters before it
_QUOTED = re.compile(r"[“„«‹\"]([^“”„«»‹›\"]*)[“”»›\"]?")
_LOOSE = " ,;:，；：、-–—"
_CLOSING = _LOOSE + ".!?…)]}»”"  # does not begin a name


@dataclass(frozen=True)
class _Words:
    """In how many texts words occur.

    Attributes:
        everywhere: In all groups.
        within: In each group.
        sizes: The number of texts of each group (groups,).
    """

    everywhere: Counter[str]
    within: Sequence[Counter[str]]
    sizes: IntArray


def name_sentences(
    texts: Sequence[str],
    vectors: FloatArray,
    labels: IntArray,
    wanted: BoolArray | None = None,
    embed: Embed | None = None,
) -> list[str]:
    """A sentence for each group that is typical of it; empty if none is, or none is wanted.

    Args:
        texts: The texts, each once (n).
        vectors: Their vectors, of length 1 (n, dim).
        labels: The group of each text, from 0 on, -1 for none (n,).
        wanted: The groups to name (groups,); by default all.
        embed: Gives clauses such vectors; by default, only those of whole texts count.
    """
    if wanted is not None and not wanted.any():
        return [""] * len(wanted)
    words = _words_of(texts, labels)
    names = [""] * len(words.sizes)
    found: dict[int, tuple[dict[str, tuple[float, float]], str]] = {}
    middles = []
    for group in range(len(names)):
        if words.sizes[group] and (wanted is None or wanted[group]):
            rows = np.flatnonzero(labels == group)
            middles.append(unit_vectors(vectors[rows].mean(0)))
            cosines = vectors[rows] @ middles[-1]
            central = np.argsort(-cosines, kind="stable")[:_CENTRAL]
            shown = [_LONG_NUMBER.sub(GAP, texts[row]) for row in rows[central]]
            found[group] = _candidates(shown, cosines[central], words, group)
    near = [np.zeros(len(best), np.float32) for best, _ in found.values()]
    if embed is not None:
        near = nearness([list(best) for best, _ in found.values()], middles, embed)
    for (group, (best, most)), own in zip(found.items(), near):
        names[group] = _tidy(_best(best, own) or most)
    return names


def _candidates(
    texts: Sequence[str], cosines: FloatArray, words: _Words, group: int
) -> tuple[dict[str, tuple[float, float]], str]:
    """The best clauses, each with its score and how typical it is; and what most say word for word, empty for none."""
    telling = _telling(words, group)
    strongest = sorted(telling.values(), reverse=True)[:_TELLING_WORDS]
    kept = {word for word, weight in telling.items() if weight >= strongest[0] / 2}
    usual = _USUAL * words.sizes[group]
    shared = min(LEAST_TEXTS, words.sizes[group])  # a macro's words may be in no other text
    said: Counter[str] = Counter()
    candidates: dict[str, tuple[float, float]] = {}
    for text, cosine in zip(texts, cosines.tolist()):
        for shown, is_vague, costs in _clauses(text, kept):
            tokens = tokens_of(shown)
            if not tokens:
                continue
            said[shown] += not any(map(_is_number, tokens))
            told = sum(telling.get(word, 0) for word in set(tokens)) / max(sum(strongest), 1e-9)
            common = [0 if _is_number(word) else min(1, words.within[group][word] / usual) for word in tokens]
            rare = 1 - sum(common) / len(common)
            private = any(_is_number(word) or words.everywhere[word] < shared for word in tokens)
            own = any(words.within[group][word] < min(LEAST_TEXTS, usual) for word in tokens)
            typical = cosine + _TELLING * min(1, told) - _TELLING * rare
            typical -= _FLAW * (own + max(0, 3 - len(tokens))) + _TELLING * is_vague
            score = typical - _PRIVATE * private - costs - 2 * max(0, _width(shown) / _WIDEST - 1)
            candidates[shown] = max(candidates.get(shown, (score, typical)), (score, typical))
    best = sorted(candidates, key=lambda clause: -candidates[clause][0])[:EMBEDDED]
    most = max(said, key=lambda clause: (said[clause], len(clause)), default="")
    most = most if said[most] >= max(LEAST_TEXTS, len(texts) / 2) else ""
    return {clause: candidates[clause] for clause in best}, most


def _best(candidates: Mapping[str, tuple[float, float]], near: FloatArray) -> str:
    """The clause with the highest score and nearness; empty if there is none, or it is not typical enough."""
    if not candidates:
        return ""
    scores = np.asarray([score for score, _ in candidates.values()]) + _NEAR * near
    best = list(candidates)[int(np.argmax(scores >= scores.max() - EQUAL))]
    return best if candidates[best][1] >= _LEAST else ""


def _telling(words: _Words, group: int) -> dict[str, float]:
    """Weigh each word of a group by how well it tells it from the others, 0 or more."""
    size, others = int(words.sizes[group]), int(words.sizes.sum() - words.sizes[group])
    weights = {}
    for word, count in words.within[group].items():
        if not _is_number(word):
            elsewhere = (words.everywhere[word] - count + 1) / (others + 2)
            weights[word] = count / size * max(0.0, float(np.log(count / size / elsewhere)))
    return weights


def _words_of(texts: Sequence[str], labels: IntArray) -> _Words:
    sizes = np.bincount(labels[labels >= 0])
    within: list[Counter[str]] = [Counter() for _ in sizes]
    everywhere: Counter[str] = Counter()
    for text, label in zip(texts, labels.tolist()):
        if label >= 0:
            within[label].update(set(tokens_of(text[:LONGEST_TEXT])))
    for counts in within:
        everywhere.update(counts)
    return _Words(everywhere, within, sizes)


def tokens_of(text: str) -> list[str]:
    """The words and numbers of a text, and pairs of CJK characters."""
    tokens = []
    for token in TOKEN.findall(text.lower()):
        if IS_CJK.match(token):
            tokens += [token[start : start + 2] for start in range(max(1, len(token) - 1))]
        else:
            tokens.append(token)
    return tokens


def _clauses(text: str, telling: Collection[str]) -> Iterator[tuple[str, bool, float]]:
    """Each clause, and each run that is no wider than a name should be.

    With each comes true if it begins or ends with a clause without any telling word, and what it loses by cuts from
    clauses that have one.
    """
    text = "\n".join(" ".join(line.split()) for line in text[:LONGEST_TEXT].splitlines())
    spans: list[tuple[int, int, bool, bool]] = []  # start, end, begins a sentence, ends a sentence
    place = 0
    for sentence in filter(str.strip, _SENTENCE_END.split(text)):
        clauses = [clause for clause in _CLAUSE_END.split(sentence) if clause.strip()]
        for number, clause in enumerate(clauses):
            start = text.index(clause, place)
            place = start + len(clause)
            spans.append((start, place, number == 0, number == len(clauses) - 1))
    tells = [not set(tokens_of(text[start:end])).isdisjoint(telling) for start, end, *_ in spans]
    foremost, hindmost = (tells.index(True), len(tells) - 1 - tells[::-1].index(True)) if any(tells) else (0, -1)
    for first, (start, _, begins, _) in enumerate(spans):
        for last in range(first, len(spans)):
            _, end, _, ends = spans[last]
            piece = " ".join(text[start:end].strip(_LOOSE + GAP).lstrip(_CLOSING).split())
            if last > first and _width(piece) > _WIDEST:
                break
            is_cut = text[start:end].rstrip(_CLOSING).endswith(GAP)
            before = 0.0 if first <= foremost else _FLAW if begins else _CUT
            after = 0.0 if last >= hindmost else _FLAW if ends else _CUT
            is_vague = not (tells[first] and tells[last])
            yield piece.replace(GAP, "…"), is_vague, before + after + _FLAW * (GAP in piece) + _CUT * is_cut


def _tidy(name: str) -> str:
    """The name with a capital, without quotation marks around it, each punctuation mark once, and not too long."""
    name = " ".join(name.split())
    name = quoted[1] if (quoted := _QUOTED.fullmatch(name)) else name
    name = _MARKS.sub(lambda marks: "…" if marks[0].count(".") > 1 else marks[1], name).replace("….", "…").rstrip("…")
    name = name[:1].upper() + name[1:]
    return name if len(name) <= 2 * _WIDEST else name[: 2 * _WIDEST].rsplit(" ", 1)[0] + " …"


def _is_number(word: str) -> bool:
    """Return true for numbers, and what looks like that of a booking."""
    return word[0].isdigit() or sum(map(str.isdigit, word)) >= _DIGITS


def _width(text: str) -> int:
    """The width in Latin letters."""
    return sum(_CJK_WIDTH if IS_CJK.match(character) else 1 for character in text)
