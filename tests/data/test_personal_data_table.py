"""Redaction of messages of many countries, and its figures in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from personal_data_table import as_markdown, cases, counts, presidio, shares

from turnlens.data.personal.redaction import Redaction

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "personal-data.md"


def test_documentation_has_the_figures_of_the_table() -> None:
    # python tests/data/personal_data_table.py prints them, with what is missed
    page = DOCUMENTATION.read_text("utf-8")
    assert as_markdown() in page
    assert f"tested them on {len(cases())} messages" in page


def test_documentation_has_the_figures_of_presidio() -> None:
    pytest.importorskip("presidio_analyzer", reason="needs the extra redact")
    recall, precision = shares(counts(presidio())["together"])
    assert f"a recall of {recall} and a precision of {precision}" in DOCUMENTATION.read_text("utf-8")


def test_other_text_stays_unchanged() -> None:
    redaction = Redaction.parse("all")
    for text, _ in cases():
        redacted, done = redaction.text(text), 0
        for start, end, word in redaction.finds(text):
            before = text[done:start]
            assert redacted.startswith(before + word)
            redacted, done = redacted[len(before + word) :], end
        assert redacted == text[done:]
