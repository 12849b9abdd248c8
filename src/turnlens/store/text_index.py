"""The full-text index of a store, which it has from its first messages on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnlens._utils.registries import require
from turnlens.data.languages import language_of
from turnlens.store.lance_table import Tables

# Of scripts that put no space between words: Thai to Lao, Burmese, Khmer, and those of Chinese, Japanese and Korean.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOSTLY = 0.2  # of all characters
_MANY = 0.1  # of all texts
_ENGLISH = "English"
_TOGETHER = 20  # messages, which are too short one by one for a language to be told


def add_text_index(tables: Tables, tokenizer: str, language: str, texts: Sequence[str]) -> str:
    """Build the full-text index with the first messages; later messages are found whether they are indexed or not.

    Args:
        tables: The tables, with messages.
        tokenizer: ``"simple"`` (words), ``"icu"`` (words of any languages, as they are), ``"ngram"`` (pairs of
            characters) or another of LanceDB's. If it is empty, one that fits the texts is chosen.
        language: The language of the stems and stop words of ``"simple"``.
        texts: The texts by which the tokenizer is chosen.

    Returns:
        The name of the tokenizer.
    """
    tokenizer = tokenizer or _fitting_tokenizer(texts, language)
    fts = require("lancedb.index", "store").FTS
    if tokenizer == "ngram":
        config = fts(
            base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False, remove_stop_words=False
        )
    elif tokenizer == "icu":
        config = fts(base_tokenizer="icu", stem=False, remove_stop_words=False)
    else:
        config = fts(base_tokenizer=tokenizer, language=language)
    tables.messages.inner.create_index("text", config=config)
    return tokenizer


def has_text_index(tables: Tables) -> bool:
    """Whether texts can be searched."""
    return any(index.index_type == "FTS" for index in tables.messages.inner.list_indices())


def _fitting_tokenizer(texts: Sequence[str], language: str) -> str:
    """Pairs of characters for scripts without spaces, words of any language where many texts have some, else stems."""
    unspaced = [len(_UNSPACED.findall(text)) for text in texts]
    if sum(unspaced) > _MOSTLY * sum(map(len, texts)):
        return "ngram"
    is_mixed = sum(map(bool, unspaced)) > _MANY * len(texts)
    return "icu" if is_mixed or (language == _ENGLISH and _is_foreign(texts)) else "simple"


def _is_foreign(texts: Sequence[str]) -> bool:
    """Whether most texts are in other languages than English."""
    starts = range(0, len(texts), _TOGETHER)
    told = [language_of([{"content": text} for text in texts[start : start + _TOGETHER]]) for start in starts]
    known = [language for language in told if language is not None]
    return known.count("en") < len(known) / 2
