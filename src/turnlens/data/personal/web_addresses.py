"""E-mail, web and internet addresses, and names of accounts, such as `@ann_lee`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from turnlens.data.personal.plain_text import LETTER, Span, covered

_LOCAL = re.compile(rf"{LETTER}|[.+%'’-]")
_UNSPACED_LOCAL = re.compile(r"[\w.+%'’-]")
_DOMAIN = re.compile(rf"@(?:{LETTER}(?:{LETTER}|-)*+(?:\.(?:{LETTER}|-)++)++|\w++(?:\.\w++)++)")

# `ann[at]example[dot]org`, `ann%40example.com`, `ann @ example.com`
_AT = r"(?:[ \t]{0,2}[\[({][ \t]?(?:at|@)[ \t]?[\])}][ \t]{0,2}|%40|[ \t]@[ \t]?|@[ \t])"
_DOT = r"(?:\.|[ \t]{0,2}[\[({][ \t]?(?:dot|\.)[ \t]?[\])}][ \t]{0,2})"
_DISGUISED = re.compile(rf"{_AT}{LETTER}(?:{LETTER}|-)*+(?:{_DOT}({LETTER}(?:{LETTER}|-)*+))++", re.IGNORECASE)
_LONGEST_QUOTED = 66  # `"john doe"@example.org`, with its quotation marks
_SECRET = r"[\w.%+~-]{0,100}+:[^\s/?#]{0,200}@"  # `user:secret@`
_CREDENTIALS = re.compile(rf"(?<=://){_SECRET}[\w.-]++")

_REST = r"[^\s<>\"“”«»，。；！？、）】｜|]++"
_AFTER_URL = ".,;:!?'’)]}"
_URL = re.compile(
    rf"(?<![A-Za-z])(?:[a-z][a-z\d+.-]{{0,20}}+://|www\.|localhost(?::\d{{1,5}})?/)(?:{_SECRET})?{_REST}", re.IGNORECASE
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

_VERSION_END = r"-(?i:alpha|beta|rc|pre|dev|snapshot|release|final|hotfix)"  # 1.2.3.4-beta
_IP4 = re.compile(rf"(?<!{LETTER})(?<!\.)(?<![A-Za-z]-)\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!{LETTER}|\.\d|{_VERSION_END})")
_IP6 = re.compile(
    rf"(?<!{LETTER})(?<![:.])(?=[\da-fA-F:.]{{0,43}}\d)([\da-fA-F]{{0,4}}:[\da-fA-F:.]{{2,43}}+)(?!{LETTER}|:)(%\w{{1,15}}+)?"
)
# Before four numbers with dots that are no address.
_VERSION = re.compile(
    r"(?:\b(?:version|ver|build|release|firmware|update|section|chapter|kapitel|abschnitt)|§|\bv)\W{0,3}$"
)
_WORD_BEFORE = 15


def emails(text: str) -> Iterator[Span]:
    """Yield e-mail addresses in any script, and names with secrets before a host."""
    credentials = [match.span() for match in _CREDENTIALS.finditer(text)]
    yield from credentials
    text = covered(text, credentials)
    for match in _DOMAIN.finditer(text):
        if match[0].rpartition(".")[2].isdigit():  # package@1.2.3
            continue
        start = _local_start(text, match.start())
        if start < match.start():
            yield start, match.end()
    done = 0
    for match in _DISGUISED.finditer(text):
        start = _local_start(text, match.start(), done)
        done = match.end()
        if start < match.start() and _TOP_DOMAIN.fullmatch(match[1]):
            yield start, match.end()


def _local_start(text: str, at: int, since: int = 0) -> int:
    """Return the start of the local part before a place, no earlier than ``since``, or the place itself."""
    start = at
    if text[at - 1 : at] == '"':
        opening = text.rfind('"', max(since, at - _LONGEST_QUOTED), at - 1)
        return at if opening < 0 or "\n" in text[opening:at] else opening
    local = _LOCAL if _LOCAL.match(text[at - 1]) else _UNSPACED_LOCAL
    while start > since and local.match(text[start - 1]):
        start -= 1
    while start < at and text[start] in "'’.-":  # a quotation mark or a bullet
        start += 1
    return start


def urls(text: str) -> Iterator[Span]:
    """Yield web addresses, without the punctuation that follows them in a sentence.

    They have a scheme or ``www``, or else a path or query after the name of a host.
    """
    for match in _URL.finditer(text):
        yield match.start(), _end(match)
    for match in _BARE_URL.finditer(text):
        if _is_web_address(match):
            yield match.start(), _end(match)


def _end(match: re.Match[str]) -> int:
    """Return the end of an address; a bracket at its end belongs to it if it was opened there."""
    url = match[0].rstrip(_AFTER_URL)
    closes = match[0][len(url) :].startswith(")") and url.count("(") > url.count(")")
    return match.start() + len(url) + closes


def _is_web_address(match: re.Match[str]) -> bool:
    top, rest = match[1], match[2].rstrip(_AFTER_URL)
    if len(rest) < 2:
        return False
    if top.isdigit():
        host = match[0][: match.start(2) - match.start()].partition(":")[0]
        return _is_address(host) and not _NETWORK_SIZE.fullmatch(rest)
    return bool(_TOP_DOMAIN.fullmatch(top) or _QUERY.search(rest))


def ips(text: str) -> Iterator[Span]:
    """Yield internet addresses, IPv4 and IPv6, except those by which a machine addresses itself."""
    longer = list(_ip6_addresses(text))
    yield from longer
    for match in _IP4.finditer(covered(text, longer)):
        before = text[max(0, match.start() - _WORD_BEFORE) : match.start()].lower()
        if _is_address(match[0]) and not _VERSION.search(before):
            yield match.span()


def _ip6_addresses(text: str) -> Iterator[Span]:
    for match in _IP6.finditer(text):
        address = match[1].rstrip(".")
        address = address if address.endswith("::") else address.rstrip(":")
        if address.count(":") > 1 and _is_address(address):
            yield match.start(), match.end() if match[2] else match.start() + len(address)


def _is_address(written: str) -> bool:
    try:
        address = ip_address(written)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


_HANDLE = re.compile(
    rf"(?<!{LETTER})(?<![@./])@(?=[A-Za-z_]){LETTER}(?:{LETTER}|-|\.(?={LETTER})){{1,38}}(?!{LETTER}|[@/(])"
)
# What programs and chats write after such a sign.
_NO_NAMES = (
    "media import charset keyframes override deprecated param params return returns throws property staticmethod "
    "classmethod dataclass test before after autowired component everyone here channel all team home"
)


def handles(text: str) -> Iterator[Span]:
    """Yield names of accounts with ``@`` before them."""
    for match in _HANDLE.finditer(text):
        if match[0][1:].lower() not in _NO_NAMES.split():
            yield match.span()
