"""Courtesies: messages of greetings, thanks and goodbyes alone, which ask for nothing; and those that want no more.

The order of messages tells courtesies in any language where there are conversations. Where each text stands by itself,
words must: a courtesy has one of the first and none but these and the fillers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnlens.data.sentences import GREETING, GREETINGS
from turnlens.groups.naming import tokens_of
from turnlens.groups.phrases import without_placeholders

_THANKING_WORDS = (
    "thank thanks thankyou thx tks ty cheers appreciate appreciated bye goodbye danke dankeschön tschüss merci "
    "gracias adiós grazie arrivederci obrigado obrigada bedankt dank 谢谢 再见"
)
_FILLING_WORDS = (
    "you u so very much a lot many again for your the all help good great nice have day night weekend ok okay there to "
    "and everyone team it that's that is i we really kindly dear sir madam of me now then too well vielen muchas mille "
    "beaucoup schönen guten tag buenos días"
)
_DECLINING_WORDS = "no nope nah none nothing nein nichts non rien nada nee niets não niente 没有"
_MORE_WORDS = (
    "else more anything further other is it i'm im am done all just right need needed want sonst weiter mehr plus "
    "autre d'autre más otra otro mais altro anders meer"
)
# Thanks after what is said, such as ", thank you so much" or "cheers".
_CLOSING = re.compile(
    rf"(?<![\s,–-])(?:[\s,–-]+(?:many[ ])?(?:{'|'.join(_THANKING_WORDS.split())}|tia|ta)\b"
    r"(?:[ ](?:you|a lot|so much|very much|in advance|again)){0,2}){1,3}[\s,.!]*\Z",
    re.IGNORECASE,
)
_THANKS = frozenset(_THANKING_WORDS.split())
_ALL = GREETINGS | _THANKS | frozenset(_FILLING_WORDS.split())
_DECLINES = frozenset(_DECLINING_WORDS.split())
_ALL_OF_DECLINING = _ALL | _DECLINES | frozenset(_MORE_WORDS.split())


def without_courtesies(text: str) -> str:
    """Return a text without the greeting before what is said, and the thanks after it.

    >>> [without_courtesies(text) for text in ("Hi Ann, where is it? Thanks a lot!", "My bag is gone tia")]
    ['where is it?', 'My bag is gone']
    """
    return _CLOSING.sub("", GREETING.sub("", text))


def is_courtesy(text: str) -> bool:
    """Return true if a text is nothing but greetings, thanks and goodbyes.

    >>> [is_courtesy(text) for text in ("Hello, good day", "Thanks a lot ^JS", "Thanks, but where is my parcel?")]
    [True, True, False]
    """
    words = _words_of(text)
    return bool(words & (GREETINGS | _THANKS)) and words <= _ALL


def wants_no_more(text: str) -> bool:
    """Return true if a text only says no to more, as after "Anything else?".

    >>> [wants_no_more(text) for text in ("No", "Nothing else, thank you", "No, that is not what I want")]
    [True, True, False]
    """
    words = _words_of(text)
    return bool(words & _DECLINES) and words <= _ALL_OF_DECLINING


def _words_of(text: str) -> set[str]:
    return {token for token in tokens_of(without_placeholders(text)) if not token[0].isdigit()}


def courtesy_name(texts: Sequence[str]) -> str:
    """A name for a group of which more than half are courtesies; empty if fewer are."""
    words = [_words_of(text) for text in texts if is_courtesy(text)]
    if 2 * len(words) <= len(texts):
        return ""
    greetings = sum(bool(own & GREETINGS) and not own & _THANKS for own in words)
    return "greetings" if 2 * greetings > len(words) else "thanks and goodbyes"
