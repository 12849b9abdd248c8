"""Telephone numbers as many countries write them.

Numbers with a country code are checked by the plan of that country (the package ``phonenumbers``), others by the way
they are written: a zero or brackets first, or groups as a country makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial

from turnlens.data.personal.bank_numbers import ACCOUNT_LIKE, cards, ibans
from turnlens.data.personal.plain_text import NUMBER_START, Span, covered, numbers_in, runs_in
from turnlens.data.personal.web_addresses import ips

_BETWEEN = r"[ \t]{0,2}+(?:[/-][ \t]{0,2}+|\.)?"
_RUN = re.compile(rf"{NUMBER_START}[+(（]{{0,3}}+\d++[)）]?(?:{_BETWEEN}[(（]?\d++[)）]?)*+")
_GROUP = re.compile(r"[+(（]{0,3}\d+[)）]?")
_DIGITS = range(7, 19)  # with what is dialled to call abroad
_NATIONAL_DIGITS = range(7, 14)

_UUID = re.compile(r"(?<![\da-fA-F])[\da-fA-F]{8}-(?:[\da-fA-F]{4}-){3}[\da-fA-F]{12}(?![\da-fA-F])")
# Not telephone numbers: days, spans of years, American postcodes.
_OTHER_NUMBER = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?![-./\d])|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2})(?![-./\d])"
    r"|(?:19|20)\d\d ?- ?(?:19|20)\d\d(?!\d)|\d{5}-\d{4}(?!\d)"
)
_ABROAD = re.compile(r"\+|0011(?=\d)|00(?=[1-9])|011(?=[1-9])")
# Without signs between: a Russian or Chinese mobile number, a North American or Indian one, or one with the zero of
# an area code.
_PLAIN = re.compile(r"89\d{9}|1[3-9]\d{9}|1?[2-9]\d{2}[2-9]\d{6}|[6-9]\d{9}|0[1-9]\d{7,10}")
# The groups that countries make of numbers without a zero first, and how many first digits are only for calls within.
_NATIONAL: dict[tuple[int, ...], tuple[str, int]] = {
    (3, 3, 3): ("ES PL PT CZ SK", 0),
    (3, 2, 2, 2): ("ES PL", 0),
    (2, 3, 2, 2): ("ES PL CH SE", 0),
    (1, 2, 2, 2, 2): ("FR", 0),
    (5, 5): ("IN", 0),
    (3, 4, 4): ("CN", 0),
    (2, 5, 4): ("BR", 0),
    (2, 4, 4): ("GB BR MX AR", 0),
    (3, 7): ("IT DE CO", 0),
    (3, 3, 2, 2): ("TR", 0),
    (1, 3, 3, 2, 2): ("RU", 1),
    (1, 4, 4): ("CL", 0),
    (3, 2, 3): ("NO", 0),
}

# If a number could be a telephone number or an id, the word before it decides.
_PHONE_WORDS = (
    r"\b(?:call(?:ed|s|ing)?|(?:tele)?phone(?:no|nr|number)?|ph|tel|tell?efon\w*|mobile?|mob|cell(?:phone|ulare)?|celular|fax|whatsapp|dial"
    r"|ring|contact|handy|rufen|anruf\w*|appel\w*|portable|téléphon\w*|tél|teléfono|móvil|ll[aá]m\w*|chiam\w*|bel|bellen"
    r"|mobiel|ligar|ligue|zadzwoń|komórk\w*|ring[ae]?|телефон\w*|фон\w*)\b"
    r"|电话|手机|拨打|致电|联系|電話|携帯|फ़ोन|फोन|전화"
)
_ID_WORDS = (
    r"\b(?:order\w*|ticket\w*|case|invoice|tracking|ref|reference|booking|account|contract|parcel|shipment"
    r"|article|item|sku|serial|imei|isbn|ean|id|policy|claim|transaction|batch|product|bestell\w*|auftrag\w*|rechnung\w*"
    r"|sendung\w*|vorgang\w*|kunden-?n\w*|vertrag\w*|artikel\w*|commande|facture|colis|dossier|pedido|factura|ordine|fattura"
    r"|bestelling|factuur|zamówieni\w*|faktur\w*|заказ\w*)\b|订单|单号|编号|快递|运单|注文|伝票|주문"
)
_WORDS = re.compile(rf"(?P<phone>{_PHONE_WORDS})|(?P<id>{_ID_WORDS})", re.IGNORECASE)
_ID_SIGN = re.compile(r"#\W{0,2}$|(?<=[A-Z]{2})-$")  # `#4711`, `PO-4711`; but not `phone #`
_WORDS_BEFORE = 24


def phones(text: str) -> Iterator[Span]:
    """Yield telephone numbers: with a country code or a zero first, in groups, or plain ones of some countries.

    Numbers of accounts and cards, and addresses of machines, are not searched for telephone numbers.
    """
    if not any(map(text.__contains__, "0123456789")):
        return
    text = covered(text, _others(text))
    for groups in runs_in(text, _RUN, _GROUP, _DIGITS.start):
        if not _is_list(text, groups):  # others may stand between numbers, such as quantities
            yield from numbers_in(groups, partial(_phone_end, text, groups))


def _others(text: str) -> Iterator[Span]:
    for find in (ibans, cards, ips):
        yield from find(text)
    for pattern in (ACCOUNT_LIKE, _UUID):
        yield from (match.span() for match in pattern.finditer(text))


def _is_list(text: str, groups: list[Span]) -> bool:
    """Return true if all groups have one length, as in parcel numbers or sums; pairs are a French phone number."""
    sizes = {end - start for start, end in groups}
    return len(groups) > 3 and len(sizes) == 1 and sizes != {2} and text[groups[0][0]] not in "+(（"


def _may_begin(text: str, groups: list[Span], first: int) -> bool:
    """Within a list of numbers a telephone number begins after a space, and not with single digits."""
    start, end = groups[first]
    following, after = groups[min(first + 1, len(groups) - 1)]
    return text[start - 1].isspace() and (end - start > 1 or after - following > 1)


def _phone_end(text: str, groups: list[Span], first: int, follows: bool) -> int | None:
    """Return the last group of the longest telephone number from a group on, preferably of a country's plan."""
    if not (follows or _may_begin(text, groups, first)):
        return None
    start = groups[first][0]
    word = _word_before(text, start)
    best, best_rank, digits = None, 0, 0
    for last in range(first, len(groups)):
        begin, end = groups[last]
        digits += min(end - begin, _DIGITS.stop + 4) - sum(map(text[begin:end].count, "+()（）"))
        if digits >= _DIGITS.stop:
            break
        following, is_last = text[end : end + 1], last == len(groups) - 1
        ends = following.isspace() or following == "/" or (is_last and not re.match(r"[A-Za-z_%]", following))
        if digits in _DIGITS and ends and (rank := phone_rank(text[start:end], word)) >= max(best_rank, 1):
            best, best_rank = last, rank
    return best


def _word_before(text: str, start: int) -> str | None:
    """Return the kind of number that the last telling word before it names: ``phone`` or ``id``."""
    before = re.split(r"[\d\n]", text[max(0, start - _WORDS_BEFORE) : start])[-1]
    kind = "id" if _ID_SIGN.search(before) else None
    for match in _WORDS.finditer(before):
        kind = match.lastgroup
    return kind


def phone_rank(written: str, word: str | None = None) -> int:
    """Return the certainty that a number is a telephone number, from 0 (none) to 3 (it fits a country's plan).

    Args:
        written: Groups of digits.
        word: The kind that the words before it name: ``phone``, ``id`` or ``None``.
    """
    plain = re.sub(r"\(0\)|（0）|[^\d+]", "", written)
    sizes = tuple(map(len, re.findall(r"\d+", written)))
    if (abroad := _ABROAD.match(plain)) is not None:
        rank = _international_rank(plain[abroad.end() :].replace("+", ""))
        is_long = len(plain) - len(abroad[0]) >= _DIGITS.start  # 0049 2024 is not
        if (rank > 1 and is_long) or abroad[0] == "+":
            return 0 if rank == 1 and set(sizes[1:]) == {3} else rank  # +100 000 000 is an amount
    if sum(sizes) not in _NATIONAL_DIGITS or _OTHER_NUMBER.match(written) or word == "id":
        return 0
    if plain.startswith("000"):
        return 0
    return int(_is_national(written, plain, sizes, word))


def _is_national(written: str, digits: str, sizes: tuple[int, ...], word: str | None) -> bool:
    if word == "phone" and min(sizes[1:], default=2) > 1:
        return True
    if len(sizes) == 1 and written[0] not in "(（":
        return bool(_PLAIN.fullmatch(digits))
    if sizes[-3:] == (3, 3, 4) and sum(sizes) <= 12:
        return True
    if written[0] in "0(（":
        return min(sizes) > 1 and sum(sizes) > 7 and not digits.startswith("00")
    return "." not in written and _is_in_a_plan(digits, sizes)


def _is_in_a_plan(digits: str, sizes: tuple[int, ...]) -> bool:
    import phonenumbers

    regions, dialled = _NATIONAL.get(sizes, ("", 0))
    national = digits[dialled:]
    for region in regions.split():
        number = phonenumbers.PhoneNumber(phonenumbers.country_code_for_region(region), int(national))
        if not national.startswith("0") and phonenumbers.is_valid_number_for_region(number, region):
            return True
    return False


def _international_rank(digits: str) -> int:
    """3 for a number that fits a country's plan, 2 if only its length does, 1 for any other that is long enough."""
    import phonenumbers

    code = next((digits[:length] for length in (1, 2, 3) if digits[:length] in _country_codes()), None)
    if code is not None and len(digits) < _DIGITS.stop:
        national = digits[len(code) :]
        number = phonenumbers.PhoneNumber(int(code), int(national or 0), italian_leading_zero=national.startswith("0"))
        if phonenumbers.is_possible_number(number):
            return 3 if phonenumbers.is_valid_number(number) else 2
    return int(9 <= len(digits) <= 15)


@cache
def _country_codes() -> frozenset[str]:
    import phonenumbers

    return frozenset(map(str, phonenumbers.COUNTRY_CODE_TO_REGION_CODE))
