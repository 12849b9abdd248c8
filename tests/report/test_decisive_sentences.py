"""Repeated sentences that decide the answer."""

from __future__ import annotations

import numpy as np

from turnlens.report.boilerplate import Opening, decisive

MATTERS = ["wo ist mein paket", "wie kündige ich", "die rechnung ist falsch"]


def openings(*sentences: str) -> list[Opening]:
    """Thirty messages about three matters in turn, of which each has the next of some sentences."""
    own = [sentences[number % len(sentences)] for number in range(30)]
    return [
        Opening(f"{sentence} {MATTERS[number % 3]}", MATTERS[number % 3], number, {(0, sentence)})
        for number, sentence in enumerate(own)
    ]


def test_a_greeting_decides_nothing_where_the_rest_does() -> None:
    assert decisive(openings("guten tag", "hallo zusammen"), np.eye(3)[np.arange(30) % 3]) == set()


def test_even_where_it_goes_with_one_matter_a_greeting_decides_no_more_than_what_is_said_beside_it() -> None:
    talks = openings("guten tag", "hallo zusammen", "liebes team")
    plain = [Opening(matter, matter, 30 + number, set()) for number, matter in enumerate(MATTERS)]
    vectors = np.eye(3)[np.arange(33) % 3]
    assert decisive([*talks, *plain], vectors) == set()


def test_a_sentence_decides_where_answers_go_with_it_and_not_with_the_rest() -> None:
    assert decisive(openings("lieferung", "konto"), np.eye(2)[np.arange(30) % 2]) == {(0, "lieferung"), (0, "konto")}


def test_few_answers_or_answers_that_are_all_alike_decide_nothing() -> None:
    assert decisive(openings("lieferung", "konto")[:8], np.eye(2)[np.arange(30) % 2]) == set()
    assert decisive(openings("lieferung", "konto"), np.ones((30, 1))) == set()
    assert decisive([], np.ones((0, 1))) == set()
