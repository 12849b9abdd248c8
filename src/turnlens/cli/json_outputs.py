"""The JSON that commands write, as one table of fields, and the JSON Schema that is made of it.

The page docs/commands.schema.json is `schemas()`, as JSON.
"""

from __future__ import annotations

from typing import Any

_HIT = "score:number conversation:string turn:integer role:string text:string labels:object time:string?"
_GROUP = "group:integer? group_name:string? coarse_group:integer? coarse_group_name:string?"
_SPREADS = "turns_per_conversation:object tokens_per_message:object characters_per_message:object"

# Command -> its fields, each with a JSON type; `?` may be null, and `[]` before them means a list of such objects.
# Fields may be added, such as a column for each label and a figure for each task.
OUTPUTS = {
    "index --json": "added:integer grown:integer changed:integer unchanged:integer messages:integer shortened:integer "
    "lost:integer",
    "search --json": f"[] {_HIT}",
    "search --level reply --json": f"[] {_HIT}",
    "search --level conversation --json": "[] score:number conversation:string turns:integer speakers:array "
    "labels:object text:string first_time:string? last_time:string?",
    "store info --json": "conversations:integer messages:integer bytes:integer encoder:string pooling:string "
    "tokenizer:string indexes:object",
    "reply --output": "[] message:string score:number",
    "evaluate --output": "model:string data:string seed:integer",
    "inspect --output": f"formats:object conversations:integer messages:integer tokens:integer {_SPREADS} "
    "speakers:object speakers_per_conversation:object languages:object conversation_labels:object "
    "message_labels:object repeated:object trainable_conversations:integer empty_messages:integer "
    "personal_data:object labels_with_names:array first:object",
    "cluster --output FILE.jsonl": f"[] id:string turn:integer role:string text:string time:string? {_GROUP}",
    "cluster --level conversation --output FILE.jsonl": f"[] id:string turns:integer time:string? {_GROUP}",
    "label --output FILE.jsonl": f"[] id:string turn:integer role:string text:string {_GROUP} confidence:number",
}


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command writes; of JSON lines, that of the list of all lines.

    Examples:
        >>> schema_of("reply --output")["items"]["properties"]["score"]
        {'type': 'number'}
    """
    words = OUTPUTS[command].split()
    fields = dict(word.split(":") for word in words if word != "[]")
    properties = {name: {"type": [kind[:-1], "null"] if kind.endswith("?") else kind} for name, kind in fields.items()}
    row = {"type": "object", "properties": properties, "required": list(fields)}
    return {"type": "array", "items": row} if words[0] == "[]" else row


def schemas() -> dict[str, Any]:
    """Return the schemas of all commands as one document; that of a command is under its name in ``$defs``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What turnlens's commands write as JSON",
        "$defs": {command: schema_of(command) for command in OUTPUTS},
    }
