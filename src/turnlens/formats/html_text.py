"""The text of HTML bodies: e-mails, tickets, chat messages."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

_LINES = {"p", "div", "br", "li", "ul", "ol", "tr", "table", "pre", "hr", *(f"h{level}" for level in range(1, 7))}
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_TAG = re.compile(r"<(?![^<>]*>)")
_DEEPEST_QUOTATION = 20
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});", re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|div|br|li|ul|ol|tr|table|h[1-6])(?:\s[^<>]*)?/?>", re.IGNORECASE)
_INLINE = re.compile(r"</?(?:span|strong|em|font|td|img)(?:\s[^<>]*)?/?>|<a\s[^<>]*>|</a>", re.IGNORECASE)
_PAIR = re.compile(r"<([biu])>([^<>]*)</\1>", re.IGNORECASE)
_UNSEEN = {"style", "script", "head", "title", "template"}


def html_text(html: str) -> tuple[str, list[str]]:
    """The text of HTML, with a line for every block and quotations marked by ``> ``, and the addresses of its images.

    >>> html_text('<p>caf&eacute; <b>now</b></p><img src="a.png">')
    ('café now', ['a.png'])
    >>> html_text("<blockquote>was</blockquote>")
    ('> was', [])
    """
    reader = _Reader()
    reader.feed(_tamed(html))
    reader.close()
    return reader.text(), reader.images


def without_markup(text: str) -> str:
    r"""A plain text without the tags and entities that help desks leave in the cells of their exports.

    Only the common tags of a text are taken out, and nothing where there is a backtick, so that code stays as it is.

    >>> without_markup("it&#39;s late&nbsp;&amp; cold<br>bye")
    "it's late & cold\nbye"
    >>> without_markup("a < b && c > d, see `<br>`")
    'a < b && c > d, see `<br>`'
    """
    if ("&" not in text and "<" not in text) or "`" in text:
        return text
    plain = _PAIR.sub(r"\2", _INLINE.sub("", _BLOCK.sub("\n", text)))
    plain = _ENTITY.sub(lambda entity: unescape(entity[0]), plain).replace("\xa0", " ")
    return text if plain == text else plain.strip()


def _tamed(html: str) -> str:
    """The HTML without comments and with ``<`` only where it begins a tag: others keep the parser busy without end."""
    until_comments_end, end, rest = html.rpartition("-->")
    html = _COMMENT.sub("", until_comments_end + end) + rest
    return _NO_TAG.sub("&lt;", html)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.images: list[str] = []
        self._quotations: list[list[str]] = [[]]  # the outermost is the text itself
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "blockquote" and len(self._quotations) < _DEEPEST_QUOTATION:
            self._quotations.append([])
        elif tag == "img":
            self.images.append(dict(attrs).get("src") or "image")
        elif tag in _LINES:
            self._quotations[-1].append("\n")
        self._unseen += tag in _UNSEEN

    def handle_endtag(self, tag: str) -> None:
        if tag == "blockquote" and len(self._quotations) > 1:
            self._end_quotation()
        elif tag in _LINES:
            self._quotations[-1].append("\n")
        elif tag in _UNSEEN and self._unseen:
            self._unseen -= 1

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._quotations[-1].append(re.sub(r"\s+", " ", data))

    def text(self) -> str:
        while len(self._quotations) > 1:
            self._end_quotation()
        return _lines(self._quotations[0])

    def _end_quotation(self) -> None:
        quoted = _lines(self._quotations.pop())
        self._quotations[-1].append("\n" + "".join(f"> {line}\n" for line in quoted.splitlines()))


def _lines(pieces: list[str]) -> str:
    lines = (re.sub(r"[^\S\n]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)
