"""The full-text index of a store, which it has from its first messages on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise._utils.optional import require
from turnwise.store.lance_table import Tables

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHARE_OF_CJK = 0.2  # of all characters


def add_text_index(tables: Tables, tokenizer: str, language: str, texts: Sequence[str]) -> str:
    """Build the full-text index with the first messages; later messages are found whether they are indexed or not.

    Args:
        tables: The tables, with messages.
        tokenizer: ``"simple"`` (words), ``"ngram"`` (pairs of characters) or another of LanceDB's. If it is empty, one
            that fits the texts is chosen.
        language: The language of the stems and stop words of ``"simple"``.
        texts: The texts by which the tokenizer is chosen.

    Returns:
        The name of the tokenizer.
    """
    tokenizer = tokenizer or _fitting_tokenizer(texts)
    fts = require("lancedb.index", "store").FTS
    if tokenizer == "ngram":
        config = fts(
            base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False, remove_stop_words=False
        )
    else:
        config = fts(base_tokenizer=tokenizer, language=language)
    tables.messages.inner.create_index("text", config=config)
    return tokenizer


def has_text_index(tables: Tables) -> bool:
    """Whether texts can be searched."""
    return any(index.index_type == "FTS" for index in tables.messages.inner.list_indices())


def _fitting_tokenizer(texts: Sequence[str]) -> str:
    """The tokenizer that fits texts: pairs of characters for scripts without spaces, else words."""
    characters = sum(map(len, texts)) or 1
    return "ngram" if sum(len(_CJK.findall(text)) for text in texts) / characters > _SHARE_OF_CJK else "simple"
