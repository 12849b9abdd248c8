"""Words and languages of texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

# Scripts written without spaces give one token per character: Thai to Lao, Myanmar, Khmer, kana,
# Han with its extensions. (Korean is written with spaces.)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Not "anything but \w": the vowel signs of Hindi or Tamil are not \w, and would cut words into pieces.
_SEPARATORS = r"\s!-/:-@\[-`{-~¡¦§«»¿।॥\u2000-\u206f\u3000-\u3004\u3008-\u303f\ufe10-\ufe6f\uff00-\uff0f"
_TOKEN = re.compile(f"[{_UNSPACED}]|[^{_SEPARATORS}{_UNSPACED}]+")


def tokenize(text: str) -> list[str]:
    """Lower-case words without punctuation; single characters where a script has no spaces.

    Full-width and other compatibility forms are folded (Unicode NFKC), so that one word has one spelling.

    >>> tokenize("Book a table, please!")
    ['book', 'a', 'table', 'please']
    >>> tokenize("订单2件，iPhone")
    ['订', '单', '2', '件', 'iphone']
    """
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


_CHARACTERS = 500  # of a conversation
_LOOKED_AT = 200  # conversations
_FEW_LETTERS = 20  # of the Latin alphabet without accents, which many languages share: fewer tell nothing
MULTILINGUAL = "intfloat/multilingual-e5-small"


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


def forget_languages() -> None:
    """Free the 80 MB by which languages are told, before what needs more memory; they are read again when needed."""
    _identifier.cache_clear()


def language_of(messages: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the language of a conversation as a code of ISO 639, such as ``"de"``; ``None`` for too few letters."""
    text = " ".join(message["content"] for message in messages)[:_CHARACTERS]
    letters = sum(map(str.isalpha, text))
    return _identifier().classify(text)[0] if letters >= (_FEW_LETTERS if text.isascii() else 1) else None


def shares(counts: Mapping[str, int]) -> str:
    """Return the commonest languages with their shares, as text."""
    total = sum(counts.values())
    common = Counter(counts).most_common(5)
    return ", ".join(f"{name} {100 * count / total:.0f} %" for name, count in common if count / total >= 0.01)


def languages_of(conversations: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the languages of the first conversations."""
    languages = (language_of(row["messages"]) for row, _ in zip(conversations, range(_LOOKED_AT)))
    return Counter(language for language in languages if language is not None)


def advice(languages: Mapping[str, int], command: str) -> str | None:
    """Return a warning for the default encoder, with the command that helps, if most conversations are not in English.

    Args:
        languages: The number of conversations in each language.
        command: The command, up to the name of an encoder.
    """
    if not languages or languages.get("en", 0) >= sum(languages.values()) / 2:
        return None
    return (
        f"Most conversations are not in English ({shares(languages)}), the only language that the default encoder "
        f"knows; take one of many languages: {command} {MULTILINGUAL}"
    )
