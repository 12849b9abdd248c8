"""Words of a text in any script: the one tokenizer behind BM25, unigram neighbours and word vectors."""

from __future__ import annotations

import re
import unicodedata

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
