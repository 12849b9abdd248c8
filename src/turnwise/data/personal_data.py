"""Finding personal data in texts: e-mail addresses, telephone and card numbers, web addresses and given names.

Every pattern takes time in proportion to the text: none can be made to backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Span = tuple[int, int]  # start and end in the text
Finder = Callable[[str], Iterable[Span]]

# Chinese and Japanese are written without spaces: such a letter beside another is no part of its word.
_UNSPACED = r"\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"[^\W{_UNSPACED}]"  # or digit
_LOCAL = re.compile(rf"{_LETTER}|[.+%'’-]")
_UNSPACED_LOCAL = re.compile(r"[\w.+%'’-]")
_DOMAIN = re.compile(rf"@(?:{_LETTER}(?:{_LETTER}|-)*+(?:\.(?:{_LETTER}|-)++)++|\w++(?:\.\w++)++)")
_URL = re.compile(r"(?<![A-Za-z\d])(?:https?://|www\.)[^\s<>\"“”«»，。；！？、）】]++", re.IGNORECASE)
_AFTER_URL = ".,;:!?'’)]}"
_NUMBERS = re.compile(r"(?<![A-Za-z\d_])(?<!\d[.,:/-])[+(]{0,3}+\d++\)?(?:[ \u00a0./-]{0,3}+\(?\d++\)?)*+")
_GROUP = re.compile(r"[+(]{0,3}\d+\)?")
# Not telephone numbers: days, addresses of machines, spans of years, American postcodes.
_OTHER_NUMBER = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?![-./\d])|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2})(?![-./\d])"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?![-./\d])|(?:19|20)\d\d ?- ?(?:19|20)\d\d(?!\d)|\d{5}-\d{4}(?!\d)"
)
# Without signs between: a Chinese mobile number, a North American number, or one with the zero before an area code.
_PLAIN_PHONE = re.compile(r"1[3-9]\d{9}|1?[2-9]\d{2}[2-9]\d{6}|0\d{8,11}")
_CARD_DIGITS = range(13, 20)
_PHONE_DIGITS = range(7, 16)


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, in any script."""
    for found in _DOMAIN.finditer(text):
        start = at = found.start()
        local = _LOCAL if _LOCAL.match(text[at - 1]) else _UNSPACED_LOCAL
        while start > 0 and local.match(text[start - 1]):
            start -= 1
        if start < at:
            yield start, found.end()


def urls(text: str) -> Iterator[Span]:
    """Web addresses with a scheme or ``www``, without the punctuation that follows them in a sentence."""
    for found in _URL.finditer(text):
        yield found.start(), found.start() + len(found[0].rstrip(_AFTER_URL))


def cards(text: str) -> Iterator[Span]:
    """Numbers of 13 to 19 digits, perhaps in groups, that a card may have and whose check digit is right (Luhn)."""
    return _numbers(text, _CARD_DIGITS, _is_card)


def phones(text: str) -> Iterator[Span]:
    """Telephone numbers: with a country code or a zero first, in groups, or plain ones of China and North America."""
    return _numbers(text, _PHONE_DIGITS, _is_phone)


def _numbers(text: str, lengths: range, is_wanted: Callable[[str], bool]) -> Iterator[Span]:
    """Groups of digits that are a wanted number together; it may stand between others, such as a quantity."""
    for run in _NUMBERS.finditer(text):
        if len(run[0]) < lengths.start:
            continue
        groups = [(run.start() + group.start(), run.start() + group.end()) for group in _GROUP.finditer(run[0])]
        first = 0
        while first < len(groups):
            last = _longest_wanted(text, groups, first, lengths, is_wanted)
            if last is not None:
                yield groups[first][0], groups[last][1]
            first = first + 1 if last is None else last + 1


def _longest_wanted(
    text: str, groups: list[Span], first: int, lengths: range, is_wanted: Callable[[str], bool]
) -> int | None:
    start = groups[first][0]
    if first > 0 and not text[start - 1].isspace():
        return None
    longest, digits = None, 0
    for last in range(first, len(groups)):
        begin, end = groups[last]
        digits += sum(letter.isdigit() for letter in text[begin : min(end, begin + lengths.stop + 3)])
        if digits >= lengths.stop:
            break
        following = text[end : end + 1]
        ends = following.isspace() or (last == len(groups) - 1 and not re.match(r"[A-Za-z_%]", following))
        if digits in lengths and ends and is_wanted(text[start:end]):
            longest = last
    return longest


def _is_card(written: str) -> bool:
    digits = re.sub(r"\D", "", written)
    if digits[0] not in "23456":
        return False
    doubled = (2 * int(digit) if place % 2 else int(digit) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_phone(written: str) -> bool:
    if written.startswith("+"):
        return True
    if _OTHER_NUMBER.match(written):
        return False
    groups = re.findall(r"\d+", written)
    sizes = [len(group) for group in groups]
    if len(groups) == 1:
        return bool(_PLAIN_PHONE.fullmatch(groups[0]))
    if sizes[-3:] == [3, 3, 4] and sum(sizes) <= 12:
        return True
    if min(sizes) < 2 or sum(sizes) > 13:
        return False
    if written[0] in "0(":
        return sum(sizes) >= 8 and not groups[0].startswith("000")
    # Lists of numbers have groups of one size; of large amounts (12 000 000) all but the first have three digits; and
    # where a group begins with 0, the telephone number begins there.
    is_list = "-" not in written and (len(set(sizes)) == 1 or set(sizes[1:]) == {3})
    return sum(sizes) >= 9 and not is_list and not any(group[0] == "0" for group in groups)


def names_finder(names: Iterable[str]) -> Finder:
    """A finder of whole names, whatever their case and however they are spaced.

    Args:
        names: The names. Chinese and Japanese ones, in whose texts words are not spaced, are found anywhere.
    """
    pattern = re.compile(_alternatives(_trie(names)), re.IGNORECASE)

    def find(text: str) -> Iterator[Span]:
        return (found.span() for found in pattern.finditer(text))

    return find


_END = ""


def _trie(names: Iterable[str]) -> dict[str, dict]:
    """The letters of all names as a tree, so that thousands of names are one quick pattern."""
    root: dict[str, dict] = {}
    for name in names:
        node = root
        for letter in " ".join(name.split()):
            node = node.setdefault(letter.lower(), {})
        node[_END] = {}
    return root


def _alternatives(root: dict[str, dict]) -> str:
    return rf"(?:(?<!{_LETTER})|(?!{_LETTER})){_branches(root)}(?:(?!{_LETTER})|(?<!{_LETTER}))"


def _branches(node: dict[str, dict]) -> str:
    inner = [
        (r"\s+" if letter == " " else re.escape(letter)) + _branches(rest) for letter, rest in node.items() if letter
    ]
    if not inner:
        return ""
    joined = f"(?:{'|'.join(inner)})"
    return f"{joined}?" if _END in node else joined
