"""Conversations as they were said: with texts and vectors that boilerplate and placeholders have no part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnlens.encoders.message_pooling import pool_messages
from turnlens.groups.boilerplate import PLACEHOLDER, Spans, without
from turnlens.report.corpus import Corpus, mapped
from turnlens.store import ConversationStore


def as_said(corpus: Corpus, struck: Sequence[Spans], store: ConversationStore, folder: Path) -> Corpus:
    """The corpus with texts without boilerplate, and vectors of these without placeholders.

    Only messages that have either are embedded again. The store keeps the vectors of whole messages, for search.

    Args:
        corpus: The conversations of the store.
        struck: Where each message has boilerplate, from `boilerplate` (n).
        store: The store, whose encoder is loaded if any message has to be embedded again.
        folder: As for `read_corpus`.
    """
    said = [without(text, spans) for text, spans in zip(corpus.texts, struck)]
    bare = [PLACEHOLDER.sub(" ", text) for text in said]
    changed = np.flatnonzero([text != before for text, before in zip(bare, corpus.texts)])
    if not len(changed):
        return corpus
    encoder = store.encoder().with_cache()
    embedded = encoder.messages([bare[row] for row in changed.tolist()])
    vectors, tokens = mapped(folder / "said.f32", *corpus.vectors.shape), corpus.tokens.copy()
    vectors[:] = corpus.vectors
    vectors[changed], tokens[changed] = embedded["vector"], embedded["tokens"]
    of_conversations = corpus.conversation_vectors
    if encoder.pooling == "messages":
        touched = np.isin(corpus.conversation, corpus.conversation[changed])
        rows = np.flatnonzero(touched & (tokens > 0))
        talks, starts = np.unique(corpus.conversation[rows], return_index=True)
        of_conversations = np.array(of_conversations)
        if len(rows):
            of_conversations[talks] = pool_messages(np.array(vectors[rows]), tokens[rows], starts, encoder.centre)
    return replace(corpus, texts=said, tokens=tokens, vectors=vectors, conversation_vectors=of_conversations)
