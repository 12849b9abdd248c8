"""Repeated sentences that decide the answer."""

import numpy as np

from turnlens.report.boilerplate import Opening, decisive

TOPICS = ["wo ist mein paket", "wie kündige ich", "die rechnung ist falsch"]


def openings(*sentences: str) -> list[Opening]:
    """Thirty messages about three topics in turn, of which each has the next of some sentences."""
    own = [sentences[number % len(sentences)] for number in range(30)]
    return [
        Opening(f"{sentence} {TOPICS[number % 3]}", TOPICS[number % 3], number, {(0, sentence)})
        for number, sentence in enumerate(own)
    ]


def test_a_greeting_decides_nothing_where_the_rest_does() -> None:
    assert decisive(openings("guten tag", "hallo zusammen"), np.eye(3)[np.arange(30) % 3]) == set()


def test_greetings_of_one_topic_are_not_decisive() -> None:
    talks = openings("guten tag", "hallo zusammen", "liebes team")
    plain = [Opening(topic, topic, 30 + number, set()) for number, topic in enumerate(TOPICS)]
    vectors = np.eye(3)[np.arange(33) % 3]
    assert decisive([*talks, *plain], vectors) == set()


def test_sentences_that_predict_answers_are_decisive() -> None:
    assert decisive(openings("lieferung", "konto"), np.eye(2)[np.arange(30) % 2]) == {(0, "lieferung"), (0, "konto")}


def test_few_or_equal_answers_decide_nothing() -> None:
    assert decisive(openings("lieferung", "konto")[:8], np.eye(2)[np.arange(30) % 2]) == set()
    assert decisive(openings("lieferung", "konto"), np.ones((30, 1))) == set()
    assert decisive([], np.ones((0, 1))) == set()
