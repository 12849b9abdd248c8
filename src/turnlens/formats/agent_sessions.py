"""Sessions that coding agents keep: Claude Code's and Codex's lines of JSON, a session in each file or several.

Neither has an official description. After https://github.com/alicoding/claude-parser (``docs/JSONL-STRUCTURE.md``) and
https://github.com/openai/codex (``codex-rs/protocol``: ``RolloutLine``; before 0.32 the items themselves).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from turnlens.formats.call_sessions import Call, conversations, each_call
from turnlens.formats.calls import convert
from turnlens.formats.columns import first_of, value_at
from turnlens.formats.format import Format, signs
from turnlens.formats.message_times import time_and_order
from turnlens.formats.model_bodies import request_messages, token_counts
from turnlens.formats.source_file import Source

_WRITTEN_BY_CODEX = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
# In the name of the user, as what commands print.
_WRITTEN_BY_CLAUDE_CODE = re.compile(
    r"<(system-reminder|ide_\w+|command-\w+|local-command-\w+|bash-\w+)>.*?</\1>\s*"
    r"|\A(Caveat: The messages below|\[Request interrupted by user).*",
    re.DOTALL,
)


def _call(session: str | None, item: dict[str, Any], time: Any, **labels: Any) -> Iterator[Call]:
    system, messages = request_messages([item])
    written, order = time_and_order(time)
    call: Call = {"session": session, "trace": session, "order": order, "time": written, "system": system}
    messages = [{**message, "time": written} for message in messages]
    if messages or system:
        yield {**call, "messages": messages, **labels}


def _joined(calls: list[Call]) -> list[Call]:
    """The messages of a session, which repeat nothing, as one call."""
    first, *others = calls
    for call in others:
        first["messages"] += call["messages"]
        for name in ("input_tokens", "output_tokens"):
            first[name] = (first.get(name) or 0) + (call.get(name) or 0) or None
        first["model"] = first.get("model") or call.get("model")
    return [first]


def _claude_code(source: Source) -> Iterator[tuple[int, Any]]:
    counted: set[str] = set()

    def read(record: dict[str, Any]) -> Iterator[Call]:
        is_queued = value_at(record, "attachment.type") == "queued_command"
        if is_queued and value_at(record, "attachment.commandMode") in (None, "prompt"):  # typed during an answer
            message = {"content": record["attachment"].get("prompt")}
            record = {"sessionId": source.stem, **record, "type": "user", "message": message}
        if record.get("type") not in ("user", "assistant") or record.get("isMeta") or record.get("isSidechain"):
            return
        message = record["message"]
        is_new = message.get("id") not in counted  # a message of several blocks is in several lines
        counted.update({message["id"]} if message.get("id") else ())
        tokens = {name: float(count) for name, count in token_counts(message).items() if count and is_new}
        item = {"role": record["type"], **message, "type": "message"}
        for call in _call(record["sessionId"], item, record.get("timestamp"), model=message.get("model"), **tokens):
            for message in call["messages"] if record["type"] == "user" else ():
                rest = "" if record.get("isCompactSummary") else _WRITTEN_BY_CLAUDE_CODE.sub("", message["content"])
                message |= {"content": rest, "notice": message["content"]} if rest != message["content"] else {}
            yield call

    return each_call(source, CLAUDE_CODE.layout, read)


def _codex(source: Source) -> Iterator[tuple[int, Any]]:
    """The items that were sent and came; where a file has none, those of its events, which else repeat them."""
    found = _codex_items(source)
    first = next(found, None)
    return _codex_items(source, of_events=True) if first is None else chain([first], found)


def _codex_items(source: Source, of_events: bool = False) -> Iterator[tuple[int, Any]]:
    session, model, begun, was_meta = source.stem, None, None, False
    before: dict[str, Any] = {}

    def read(line: dict[str, Any]) -> Iterator[Call]:
        nonlocal session, model, begun, was_meta, before
        payload = line["payload"] if isinstance(line.get("payload"), dict) else line
        is_meta = line.get("type") == "session_meta" or {"id", "instructions"} <= line.keys()
        if is_meta and not was_meta:  # a second is that of the session which this one continues
            session, model, begun = str(payload["id"]), None, payload.get("timestamp")
        was_meta = is_meta
        model = payload.get("model") or model
        item = _of_event(payload) if of_events and line.get("type") == "event_msg" else payload
        is_item = item != before if of_events else line.get("type") in ("response_item", payload.get("type"))
        before = item if item.get("type") == "message" else before
        if is_item and item.get("type") in _ITEMS.split() and not _is_written_by_codex(item):
            for call in _call(session, item, line.get("timestamp"), model=model):
                yield {**call, "time": call["time"] or begun}

    return each_call(source, CODEX.layout, read)


_ITEMS = "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output"
_EVENTS = {"UserMessage": "user", "user_message": "user", "AgentMessage": "assistant", "agent_message": "assistant"}


def _of_event(payload: dict[str, Any]) -> dict[str, Any]:
    said = payload.get("item") or {} if payload.get("type") == "item_completed" else payload  # before 0.147 by itself
    role, content = _EVENTS.get(str(value_at(said, "type"))), first_of(said, ("content", "message"), "")
    if isinstance(content, list):
        content = "".join(str(value_at(part, "text") or "") for part in content)
    return {"type": "message", "role": role, "content": content} if role else {}


def _is_written_by_codex(item: dict[str, Any]) -> bool:
    """Return whether Codex wrote a message in the name of the user."""
    content = item.get("content")
    text = content[0].get("text") if isinstance(content, list) and content and isinstance(content[0], dict) else None
    return item.get("role") == "user" and str(text or "").startswith(_WRITTEN_BY_CODEX)


_is_meta = signs("timestamp type payload payload/cwd|payload/cli_version|payload/originator")


CLAUDE_CODE = Format(
    name="claude_code",
    is_export=True,
    description="sessions of Claude Code (~/.claude/projects)",
    layout='lines {"type": "user" or "assistant", "sessionId", "uuid", "message": {"role", "content"}, "timestamp"}',
    records=lambda source: conversations(_claude_code(source), _joined),
    convert=convert,
    matches=signs("sessionId type uuid|operation|leafUuid", "type summary leafUuid", "type messageId snapshot"),
)
CODEX = Format(
    name="codex",
    is_export=True,
    description="sessions of Codex (~/.codex/sessions)",
    layout='lines {"timestamp", "type": "session_meta" or "response_item", "payload": {…}}',
    records=lambda source: conversations(_codex(source), _joined),
    convert=convert,
    matches=lambda head: _is_meta(head) or head.keys - {"git"} == {"id", "timestamp", "instructions"},
)
