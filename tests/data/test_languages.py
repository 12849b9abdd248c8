import pytest

from turnlens.data.languages import advice, language_of, languages_of, shares, tokenize

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


def test_other_languages_than_english_get_advice() -> None:
    english, german = {"messages": TALKS["en"]}, {"messages": TALKS["de"]}
    command = "turnlens explore chats.csv --model"
    assert advice(languages_of([english, english, german]), command) is None
    told = advice(languages_of([english, german, german]), command)
    assert (
        told is not None and "de 67 %, en 33 %" in told and told.endswith(f"{command} intfloat/multilingual-e5-small")
    )
    assert advice({}, command) is None


def test_rare_languages_are_left_out() -> None:
    assert shares({"en": 995, "de": 5}) == "en 100 %"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("4:30 pm, $12", ["4", "30", "pm", "12"]),
        ("  ... ?! ", []),
        ("", []),
        ("什么时候发货？", ["什", "么", "时", "候", "发", "货"]),
        ("iPhone12有货吗", ["iphone12", "有", "货", "吗"]),
        ("ＡＢＣ　１２", ["abc", "12"]),  # full-width forms and space
        ("カメラ", ["カ", "メ", "ラ"]),
        ("한국어 문장", ["한국어", "문장"]),  # Korean has spaces
        ("हिन्दी में।", ["हिन्दी", "में"]),  # vowel signs stay in their word
        ("naïve Ärger", ["naïve", "ärger"]),
        ("“yes” – no…", ["yes", "no"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert tokenize("cafe\u0301") == tokenize("café")
