"""Texts as sparse vectors whose inner products are BM25, for databases without word statistics of their own."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_K1, _B = 1.2, 0.75
_USUAL_LENGTH = 12  # words of a message; the true average is not known while a store is being filled


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; in scripts without spaces, pairs of characters."""
    words: list[str] = []
    for word in _WORD.findall(text.lower()):
        if _CJK.search(word) and len(word) > 1:
            words += [word[start : start + 2] for start in range(len(word) - 1)]
        else:
            words.append(word)
    return words


def text_weights(text: str) -> dict[int, float]:
    """The weight of each word in a stored text, by the word's number, without the rarity of the word."""
    words = words_of(text)
    norm = _K1 * (1 - _B + _B * len(words) / _USUAL_LENGTH)
    return {_number(word): count * (_K1 + 1) / (count + norm) for word, count in Counter(words).items()}


def query_weights(text: str) -> dict[int, float]:
    """The weight of each word in a query, by the word's number."""
    return {_number(word): float(count) for word, count in Counter(words_of(text)).items()}


@lru_cache(maxsize=1 << 16)
def _number(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest())
