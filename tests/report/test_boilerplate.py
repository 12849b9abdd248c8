"""Boilerplate in messages."""

import numpy as np

from turnlens.groups.phrases import without_placeholders
from turnlens.report.boilerplate import find_boilerplate, without

ASKED = [f"Wo ist {3 * chr(97 + number)}?" for number in range(20)]
SIGNATURE = "\nVon meinem Telefon gesendet."
AUTOMATIC = "Danke für Ihre Nachricht! Wir haben sie erhalten und melden uns in den nächsten zwei Tagen bei Ihnen."


def struck(*said: list[str]) -> list[str]:
    """The boilerplate struck in the messages of conversations, of which each alternates between two roles."""
    texts = [text for each in said for text in each]
    conversation = np.repeat(np.arange(len(said)), [len(each) for each in said])
    role = np.concatenate([np.arange(len(each)) % 2 for each in said])
    spans = find_boilerplate(texts, conversation, role)
    return [" | ".join(text[start:end].strip() for start, end in own) for text, own in zip(texts, spans)]


def test_repeated_endings_are_boilerplate_in_any_language() -> None:
    found = struck(*([text + SIGNATURE] for text in ASKED), ["Wo ist der Bus?"])
    assert found == [SIGNATURE.strip()] * 20 + [""]


def test_requests_that_are_repeated_are_not_struck() -> None:
    greetings = ["Hallo!", "Guten Tag!"]
    assert not any(struck(*([f"{greetings[n % 2]} Ich möchte kündigen."] for n in range(30))))
    assert not any(struck(*(["Ich möchte kündigen."] for _ in range(30))))


def test_signatures_beside_macros_are_boilerplate() -> None:
    macros = [f"Bitte prüfen Sie {3 * chr(97 + number)}." for number in range(12)]
    agents = ["Zoé Müller", "Jo", "Tom Becker"]

    def signed(opening: str = "") -> list[list[str]]:
        return [
            [text, f"{opening.format(3 * chr(97 + number % 9))}{macros[number % 12]}\nGruß\n{agents[number // 12 % 3]}"]
            for number, text in enumerate(2 * ASKED + 2 * ASKED)
        ]

    for opening in ("", "Guten Tag!\n", "Liebe Frau {},\n"):
        found = struck(*signed(opening))[1::2]
        assert all(own.endswith(("Gruß | Zoé Müller", "Gruß | Jo", "Gruß | Tom Becker")) for own in found), opening
        assert not any("Bitte" in own for own in found), opening


def test_quotes_and_signatures_are_boilerplate() -> None:
    quoted = "Ja.\nAm Montag schrieb Eva:\n> Kommst du?\n> Eva"
    signed = "Bitte stornieren\n-- \nEva Roth\nEinkauf"
    assert struck([quoted], [signed]) == ["Am Montag schrieb Eva:\n> Kommst du?\n> Eva", "-- \nEva Roth\nEinkauf"]


def test_only_automatic_replies_are_boilerplate_as_a_whole() -> None:
    found = struck(*([text, AUTOMATIC, "ja", f"Das klären wir, {text}"] for text in ASKED))
    assert found == ["", AUTOMATIC, "", ""] * 20


def test_usual_answers_are_not_automatic_replies() -> None:
    asked_back = [[text, "Gern, welche Nummer hat sie?", "12", AUTOMATIC] for text in ASKED[:5]]
    assert not any(struck(*([text, AUTOMATIC] for text in ASKED[5:]), *asked_back))


def test_texts_without_what_is_struck_and_without_placeholders() -> None:
    assert without("a b c d", ((0, 2), (4, 6))) == "b d"
    assert without_placeholders("call [PHONE] or XXXX-1234, __num__ days, [email]").count("\ufffc") == 4
    assert without_placeholders("list[0] <b>bold</b> xx") == "list[0] <b>bold</b> xx"


def test_decisive_choices_of_a_form_are_no_boilerplate() -> None:
    chosen = ["Wo bleibt mein Geld?", "Der Ofen heizt nicht mehr."]
    asked = [f"{chosen[number % 2]} {text}{SIGNATURE * (number % 3 == 0)}" for number, text in enumerate(ASKED)]
    answers = [f"Antwort {number % 2}, {text}" for number, text in enumerate(ASKED)]
    texts = [text for pair in zip(asked, answers) for text in pair]
    conversation, role = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    vectors = np.eye(2)[conversation % 2]

    def edges(vectors: np.ndarray | None) -> set[str]:
        found = find_boilerplate(texts, conversation, role, vectors)
        return {text[start:end].strip() for text, own in zip(texts, found) for start, end in own}

    assert edges(None) == {*chosen, SIGNATURE.strip()}
    assert edges(vectors) == {SIGNATURE.strip()}
    assert edges(np.eye(20)[conversation]) == {*chosen, SIGNATURE.strip()}  # no two answers are alike
