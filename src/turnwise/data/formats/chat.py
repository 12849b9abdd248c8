"""Chat rows: the Hugging Face / OpenAI ``messages`` and the ShareGPT ``conversations`` layout.

JSONL, a JSON array or Parquet. ``content`` may be a list of ``{"type": "text", "text": …}`` parts, which are joined. It
may be missing from messages that call tools, whose text is then empty.
"""

from __future__ import annotations

from typing import Any

from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.source import BadRow, Source, parse_record

_CALLS = {"tool_calls", "function_call"}
_SHAREGPT_ROLES = {"human": "user", "gpt": "assistant"}


def _from_sharegpt(message: Any) -> Any:
    if not isinstance(message, dict) or not {"from", "value"} <= message.keys():
        return message
    rest = {key: value for key, value in message.items() if key not in ("from", "value")}
    return {"role": _SHAREGPT_ROLES.get(message["from"], message["from"]), "content": message["value"], **rest}


def _joined_parts(content: list[Any]) -> str:
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise BadRow('a message\'s \'content\' has a part that is not {"type": "text", "text": "…"}; remove it')
    return "".join(part["text"] for part in content)


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Renames ShareGPT's keys and roles, and joins contents given in parts."""
    row = parse_record(raw)
    if "messages" not in row and "conversations" in row:
        messages = row.pop("conversations")
        row["messages"] = [_from_sharegpt(message) for message in messages] if isinstance(messages, list) else messages
    messages = row.get("messages")
    if isinstance(messages, list):
        for message in messages:
            if isinstance(message, dict) and type(message.get("content")) is list:
                message["content"] = _joined_parts(message["content"])
            elif isinstance(message, dict) and message.get("content") is None and _CALLS & message.keys():
                message["content"] = ""  # it calls a tool without saying anything
    return row


def matches(head: Head) -> bool:
    """Either key is enough: ``messages``, or ShareGPT's ``conversations``."""
    return bool({"messages", "conversations"} & head.keys)


FORMAT = Format(
    name="chat",
    description="chat messages as JSONL, JSON or Parquet (also ShareGPT)",
    layout='{"id": "…", "messages": [{"role": "user", "content": "…"}, …], …labels} in each row',
    records=Source.records,
    convert=convert,
    matches=matches,
)
