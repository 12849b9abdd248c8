"""E-mail, web and internet addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from turnwise.data.personal.spans import LETTER, Span, covered

_LOCAL = re.compile(rf"{LETTER}|[.+%'’-]")
_UNSPACED_LOCAL = re.compile(r"[\w.+%'’-]")
_DOMAIN = re.compile(rf"@(?:{LETTER}(?:{LETTER}|-)*+(?:\.(?:{LETTER}|-)++)++|\w++(?:\.\w++)++)")

_REST = r"[^\s<>\"“”«»，。；！？、）】｜|]++"
_AFTER_URL = ".,;:!?'’)]}"
_URL = re.compile(
    rf"(?<![A-Za-z])(?:[a-z][a-z\d+.-]{{0,20}}+://|www\.|localhost(?::\d{{1,5}})?/){_REST}", re.IGNORECASE
)
_BARE_URL = re.compile(
    rf"(?<!{LETTER})(?<![.@/:%-])(?:{LETTER}(?:{LETTER}|-){{0,62}}+\.)++({LETTER}{{1,24}}+)(?::\d{{1,5}}+)?([/?#]{_REST})"
)
_TOP_DOMAIN = re.compile(
    "com|org|net|info|biz|edu|gov|mil|int|app|dev|shop|store|online|site|website|web|xyz|club|cloud|tech|blog|page|link"
    "|live|news|email|help|support|team|world|life|today|agency|example|test|invalid|local|internal"
    # Two letters are a country, unless a file ends in them; `Node.js/Express` is no address.
    "|(?!js|ts|py|md|rb|rs|cs|go|sh|vb|hs|ml)[a-z]{2}",
    re.IGNORECASE,
)
_QUERY = re.compile(r"\?[^=\s]{0,100}=")
_NETWORK_SIZE = re.compile(r"/\d{1,2}")

_IP4 = re.compile(rf"(?<!{LETTER})(?<!\.)(?<![A-Za-z]-)\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!{LETTER}|\.\d)")
_IP6 = re.compile(
    rf"(?<!{LETTER})(?<![:.])(?=[\da-fA-F:.]{{0,43}}\d)([\da-fA-F]{{0,4}}:[\da-fA-F:.]{{2,43}}+)(?!{LETTER}|:)(%\w{{1,15}}+)?"
)
# Before four numbers with dots that are no address.
_VERSION = re.compile(
    r"(?:\b(?:version|ver|build|release|firmware|update|section|chapter|kapitel|abschnitt)|§|\bv)\W{0,3}$"
)
_WORD_BEFORE = 15


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, in any script."""
    for found in _DOMAIN.finditer(text):
        start = at = found.start()
        if found[0].rpartition(".")[2].isdigit():  # package@1.2.3
            continue
        local = _LOCAL if _LOCAL.match(text[at - 1]) else _UNSPACED_LOCAL
        while start > 0 and local.match(text[start - 1]):
            start -= 1
        while start < at and text[start] in "'’.-":  # a quotation mark or a bullet
            start += 1
        if start < at:
            yield start, found.end()


def urls(text: str) -> Iterator[Span]:
    """Web addresses, without the punctuation that follows them in a sentence.

    They have a scheme or ``www``, or else a path or query after the name of a host.
    """
    for found in _URL.finditer(text):
        yield found.start(), _end(found)
    for found in _BARE_URL.finditer(text):
        if _is_web_address(found):
            yield found.start(), _end(found)


def _end(found: re.Match[str]) -> int:
    """Where an address ends; a bracket at its end belongs to it if it was opened there."""
    url = found[0].rstrip(_AFTER_URL)
    closes = found[0][len(url) :].startswith(")") and url.count("(") > url.count(")")
    return found.start() + len(url) + closes


def _is_web_address(found: re.Match[str]) -> bool:
    top, rest = found[1], found[2].rstrip(_AFTER_URL)
    if len(rest) < 2:
        return False
    if top.isdigit():
        host = found[0][: found.start(2) - found.start()].partition(":")[0]
        return _is_address(host) and not _NETWORK_SIZE.fullmatch(rest)
    return bool(_TOP_DOMAIN.fullmatch(top) or _QUERY.search(rest))


def ips(text: str) -> Iterator[Span]:
    """Internet addresses of machines, of both versions; not those that every machine has for itself."""
    longer = list(_ip6_addresses(text))
    yield from longer
    for found in _IP4.finditer(covered(text, longer)):
        before = text[max(0, found.start() - _WORD_BEFORE) : found.start()].lower()
        if _is_address(found[0]) and not _VERSION.search(before):
            yield found.span()


def _ip6_addresses(text: str) -> Iterator[Span]:
    for found in _IP6.finditer(text):
        address = found[1].rstrip(".")
        address = address if address.endswith("::") else address.rstrip(":")
        if address.count(":") > 1 and _is_address(address):
            yield found.start(), found.end() if found[2] else found.start() + len(address)


def _is_address(written: str) -> bool:
    try:
        address = ip_address(written)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
