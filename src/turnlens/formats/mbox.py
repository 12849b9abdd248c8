"""E-mail threads: a mailbox in mbox format, as Thunderbird, Apple Mail, Google Takeout and mailing lists write it.

A thread is a conversation: messages that name one another in ``In-Reply-To`` or ``References``, in the order of their
dates. The role is the sender's name, or the address without one; ``address`` and ``message_id`` are labels, and
``reply_to`` is the message answered. In replies, the signature and what they repeat at their end is left out, where the
thread holds an earlier message; quotations that are answered point by point stay. Attached files are ``attachments``.

Source: RFC 4155 (mbox), RFC 5322 (messages, section 3.6.4 on threads); parsed by the standard library.

Grammar: e-mails (headers, a blank line, a body), each after a line of ``From ``, an address and a date, which a header
follows; in texts, ``>`` stands before lines that begin with ``From ``.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from email.header import decode_header
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import parseaddr, parsedate_to_datetime
from math import inf
from typing import Any, BinaryIO, NamedTuple, cast

from turnlens.formats.bad_input import LEVEL, PART, BadRow, Budget
from turnlens.formats.format import Format
from turnlens.formats.html_text import html_text
from turnlens.formats.source_file import Source
from turnlens.formats.text_encoding import decoded

_ID = re.compile(r"<[^<>\s]+>")
_HEADER = re.compile(r"[!-9;-~]+:(\s|$)")
_ENVELOPE = re.compile(rb"From .*\d:\d")  # which says when; the first line of a mailbox need not
_MASKED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_ENCODED_WORD = re.compile(r"=\?[^?\s]*\?[bq]\?[^?\s]*\?=", re.IGNORECASE)
# In characters, since the library takes time quadratic in them: above, a header is read as empty.
_LONGEST_HEADER = 4_000
_LONGEST_PLAIN_HEADER = 100_000  # of those it parses no further
_PLAIN_HEADERS = ("references", "in-reply-to", "subject")
_SIGNATURE = re.compile(r"^-- ?$", re.MULTILINE)  # RFC 3676, section 4.3
# A line of one's own that goes on in the next (section 4.2), and the blank that is put before some lines (4.4).
_FLOWED = re.compile(r"^(?!>|-- $)(.*) \n(?!>|-- ?$|$) ?", re.MULTILINE)
# A line of dashes or underscores, then at least two of the header's lines: From, Sent, To, Subject in any language.
_FORWARDED = re.compile(
    r"^(?:_{10,}|---[^\n]*---)[ \t]*\n(?:[ \t]*\n)*(?:[^\s:][^:\n]{0,20}:[^\n]*\n){2,}", re.MULTILINE
)
_MOST_ATTRIBUTION_LINES = 3
_MOST_LEVELS = 1000  # of parts in parts, as Python calls functions


class Mail(NamedTuple):
    """Everything that puts a message into its thread."""

    place: tuple[int, int]
    message_id: str
    answers: tuple[str, ...]
    """Ids of messages before it, the one it answers last."""
    time: float


class _Forgiving(EmailPolicy):
    """The library's policy, but a header that its parser fails at, or would take minutes for, is empty.

    Letters of headers are decoded as those of texts.
    """

    place = ""  # the mailbox, for warnings

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        """The header's value, parsed."""
        if len(value) <= (_LONGEST_PLAIN_HEADER if name.lower() in _PLAIN_HEADERS else _LONGEST_HEADER):
            try:
                return super().header_fetch_parse(name, self._as_unicode(value))
            except (RecursionError, ValueError, LookupError, AttributeError, TypeError):
                pass
        return self.header_factory(name, "")

    def _as_unicode(self, value: str) -> str:
        """A header's value whose letters beyond ASCII are UTF-8."""
        if not value.isascii():
            value = decoded(value.encode("utf-8", "surrogateescape"), None, self.place)

        def word(match: re.Match[str]) -> str:
            ((raw, encoding),) = decode_header(match[0])
            text = raw if isinstance(raw, str) else decoded(raw, encoding, self.place)
            return f"=?utf-8?b?{b64encode(text.encode()).decode()}?="

        return _ENCODED_WORD.sub(word, value)


def records(source: Source) -> Iterator[tuple[int, list[EmailMessage]]]:
    """Threads in the order of their first messages, numbered by the message of the mailbox they begin with."""
    policy = _Forgiving(place=source.name)  # type: ignore[call-overload]  # policies take their attributes
    with source.seekable() as file:
        for number, thread in _threads(_mails(file, policy, source)):
            yield number, [_parsed(_raw(file, mail.place, source.budget), policy) for mail in thread]


def _places(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The begin and end of each e-mail in the file, without the line before it."""
    begin, line_begin, end = None, 0, 0
    before = b""
    for line in file:
        after_end = end + len(line)
        is_begin = before.startswith(b"From ") and (begin is None or _ENVELOPE.match(before))
        if is_begin and _HEADER.match(line.decode("latin-1")):
            if begin is not None:
                yield begin, line_begin
            begin = end
        before, line_begin, end = line, end, after_end
    if begin is not None:
        yield begin, end


def _raw(file: BinaryIO, place: tuple[int, int], budget: Budget) -> bytes:
    """The bytes of an e-mail, after its parts have been drawn: each line is looked at once for each open one."""
    begin, end = place
    file.seek(begin)
    raw = file.read(end - begin)
    levels = min(raw.lower().count(b"boundary"), _MOST_LEVELS)
    budget.spend(PART * raw.count(b"\n--") + LEVEL * levels * raw.count(b"\n"), "the number of parts of an e-mail")
    return raw


def _parsed(raw: bytes, policy: _Forgiving, headers_only: bool = False) -> EmailMessage:
    raw = _MASKED_FROM.sub(rb"\1", raw)
    return cast(EmailMessage, BytesParser(policy=policy).parsebytes(raw, headers_only))


def _mails(file: BinaryIO, policy: _Forgiving, source: Source) -> Iterator[Mail]:
    seen = set()
    for number, place in enumerate(list(_places(file))):
        source.tick()
        mail = _parsed(_raw(file, place, Budget(None)), policy, headers_only=True)
        message_id = _ids(mail, "Message-ID")[:1] or [f"<{number}>"]
        if message_id[0] in seen:  # Takeout and mailing lists hold some twice
            continue
        seen.add(message_id[0])
        answers = (*_ids(mail, "References"), *_ids(mail, "In-Reply-To")[:1])
        yield Mail(place, message_id[0], answers, _time(mail))


def _ids(mail: EmailMessage, header: str) -> list[str]:
    return _ID.findall(_header(mail, header))


def _header(mail: EmailMessage, name: str) -> str:
    return str(mail.get(name, ""))


def _time(mail: EmailMessage) -> float:
    date = _date(mail)
    with suppress(ValueError, OverflowError, OSError):
        return date.timestamp() if date is not None else inf
    return inf


def _date(mail: EmailMessage) -> datetime | None:
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(_header(mail, "Date"))
    return None


def _threads(mails: Iterator[Mail]) -> Iterator[tuple[int, list[Mail]]]:
    """Mails whose ids are connected, each thread sorted by time."""
    leaders: dict[str, str] = {}

    def leader(name: str) -> str:
        while leaders.setdefault(name, name) != name:
            leaders[name] = leaders[leaders[name]]
            name = leaders[name]
        return name

    numbered = list(enumerate(mails, start=1))
    for _, mail in numbered:
        for other in mail.answers:
            leaders[leader(other)] = leader(mail.message_id)
    threads: dict[str, list[tuple[int, Mail]]] = {}
    for number, mail in numbered:
        threads.setdefault(leader(mail.message_id), []).append((number, mail))
    for thread in threads.values():
        yield thread[0][0], [mail for _, mail in sorted(thread, key=lambda item: item[1].time)]


def convert(raw: list[EmailMessage], source: Source) -> dict[str, Any]:
    """A message for every e-mail of the thread, the subject that of the first."""
    messages = [_message(mail, is_first=index == 0) for index, mail in enumerate(raw)]
    return {"id": messages[0]["message_id"], "messages": messages, "title": _header(raw[0], "Subject") or None}


def _message(mail: EmailMessage, is_first: bool) -> dict[str, Any]:
    name, address = _sender(mail)
    if not (name or address):
        raise BadRow("an e-mail has no sender in 'From' that can be read; expected From: Ann <ann@example.com>")
    texts, files = _texts(mail)
    answers = _ids(mail, "In-Reply-To") or _ids(mail, "References")[-1:]
    return {
        "role": name or address,
        "content": "\n".join(texts).strip() if is_first else without_quoted_mail(*texts),
        "address": address or None,
        "time": date.isoformat() if (date := _date(mail)) is not None else None,
        "message_id": "".join(_ids(mail, "Message-ID")[:1]) or None,
        "reply_to": "".join(answers[:1]) or None,
        "attachments": files or None,
    }


def _sender(mail: EmailMessage) -> tuple[str, str]:
    try:
        return parseaddr(_header(mail, "From"))
    except RecursionError:  # of a hundred brackets
        return "", ""


def _texts(mail: EmailMessage) -> tuple[list[str], list[str]]:
    """The texts that are shown, and the names of what is attached."""
    body = mail.get_body(("plain", "html"))
    files = [f"file: {part.get_filename()}" for part in mail.walk() if part.get_filename()]
    if body is None:  # nothing but files, or parts that are announced and not there
        payload = mail.get_payload() if mail.get_content_maintype() == "multipart" else ""
        return [payload] if isinstance(payload, str) else [], files
    texts = {" ".join(text.split()): text for text in _shown(mail, cast(EmailMessage, body))}  # each once
    return [text for words, text in texts.items() if words], files


def _shown(part: EmailMessage, body: EmailMessage) -> Iterator[str]:
    """The texts of all parts but attached files; of alternatives, the plain one if it says anything."""
    if part.is_multipart() and part.get_content_subtype() not in ("alternative", "related"):
        for inner in part.iter_parts() if part.get_content_maintype() == "multipart" else ():
            if inner is body or not inner.get_filename():
                yield from _shown(cast(EmailMessage, inner), body)
    else:
        bodies = [cast(EmailMessage, found) for kind in ("plain", "html") if (found := part.get_body((kind,)))]
        yield next(filter(None, map(_decoded, bodies)), "")


def _decoded(body: EmailMessage) -> str:
    try:
        raw = cast(bytes, body.get_payload(decode=True) or b"")
        encoding, form, deleted = (str(body.get_param(name) or "") for name in ("charset", "format", "delsp"))
    except (LookupError, UnicodeError, ValueError, TypeError, AttributeError):  # headers that say nothing
        return ""
    text = decoded(raw, encoding, cast(_Forgiving, body.policy).place).replace("\r\n", "\n")
    if body.get_content_subtype() == "html":
        return html_text(text)[0]
    if form.lower() == "flowed":
        text = _FLOWED.sub(r"\1" if deleted.lower() == "yes" else r"\1 ", text)
    return text.strip()


FORMAT = Format(
    name="mbox",
    is_export=True,
    description="e-mail threads in a mailbox (mbox)",
    layout="a mailbox in mbox format: e-mails with their headers, each after a line “From …”",
    records=records,
    convert=convert,
    # a line that begins a message, and headers after it
    matches=lambda head: head.line.startswith("From ") and any(map(_HEADER.match, head.lines[1:3])),
)


def without_quoted_mail(*texts: str) -> str:
    r"""The text, perhaps in parts, without signature and without the earlier e-mail repeated at the end.

    Quotations that are answered point by point stay, and so does a text that is nothing but a quotation.

    >>> without_quoted_mail("Yes.\n\nOn 1 May 2024, Ann <a@b.c> wrote:\n> Really?\n> A.")
    'Yes.'
    >>> without_quoted_mail("> Really?\nYes.")
    '> Really?\nYes.'
    """
    return "\n".join(filter(None, map(_own, texts))) or "\n".join(texts).strip()


def _own(text: str) -> str:
    own = text.replace("\r\n", "\n")
    forwarded = _FORWARDED.search(own)
    if forwarded:
        own = own[: forwarded.start()]
    own = _without_last_quotation(own)
    signature = _SIGNATURE.search(own)
    if signature:
        own = own[: signature.start()]
    return own.strip()


def _without_last_quotation(text: str) -> str:
    lines = text.rstrip().split("\n")
    kept = len(lines)
    while kept and (lines[kept - 1].startswith(">") or not lines[kept - 1].strip()):
        kept -= 1
    if kept == len(lines):
        return text
    return "\n".join(lines[: kept - _attribution(lines[:kept])])


def _attribution(lines: list[str]) -> int:
    """Count the lines at the end that say who wrote what is quoted: a short paragraph with a colon at its end."""
    if not lines or not lines[-1].rstrip().endswith((":", "：")):
        return 0
    begin = len(lines)
    while begin and lines[begin - 1].strip() and not lines[begin - 1].startswith(">"):
        begin -= 1
    paragraph = " ".join(lines[begin:])
    is_attribution = len(lines) - begin <= _MOST_ATTRIBUTION_LINES and bool(re.search(r"\d|@", paragraph))
    return len(lines) - begin if is_attribution else 0
