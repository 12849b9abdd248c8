"""Conversion of text to UTF-8. UTF-16 is known by its mark or its NULs, older encodings by their letters."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, BinaryIO, cast

from turnlens.formats.bad_input import CHUNK_BYTES, in_pieces, warn

UTF8 = "utf-8"
_BYTES_LOOKED_AT = 1 << 26
_SAMPLE_BYTES = 1 << 16
_CERTAIN = 1000  # letters beyond ASCII after which the encoding is settled
_LEAST_SHARE = 0.8
_LEAST_NULS = 0.02  # of the bytes of UTF-16: the upper halves of ASCII, of which any text has some
_UNDECODED = re.compile(r"[\udc80-\udcff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")
# For texts with single letters beyond ASCII, as in French: encodings, the likeliest first, and the letters of
# languages. A few words are enough to tell them apart in this way, where statistics would need pages.
_OF_EUROPE = ("cp1252", "cp1250", "cp1254", "cp1257", "cp850", "mac_roman")
_ALPHABETS = (
    *("àâæçéèêëîïôœùûü", "äöüß", "áéíñóúüï", "àáâãçéêíóôõúü", "àèéìíîòóùú", "åäöéæøà", "áéëïíóöüè", "áðéíóúýþæö"),
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţșț", "çğıi̇öşüâîû"),
    *("āčēģīķļņšūž", "ąčęėįšųūž", "äõöüšž"),
)
_SIGNS = set("’‘“”„‚«»‹›–—…•·€£¥§°©®™´¡¿ºªµ½²³×±")
# Where they stand together: scripts of their own, told apart by `charset-normalizer`; the likeliest first.
_OF_TWO_BYTES = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_OF_SCRIPTS = ("cp1251", "cp1253", "cp1256", "cp1255", "koi8_r", *_OF_TWO_BYTES, "cp874")


def as_utf8(file: BinaryIO, encoding: str) -> BinaryIO:
    """The file itself, or its text as UTF-8 without a mark; what is none in its encoding stays, for rows to name it."""
    if encoding == UTF8:
        return file
    errors = "strict" if encoding.startswith("utf") else "surrogateescape"
    texts = codecs.iterdecode(iter(partial(file.read, CHUNK_BYTES), b""), encoding, errors)
    return in_pieces(partial(next, codecs.iterencode(texts, UTF8, errors), b""))


def encoding_of(file: BinaryIO) -> str:
    """The encoding of a text: UTF-16, UTF-8, or the likeliest if most letters beyond ASCII are not UTF-8.

    A text in no known encoding, such as one with damaged bytes, counts as UTF-8; its rows that are UTF-8 can be read.
    """
    if utf16 := utf16_of(cast(io.BufferedReader, file).peek(_SAMPLE_BYTES)[:_SAMPLE_BYTES]):
        return utf16
    valid = invalid = 0
    sample = bytearray()
    for piece in _pieces(file):
        text = piece.decode(UTF8, "surrogateescape")
        wrong = len(_UNDECODED.findall(text))
        valid += len(_BEYOND_ASCII.findall(text)) - wrong
        invalid += wrong
        if wrong and len(sample) < _SAMPLE_BYTES:
            sample += piece
        if valid > _CERTAIN + invalid or invalid > _CERTAIN + valid:
            break
    return _legacy(bytes(sample)) or UTF8 if invalid > 2 * valid else UTF8


def utf16_of(beginning: bytes) -> str | None:
    r"""The encoding of a text in UTF-16, with its mark or without, by its first bytes; None for another.

    >>> utf16_of("id,text\n1,你好\n".encode("utf-16-le"))
    'utf-16-le'
    """
    if beginning[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    upper, lower = beginning[::2].count(0), beginning[1::2].count(0)
    is_rare = max(upper, lower) <= _LEAST_NULS * len(beginning) or 0 not in beginning.split(b"\n", 1)[0]
    if min(upper, lower) or is_rare:
        return None
    encoding = "utf-16-be" if upper else "utf-16-le"
    with suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder(encoding)().decode(beginning)
        return encoding if "\n" in text and not _BINARY.search(text.encode()) else None
    return None


def decoded(raw: bytes, encoding: str | None, place: str) -> str:
    r"""Bytes as text by the encoding that a product names, by another name of it, or by the likeliest.

    A guess is reported; bytes that are no text in it become U+FFFD.

    >>> decoded(b"caf\x82", "cp-850", "mail"), decoded(b"caf\xe9", "iso-8859-1-i", "mail")
    ('café', 'café')
    """
    name = _named(encoding or "")
    if name is None or (name in ("ascii", "us-ascii") and not raw.isascii()):  # as mail may call any
        with io.BufferedReader(cast(io.RawIOBase, io.BytesIO(raw))) as file:
            name = encoding_of(cast(BinaryIO, file))
        if not name.startswith("utf"):
            _report_once(place, name)
    return raw.decode(name, "replace")


def _named(encoding: str) -> str | None:
    """The name by which Python knows an encoding that any bytes can be read in."""
    plain = re.sub(r"^x-|[\s'\"]", "", encoding.lower())
    hebrew = re.sub(r"^(iso-?8859-[68])-[ie]$", r"\1", plain)  # with the direction of writing: RFC 1556
    for name in (plain, hebrew, re.sub(r"(?<=[a-z])[-_](?=\d)", "", plain), plain.replace("windows-", "cp")):
        with suppress(LookupError, ValueError):
            b"x\xff".decode(name, "replace")
            return name
    return None


def check_encoding(name: str | None) -> None:
    """Raise ``ValueError`` if there is no encoding of that name."""
    try:
        if name is not None:
            "x".encode(name)
            codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        raise ValueError(f"encoding is {name!r}; expected one that Python knows, such as utf-8 or cp1252") from None


def without_mojibake(text: Any) -> Any:
    """The text, if its UTF-8 was read as Latin-1, read rightly; any other as it is.

    >>> without_mojibake("DobrÃ½ den"), without_mojibake("Dobrý den")
    ('Dobrý den', 'Dobrý den')
    """
    try:
        return text if text.isascii() else text.encode("latin-1").decode(UTF8)
    except (UnicodeError, AttributeError):
        return text


def report(place: str, encoding: str) -> None:
    """Report which encoding was chosen."""
    warn(place, f"not UTF-8; read as {encoding}. If letters are wrong, name the encoding (--encoding)")


_report_once = lru_cache(report)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The lines, or parts of long ones, that have more than ASCII."""
    looked_at = 0
    while looked_at < _BYTES_LOOKED_AT and (piece := file.readline(CHUNK_BYTES)):
        looked_at += len(piece)
        if not piece.isascii():
            yield piece


def _legacy(sample: bytes) -> str | None:
    if _BINARY.search(sample):
        return None
    runs = re.findall(rb"[\x80-\xff]+", sample)
    alone = sum(len(run) == 1 for run in runs)
    if 2 * alone <= len(runs):
        return _of_scripts(sample, _OF_SCRIPTS)
    # the second byte of a letter may look like ASCII
    return _of_europe(sample) or (_of_scripts(sample, _OF_TWO_BYTES) if len(runs) > 3 else None)


def _of_europe(sample: bytes) -> str | None:
    shares = {encoding: _share_known(sample.decode(encoding, "replace")) for encoding in _OF_EUROPE}
    best = max(shares, key=shares.__getitem__)  # the first of equals
    return best if shares[best] >= _LEAST_SHARE else None


def _share_known(text: str) -> float:
    """The share of characters beyond ASCII that are signs or letters of a single language."""
    counts = Counter(_BEYOND_ASCII.findall(text.lower().replace("\xa0", " ")))
    signs = sum(count for letter, count in counts.items() if letter in _SIGNS)
    letters = max(sum(counts[letter] for letter in set(alphabet)) for alphabet in _ALPHABETS)
    return (signs + letters) / max(1, counts.total())


def _of_scripts(sample: bytes, encodings: Sequence[str]) -> str | None:
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=list(encodings), preemptive_behaviour=False)
    scores = {
        name: (round(match.chaos, 1), -match.coherence, encodings.index(name))
        for match in matches
        for name in match.could_be_from_charset
        if name in encodings
    }
    return min(scores, key=scores.__getitem__, default=None)
