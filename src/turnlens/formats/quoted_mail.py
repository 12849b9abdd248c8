"""The text that an e-mail repeats from earlier ones, and where it ends."""

from __future__ import annotations

import re

_SIGNATURE = re.compile(r"^-- ?$", re.MULTILINE)  # RFC 3676, section 4.3
# A line of dashes or underscores, then at least two of the header's lines: From, Sent, To, Subject in any language.
_FORWARDED = re.compile(
    r"^(?:_{10,}|---[^\n]*---)[ \t]*\n(?:[ \t]*\n)*(?:[^\s:][^:\n]{0,20}:[^\n]*\n){2,}", re.MULTILINE
)
_MOST_ATTRIBUTION_LINES = 3


def own_text(text: str) -> str:
    r"""The text without signature and without the earlier e-mail repeated at its end.

    Quotations that are answered point by point stay, and so does a text that is nothing but a quotation.

    >>> own_text("Yes.\n\nOn 1 May 2024, Ann <a@b.c> wrote:\n> Really?\n> A.")
    'Yes.'
    >>> own_text("> Really?\nYes.")
    '> Really?\nYes.'
    """
    own = text.replace("\r\n", "\n")
    forwarded = _FORWARDED.search(own)
    if forwarded:
        own = own[: forwarded.start()]
    own = _without_last_quotation(own)
    signature = _SIGNATURE.search(own)
    if signature:
        own = own[: signature.start()]
    return own.strip() or text.strip()


def _without_last_quotation(text: str) -> str:
    lines = text.rstrip().split("\n")
    kept = len(lines)
    while kept and (lines[kept - 1].startswith(">") or not lines[kept - 1].strip()):
        kept -= 1
    if kept == len(lines):
        return text
    return "\n".join(lines[: kept - _attribution(lines[:kept])])


def _attribution(lines: list[str]) -> int:
    """How many lines at the end say who wrote what is quoted: a short paragraph with a colon at its end."""
    if not lines or not lines[-1].rstrip().endswith((":", "：")):
        return 0
    begin = len(lines)
    while begin and lines[begin - 1].strip() and not lines[begin - 1].startswith(">"):
        begin -= 1
    paragraph = " ".join(lines[begin:])
    is_attribution = len(lines) - begin <= _MOST_ATTRIBUTION_LINES and bool(re.search(r"\d|@", paragraph))
    return len(lines) - begin if is_attribution else 0
