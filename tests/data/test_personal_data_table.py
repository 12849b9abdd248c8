"""Redaction of messages of many countries, and its figures in the documentation."""

from pathlib import Path

import pytest
from made_cases import made_cases
from personal_data_table import as_markdown, cases, countries, counts, made_as_markdown, presidio, shares, written_cases

from turnlens.data.personal.redaction import NOT_FOUND, Redaction

DOCS = Path(__file__).parents[2] / "docs"
LOG = DOCS / "research-log" / "personal-data.md"


def test_documentation_has_the_figures_of_the_table() -> None:
    # python tests/data/personal_data_table.py prints them, with what is missed
    page, log = (DOCS / "personal-data.md").read_text("utf-8"), LOG.read_text("utf-8")
    assert f"**Not found** are {NOT_FOUND}" in page
    recall, precision = shares(counts()["together"])
    assert f"in {len(cases())} messages of our own they find {recall}, with a precision of {precision} (" in page
    assert as_markdown() in log and made_as_markdown() in log
    assert f"on {len(cases())} messages" in log
    after_a_word, alone = countries()
    listed = ", ".join(country if country in alone else f"*{country}*" for country in after_a_word)
    assert f"Countries, *those after a word only*: {listed}." in log


def test_secrets_and_national_ids_are_found() -> None:
    together = counts()
    assert together["secrets"]["right"] >= 42 and together["secrets"]["found"] == together["secrets"]["right"]
    assert together["national_ids"]["right"] >= 64 and together["national_ids"]["found"] == 64
    assert sum(map(len, made_cases().values())) >= 150
    for text in made_cases()["nothing: hashes"] + made_cases()["nothing: dates"] + made_cases()["nothing: sentences"]:
        assert Redaction.parse("all").text(text) == text


@pytest.mark.slow
def test_documentation_has_the_figures_of_presidio() -> None:
    pytest.importorskip("presidio_analyzer", reason="needs the extra redact")
    recall, precision = shares(counts(presidio(), written_cases)["together"])
    assert f"a recall of {recall} and a precision of {precision}" in LOG.read_text("utf-8")


def test_other_text_stays_unchanged() -> None:
    redaction = Redaction.parse("all")
    for text, _ in cases():
        redacted, done = redaction.text(text), 0
        for start, end, word in redaction.finds(text):
            before = text[done:start]
            assert redacted.startswith(before + word)
            redacted, done = redacted[len(before + word) :], end
        assert redacted == text[done:]
