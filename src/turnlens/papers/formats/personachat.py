"""PersonaChat and ConvAI2: ParlAI text, ``train_self_original.txt``, ``valid_none_revised_no_cands.txt``, ….

The lines of a conversation are numbered from 1:

1. ``your persona: …`` and ``partner's persona: …``, one sentence per line; the name of the file says which it has
2. an utterance, the reply, an empty column, and the candidates for the reply separated by ``|``, all separated by
   tabs; without candidates the line ends after the reply

Whoever speaks first is read as user, whoever replies (``your``) as assistant, and the candidates are left out. The
sentences of the personas become the labels ``persona`` and ``partner_persona``.

The training files of ConvAI2 repeat all conversations with the sides swapped, and therefore with ``__SILENCE__`` as
the first utterance. The repetitions are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source
from turnlens.papers.formats.numbered import Line, blocks, without_number

_PERSONAS = {"your persona:": "persona", "partner's persona:": "partner_persona"}
_REPEATED = re.compile(r"\d+ __SILENCE__\t")
_FIRST_LINE = re.compile(r"1 (your persona:|partner's persona:|[^\t]+\t[^\t]+(\t\t[^\t]*)?$)")


def records(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """Conversations without those that ConvAI2 repeats with the sides swapped."""
    for place, block in blocks(source):
        if not any(_REPEATED.match(text) for _, text in block):
            yield place, block


def convert(raw: list[Line], source: Source) -> dict[str, Any]:
    """Every line is a sentence of a persona, or an utterance and the reply to it."""
    messages: list[dict[str, str]] = []
    personas: dict[str, list[str]] = {}
    for line in raw:
        text = without_number(line, FORMAT.layout)
        prefix = next((prefix for prefix in _PERSONAS if text.startswith(prefix)), None)
        if prefix is not None:
            personas.setdefault(_PERSONAS[prefix], []).append(text.removeprefix(prefix).strip())
            continue
        utterance, tab, rest = text.partition("\t")
        if not tab:
            raise BadRow(f"found {text[:40]!r} without a reply; expected {FORMAT.layout}", line[0])
        messages.append({"role": "user", "content": utterance.strip()})
        messages.append({"role": "assistant", "content": rest.split("\t")[0].strip()})
    return {"messages": messages, **personas}


def matches(head: Head) -> bool:
    """The first line is a sentence of a persona, or an utterance and a reply with or without candidates."""
    return bool(_FIRST_LINE.match(head.line))


FORMAT = Format(
    name="personachat",
    description="PersonaChat, ConvAI2 (ParlAI text)",
    layout="lines numbered from 1 in each conversation: personas (1 your persona: …), then turns (5 utterance, reply "
    "and perhaps candidates, separated by tabs)",
    records=records,
    convert=convert,
    matches=matches,
)
