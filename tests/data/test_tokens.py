"""The tokenizer, script by script."""

from __future__ import annotations

import pytest

from turnlens.data.languages import tokenize


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
