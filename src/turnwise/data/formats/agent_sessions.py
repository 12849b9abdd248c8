"""Sessions that coding agents keep: Claude Code's and Codex's lines of JSON, a session in each file or several.

Neither has an official description. After https://github.com/alicoding/claude-parser (``docs/JSONL-STRUCTURE.md``) and
https://github.com/openai/codex (``codex-rs/protocol``: ``RolloutLine``; before 0.32 the items themselves).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from turnwise.data.formats.calls import convert, time_and_order
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.model_bodies import asked, usage
from turnwise.data.reading.sessions import Call, conversations
from turnwise.data.reading.source import BadRow, Source, parse_record

_WRITTEN_BY_CODEX = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
_OTHER_LAYOUT = (LookupError, TypeError, AttributeError, ValueError)


def _call(session: str | None, item: dict[str, Any], time: Any, **labels: Any) -> Call | None:
    system, messages = asked([item])
    written, order = time_and_order(time)
    call: Call = {"session": session, "trace": session, "order": order, "time": written, "system": system}
    messages = [{**message, "time": written} for message in messages]
    return {**call, "messages": messages, **labels} if messages or system else None


def _joined(calls: list[Call]) -> list[Call]:
    """The messages of a session, which repeat nothing, as one call."""
    first, *others = calls
    for call in others:
        first["messages"] += call["messages"]
        for name in ("input_tokens", "output_tokens"):
            first[name] = (first.get(name) or 0) + (call.get(name) or 0) or None
        first["model"] = first.get("model") or call.get("model")
    return [first]


def _calls(source: Source, read: Callable[[dict[str, Any]], Call | None], layout: str) -> Iterator[tuple[int, Any]]:
    for number, raw in source.records():
        source.tick()
        try:
            call = read(parse_record(raw))
        except BadRow as problem:
            yield number, problem
        except _OTHER_LAYOUT as problem:
            yield number, BadRow(f"unexpected layout ({problem}); expected {layout}")
        else:
            if call is not None:
                yield number, call


def _claude_code(source: Source) -> Iterator[tuple[int, Any]]:
    counted: set[str] = set()

    def read(record: dict[str, Any]) -> Call | None:
        if record.get("type") not in ("user", "assistant") or record.get("isMeta") or record.get("isSidechain"):
            return None
        message = record["message"]
        is_new = message.get("id") not in counted  # a message of several blocks is in several lines
        counted.update({message["id"]} if message.get("id") else ())
        tokens = {name: float(count) for name, count in usage(message).items() if count and is_new}
        item = {"role": record["type"], **message, "type": "message"}
        return _call(record["sessionId"], item, record.get("timestamp"), model=message.get("model"), **tokens)

    return _calls(source, read, CLAUDE_CODE.layout)


def _codex(source: Source) -> Iterator[tuple[int, Any]]:
    session, model, begun = source.stem, None, None

    def read(line: dict[str, Any]) -> Call | None:
        nonlocal session, model, begun
        payload = line["payload"] if isinstance(line.get("payload"), dict) else line
        if line.get("type") == "session_meta" or {"id", "instructions"} <= line.keys():
            session, model, begun = str(payload["id"]), None, payload.get("timestamp")
        model = payload.get("model") or model
        is_item = line.get("type") in ("response_item", payload.get("type")) and payload.get("type") in _ITEMS
        if not is_item or _is_written_by_codex(payload):
            return None
        call = _call(session, payload, line.get("timestamp"), model=model)
        return call and {**call, "time": call["time"] or begun}

    return _calls(source, read, CODEX.layout)


_ITEMS = (
    *("message", "reasoning", "function_call", "function_call_output"),
    *("custom_tool_call", "custom_tool_call_output"),
)


def _is_written_by_codex(item: dict[str, Any]) -> bool:
    """Whether Codex wrote a message in the name of the user."""
    content = item.get("content")
    text = content[0].get("text") if isinstance(content, list) and content and isinstance(content[0], dict) else None
    return item.get("role") == "user" and str(text or "").startswith(_WRITTEN_BY_CODEX)


def _is_claude_code(head: Head) -> bool:
    keys = head.keys
    is_turn = {"sessionId", "type"} <= keys and bool({"uuid", "operation", "leafUuid"} & keys)
    return is_turn or {"type", "summary", "leafUuid"} <= keys or {"type", "messageId", "snapshot"} <= keys


def _is_codex(head: Head) -> bool:
    is_meta = {"timestamp", "type", "payload"} <= head.keys and bool(
        {"cwd", "cli_version", "originator"} & head.inner.get("payload", frozenset())
    )
    return is_meta or {"id", "timestamp", "instructions"} <= head.keys <= {"id", "timestamp", "instructions", "git"}


CLAUDE_CODE = Format(
    name="claude_code",
    description="sessions of Claude Code (~/.claude/projects)",
    layout='lines {"type": "user" or "assistant", "sessionId", "uuid", "message": {"role", "content"}, "timestamp"}',
    records=lambda source: conversations(_claude_code(source), _joined),
    convert=convert,
    matches=_is_claude_code,
)
CODEX = Format(
    name="codex",
    description="sessions of Codex (~/.codex/sessions)",
    layout='lines {"timestamp", "type": "session_meta" or "response_item", "payload": {…}}',
    records=lambda source: conversations(_codex(source), _joined),
    convert=convert,
    matches=_is_codex,
)
