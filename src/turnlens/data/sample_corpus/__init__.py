"""A small made-up corpus of support conversations, generated from phrase tables, for demos and tests."""

from __future__ import annotations

from turnlens.data.sample_corpus.tables import common, domains
from turnlens.data.sample_corpus.writer import MAX_TURNS, sample_conversations

__all__ = ["MAX_TURNS", "common", "domains", "sample_conversations"]
