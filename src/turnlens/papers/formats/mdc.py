"""Microsoft Dialogue Challenge: ``movie_all.tsv``, ``restaurant_all.tsv``, ``taxi_all.tsv``; one message per row.

The columns are ``session.ID``, ``Message.ID``, ``Message.Timestamp``, ``Message.From`` (user or agent),
``Message.Text`` and then any number of dialogue acts, most of whose columns have no name. The rows of a session are
consecutive. Session ids repeat from file to file, so the domain, the first word of the file's name, precedes them.
Messages carry their acts as they stand (``request(city;date)``) as ``acts``, and the names of these, each once, as
``intents``: the intents of DialogueCSE, for semantic retrieval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_COLUMNS = ["session.ID", "Message.ID", "Message.Timestamp", "Message.From", "Message.Text"]
_ROLES = {"user": "user", "agent": "assistant"}


def records(source: Source) -> Iterator[tuple[int, list[tuple[int, list[str]]]]]:
    """Sessions of consecutive rows; a file without the five columns is refused as a whole."""
    rows = source.cells()
    _, header = next(rows, (1, _COLUMNS))
    if header[: len(_COLUMNS)] != _COLUMNS:
        raise ConversationError(source.name, f"found the columns {', '.join(header)}; expected {FORMAT.layout}")
    for _, session in groupby(rows, key=lambda row: row[1][0]):
        messages = list(session)
        yield messages[0][0], messages


def _message(number: int, cells: list[str]) -> dict[str, Any]:
    if len(cells) < len(_COLUMNS):
        raise BadRow(f"found {len(cells)} cells; expected {FORMAT.layout}", number)
    speaker, text, *acts = cells[3:]
    if speaker not in _ROLES:
        raise BadRow(f"found {speaker!r} in Message.From; expected user or agent", number)
    acts = [act.strip() for act in acts if act.strip()]
    intents = dict.fromkeys(act.partition("(")[0].strip().lower() for act in acts)
    return {"role": _ROLES[speaker], "content": text, "acts": acts, "intents": [name for name in intents if name]}


def convert(raw: list[tuple[int, list[str]]], source: Source) -> dict[str, Any]:
    """Puts the domain before the session's id, which occurs in other files too."""
    domain = re.split(r"[^A-Za-z]", source.stem)[0].lower()
    return {
        "id": f"{domain}-{raw[0][1][0]}",
        "messages": [_message(number, cells) for number, cells in raw],
        "domain": domain,
    }


def matches(head: Head) -> bool:
    """Most columns of dialogue acts have no name, so only columns that always have one count."""
    return {"session.ID", "Message.From", "Message.Text"} <= head.keys


FORMAT = Format(
    name="mdc",
    description="Microsoft Dialogue Challenge (TSV)",
    layout=f"a header of {', '.join(_COLUMNS)} and dialogue acts, separated by tabs",
    records=records,
    convert=convert,
    matches=matches,
)
