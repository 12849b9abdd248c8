"""Names of accounts, such as `@ann_lee`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlens.data.personal.plain_text import LETTER, Span

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
