"""Doc2Dial: ``doc2dial_dial_train.json``, dialogues by domain and then by the document they are about.

MultiDoc2Dial, which has no level of documents, is read too. The documents themselves (``doc2dial_doc.json``) hold no
conversations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"user": "user", "agent": "assistant"}
_DEPTH = 4  # dial_data, domain, document, and the array of dialogues


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """Dialogues below their domain and document, or in MultiDoc2Dial below their domain alone."""
    for number, (keys, dialogue) in source.json_members(_DEPTH):
        if len(keys) < 2 or keys[0] != "dial_data":
            actual = f"the key {keys[0]!r}" if keys else "no object of dialogues"
            raise ConversationError(source.name, f"found {actual}; expected {FORMAT.layout}")
        yield number, {"domain": keys[1], **dialogue} if isinstance(dialogue, dict) else dialogue


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """The agent is the assistant; references to the document are left out."""
    dialogue = parse_record(raw)
    return {
        "id": dialogue["dial_id"],
        "messages": [{"role": _ROLES[turn["role"]], "content": turn["utterance"]} for turn in dialogue["turns"]],
        "domain": dialogue["domain"],
    }


def matches(head: Head) -> bool:
    """The one key of the outermost object is the release's own."""
    return "dial_data" in head.keys


FORMAT = Format(
    name="doc2dial",
    description="Doc2Dial (doc2dial_dial_*.json), also MultiDoc2Dial",
    layout='{"dial_data": {domain: {document: [{"dial_id", "turns": [{"role": "user" or "agent", "utterance"}, …]}, '
    "…]}}}",
    records=records,
    convert=convert,
    matches=matches,
    sidecars={"doc2dial_doc.json": "documents", "multidoc2dial_doc.json": "documents"},
)
