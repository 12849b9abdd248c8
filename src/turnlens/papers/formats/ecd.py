"""E-commerce Dialogue Corpus, response selection release: one session with its candidates per line.

The layout, inferred from the files (six columns separated by tabs, lists separated by ``|``):

1. the utterances before the response
2. the utterances after it
3. who speaks, in three parts separated by ``-``: before, the response, after (``1|0|1-0-1|0``); 0 is the buyer
   (user), 1 the seller (assistant)
4. a label, always 1
5. the candidates for the response
6. one flag per candidate; 1 marks the true response

The session is restored: before, the true response, after. The other candidates are a label of the response,
``negatives``, from which DialogueCSE learns with the settings of its paper.
"""

from __future__ import annotations

import re
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_text
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"0": "user", "1": "assistant"}
_SPEAKERS = re.compile(r"[01|]*-[01]-[01|]*")


def _split(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def convert(raw: bytes, source: Source) -> dict[str, Any]:
    """Puts the true response back between the utterances before and after it."""
    cells = parse_text(raw).split("\t")
    if len(cells) != 6 or not _SPEAKERS.fullmatch(cells[2]):
        raise BadRow(f"found {len(cells)} columns; expected {FORMAT.layout}")
    before, after, speakers, _, candidates, flags = cells
    is_true = _split(flags)
    if is_true.count("1") != 1 or is_true.index("1") >= len(_split(candidates)):
        raise BadRow("expected exactly one 1 in the last column, marking one of the candidates")
    others = _split(candidates)
    response = others.pop(is_true.index("1"))
    texts = [*_split(before), response, *_split(after)]
    roles = [_ROLES[flag] for part in speakers.split("-") for flag in _split(part)]
    if len(roles) != len(texts):
        raise BadRow(f"found {len(roles)} speakers in the third column for {len(texts)} utterances")
    messages: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in zip(roles, texts)]
    messages[len(_split(before))]["negatives"] = others
    return {"messages": messages}


def matches(head: Head) -> bool:
    """Six columns, the third of which says who speaks (``1|0-1-0``)."""
    cells = head.line.split("\t")
    return len(cells) == 6 and bool(_SPEAKERS.fullmatch(cells[2]))


FORMAT = Format(
    name="ecd",
    description="E-commerce Dialogue Corpus, response selection release (text)",
    layout="six columns separated by tabs: before, after, speakers (0|1-0-1), label, candidates, flags",
    records=Source.lines,
    convert=convert,
    matches=matches,
)
