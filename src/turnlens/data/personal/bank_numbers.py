"""Numbers of cards and of bank accounts, which have check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from turnlens.data.personal.plain_text import NUMBER_START, Span, numbers_in, runs_in

_BETWEEN = r"(?:[ \t.-]{1,3}|[ \t]{0,2}\r?\n[ \t]{0,2})"  # groups may go on in the next line
# Numbers in lists and dates have such signs between them too, but rarely four digits each.
_BETWEEN_FOURS = r"[ \t]{0,2}[,/_][ \t]{0,2}(?=\d{4})"
_RUN = re.compile(rf"{NUMBER_START}(?<![+(])\d++(?:(?:{_BETWEEN}|{_BETWEEN_FOURS})\d++)*+")
_GROUP = re.compile(r"\d++")
_CARD_DIGITS = range(13, 20)
# The first digits of card numbers by length. Unusual lengths are rare for cards, but common for parcels and devices.
_BEGINNINGS = {
    **{13: ("4",), 14: ("30", "36", "38", "39"), 15: ("34", "37"), 16: (*"23456", "81", "82", "9792")},
    **dict.fromkeys((17, 18, 19), tuple("456")),
}

# The country may be glued to a word (`IBANDE89…`), or stand apart (`DE 89 …`).
_ACCOUNT_START = re.compile(
    r"(?:(?<!\d)[A-Za-z]{2}|(?<![A-Za-z\d])[A-Za-z]{2}(?:[ \t.:-]{1,2}|\r?\n))\d{2}(?=[ \t.-]?[A-Za-z\d]|\r?\n)"
)
_ACCOUNT = re.compile(rf"[A-Za-z]{{2}}(?:{_BETWEEN}|:[ \t]?)?\d{{2}}(?:{_BETWEEN}?[A-Za-z\d]){{11,30}}")
_ACCOUNT_GROUP = re.compile(r"[A-Za-z\d]++")
# Written like an account number, even with wrong check digits: no telephone number is searched inside it.
ACCOUNT_LIKE = re.compile(r"(?<![A-Za-z\d])[A-Z]{2}\d{2}(?: [A-Z\d]{4}){3,7}(?: [A-Z\d]{1,3})?(?![A-Za-z\d])")
_WORD_AFTER = re.compile(r"(?<=\d)[A-Za-z]++$")
_ACCOUNT_LETTERS = range(15, 35)


def cards(text: str) -> Iterator[Span]:
    """Yield numbers of cards: 13 to 19 digits, perhaps in groups, an issuer's beginning and a right check digit."""
    for groups in runs_in(text, _RUN, _GROUP, _CARD_DIGITS.start):
        yield from numbers_in(groups, partial(_card_end, text, groups))


def _card_end(text: str, groups: list[Span], first: int, follows: bool) -> int | None:
    """Return the last group of the longest card number from a group on. One in pairs or single digits stands alone."""
    start, end = groups[first]
    is_spelled = end - start < 4
    if is_spelled and first > 0:
        return None
    longest, digits = None, ""
    for last in range(first, min(len(groups), first + _CARD_DIGITS.stop)):
        start, end = groups[last]
        digits += text[start : min(end, start + _CARD_DIGITS.stop)]
        if len(digits) >= _CARD_DIGITS.stop:
            break
        if len(digits) in _CARD_DIGITS and not re.match(r"[A-Za-z_]", text[end : end + 1]) and is_card(digits):
            longest = last
    return None if is_spelled and longest != len(groups) - 1 else longest


def is_card(digits: str) -> bool:
    """Return true for the number of a card."""
    from stdnum import ean, luhn

    if not digits.startswith(_BEGINNINGS.get(len(digits), ())):
        return False
    is_article = len(digits) == 13 and ean.is_valid(digits)
    return luhn.is_valid(digits) and not is_article


def ibans(text: str) -> Iterator[Span]:
    """Yield international numbers of bank accounts, compact or in groups, with right length and check digits."""
    done = 0
    for start in _ACCOUNT_START.finditer(text):
        if start.start() < done:
            continue
        written = _ACCOUNT.match(text, start.start())
        end = _account_end(text, *written.span()) if written is not None else None
        if end is not None:
            yield start.start(), end
            done = end


def _account_end(text: str, start: int, end: int) -> int | None:
    """Return the end of the longest valid account number, which is the end of a group."""
    longest, letters = None, ""
    for group in _ACCOUNT_GROUP.finditer(text, start, end):
        letters += group[0]
        follows = text[group.end() : group.end() + 1]
        word = _WORD_AFTER.search(group[0])  # `…013000bitte`
        glued = 0 if word is None else len(word[0])
        is_whole = not (follows.isascii() and follows.isalnum())
        if is_whole and len(letters) in _ACCOUNT_LETTERS and is_iban(letters):
            longest = group.end()
        elif glued and len(letters) - glued in _ACCOUNT_LETTERS and is_iban(letters[:-glued]):
            longest = group.end() - glued
    return longest


def is_iban(letters: str) -> bool:
    """Return true for the number of an account."""
    from stdnum import iban
    from stdnum.iso7064 import mod_97_10

    letters = letters.upper()
    # the quick check comes first; of the country only the length and kinds of letters are checked
    return mod_97_10.is_valid(letters[4:] + letters[:4]) and iban.is_valid(letters, check_country=False)
