"""Which languages conversations are in."""

from __future__ import annotations

import pytest

from turnlens.data.languages import advice, language_of, shares

SAID = {
    "en": ["Where is my order? It should have come on Monday.", "It left our warehouse yesterday."],
    "de": ["Meine Bestellung ist nicht angekommen.", "Sie hat gestern unser Lager verlassen."],
    "fr": ["Ma commande n'est pas encore arrivée.", "Elle a quitté notre entrepôt hier."],
    "es": ["Mi pedido todavía no ha llegado.", "Salió ayer de nuestro almacén."],
    "zh": ["我的订单还没有到。", "昨天已经从仓库发出了。"],
}
TALKS = {
    language: [{"role": role, "content": text} for role, text in zip(("user", "agent"), texts)]
    for language, texts in SAID.items()
}


@pytest.mark.parametrize("language", SAID)
def test_the_language_of_a_short_conversation(language: str) -> None:
    assert language_of(TALKS[language]) == language


def test_numbers_have_no_language() -> None:
    assert language_of([{"content": "12 + 3"}]) is None


def test_a_few_letters_tell_no_language() -> None:
    assert language_of([{"content": "hello 3"}, {"content": "hi 3"}]) is None
    assert language_of([{"content": "你好"}]) in ("zh", "yue")


def test_advice_is_for_those_whose_conversations_are_mostly_not_english() -> None:
    english, german = {"messages": TALKS["en"]}, {"messages": TALKS["de"]}
    assert advice([english, english, german], "--encoder") is None
    told = advice([english, german, german], "--encoder")
    assert told is not None and "de 67 %, en 33 %" in told and "--encoder intfloat/multilingual-e5-small" in told
    assert advice([], "--model") is None


def test_rare_languages_are_left_out() -> None:
    assert shares({"en": 995, "de": 5}) == "en 100 %"
