"""Exports of ChatGPT, Claude, Open WebUI and LibreChat: trees of messages, of which the branch shown last is read.

Messages form a tree since they can be edited and answers asked for again. Files and images are ``attachments``; tools,
thoughts and instructions are labels, as in all chats. What ChatGPT hides, such as its own instructions, is left out,
and so are the marks of citations in its texts. A text that was pasted into Claude as a file is part of its message.

Sources: https://github.com/mitkury/chatgpt-export-parser/blob/main/docs/chatgpt-data-export-format.md and
https://github.com/Sinity/polylogue (``docs/providers/claude-ai.md``), as neither has an official description;
https://github.com/open-webui/open-webui (``chat.history`` of an exported chat),
https://github.com/danny-avila/LibreChat (``useExportConversation``: messages in a list or within each other).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.call_sessions import conversations, each_call, thumb_label
from turnlens.formats.columns import value_at
from turnlens.formats.format import Format, record_heads, signs
from turnlens.formats.message_layouts import instructions_apart, plain_message
from turnlens.formats.message_times import iso_time, time_and_order
from turnlens.formats.model_bodies import response_message
from turnlens.formats.source_file import Source

Message = dict[str, Any]
_KEPT = ("role", "content", "name", "model", "tool_calls", "tool_results", "thinking", "attachments", "documents")
_MESSAGE = "messageId conversationId isCreatedByUser"  # of LibreChat, by itself
_PASTED = re.compile(r"paste", re.I)  # the name of a file that a long paste becomes
# ChatGPT wraps citations, names of things and the like in private characters: \ue200 kind \ue202 value … \ue201.
_MARKED = re.compile("[ \t]?\ue200([^\ue200\ue201]*)\ue201")
_MARKS = re.compile("[\ue200-\ue20f]")
_BESIDE = {"role", "content", "name", "time", "model", "feedback"}  # a message of nothing else says nothing


def _chatgpt(raw: Any, source: Source) -> dict[str, Any] | None:
    record = parse_record(raw)
    if record.get("mapping") is None and "title" in record:
        return None  # of a conversation that was deleted, the title may be left
    nodes = record["mapping"]
    if not isinstance(nodes, dict):
        raise BadRow(f"found no object under 'mapping'; expected {CHATGPT.layout}")
    shown = _shown(nodes, "parent", record.get("current_node"))
    messages = [_of_chatgpt(node["message"]) for node in shown if node.get("message")]
    row = {"id": record.get("conversation_id") or record.get("id"), "title": record.get("title")}
    return _row({**row, "time": iso_time(record.get("create_time"))}, [message for message in messages if message])


def _of_chatgpt(message: Message) -> Message | None:
    """A message; None if it is hidden."""
    metadata = message.get("metadata") or {}
    if metadata.get("is_visually_hidden_from_conversation"):
        return None
    author, recipient = message["author"] or {"role": "unknown"}, message.get("recipient") or "all"
    row = {"role": author["role"], "name": author.get("name"), "time": iso_time(message.get("create_time"))}
    row |= {"model": metadata.get("model_slug"), **_content_of_chatgpt(message.get("content") or {})}
    files = [f"file: {file.get('name')}" for file in metadata.get("attachments") or ()]
    if recipient != "all":
        row |= {"tool_calls": [{"name": recipient, "arguments": row["content"]}], "content": ""}
    return {**row, "files": files}


def _content_of_chatgpt(content: dict[str, Any]) -> Message:
    kind = content.get("content_type", "text")
    if isinstance(content.get("parts"), list):
        return {"content": [_without_marks(_part_of_chatgpt(part)) for part in content["parts"]]}
    if kind == "thoughts":
        thoughts = [
            f"{thought.get('summary') or ''}\n{thought.get('content') or ''}" for thought in content["thoughts"]
        ]
        return {"content": "", "thinking": "\n".join(thoughts).strip()}
    if kind == "reasoning_recap":
        return {"content": "", "notice": content.get("content")}
    text = content.get("text") or content.get("result")
    return {
        "content": _without_marks(text)
        if isinstance(text, str)
        else [{"type": kind, "text": text or content.get("parts")}]
    }


def _without_marks(text: Any) -> Any:
    """The text with the names of what it marks, and without what it cites."""
    return _MARKS.sub("", _MARKED.sub(_name_of_marked, text)) if isinstance(text, str) else text


def _name_of_marked(match: re.Match[str]) -> str:
    kind, *values = match[1].split("\ue202")
    name = values[0] if kind == "url" and values else ""
    with suppress(ValueError, LookupError, TypeError):
        name = str(json.loads(values[0])[1]) if kind == "entity" else name
    before = match[0][: match[0].index("\ue200")]
    return f"{before}{name}" if name else ""


def _part_of_chatgpt(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kind = part.get("content_type", "attachment")
    return part["text"] if kind == "audio_transcription" else {**part, "type": kind}


def _claude(raw: Any, source: Source) -> dict[str, Any] | None:
    record = parse_record(raw)
    messages = record["chat_messages"]
    nodes = {message.get("uuid"): message for message in messages}
    parents = [message.get("parent_message_uuid") for message in messages]
    some_answer_the_same = None not in parents and len(set(parents)) < len(messages)
    if some_answer_the_same or (len(nodes) == len(messages) and sum(up not in nodes for up in parents) == 1):
        messages = _shown(nodes, "parent_message_uuid", None)
    row = {"id": record.get("uuid"), "title": record.get("name") or None, "time": record.get("created_at")}
    return _row(row, [_of_claude(message) for message in messages])


def _of_claude(message: Message) -> Message:
    """A message; before 2024, exports had only its ``text``."""
    files = [*(message.get("attachments") or ()), *(message.get("files") or ())]
    role = {"human": "user"}.get(message["sender"], message["sender"])
    content = message.get("content") or message["text"]
    parts = list(content) if isinstance(content, list) else [content]
    is_empty = not any(part.get("text") if isinstance(part, dict) else part for part in parts)
    named = []
    for file in files:
        name, text = file.get("file_name") or "", file.get("extracted_content")
        if text and (is_empty or not name or _PASTED.match(name)):
            parts += [f"\n\n{text}" if any(parts) else text]
        if name and not _PASTED.match(name):
            named.append(f"file: {name}")
        elif not text:
            named.append(f"file: {name or 'unnamed'}")
    return {"role": role, "content": parts, "time": message.get("created_at"), "files": named}


def _open_webui(raw: Any, source: Source) -> dict[str, Any] | None:
    record = parse_record(raw)
    chat = record if "history" in record else record["chat"]  # its database has the chat by itself
    history = chat.get("history") or {}
    messages = history.get("messages") or {m.get("id", n): m for n, m in enumerate(chat.get("messages") or ())}
    shown = _shown(messages, "parentId", history.get("currentId", history.get("current_id")))
    row = {"id": record.get("id"), "title": record.get("title") or chat.get("title")}
    row["time"] = iso_time(record.get("created_at")) or time_and_order(chat.get("timestamp"))[0]
    row["model"] = next(iter(chat.get("models") or ()), None)
    said = [m if m.get("content") or not m.get("output") else {**m, **(response_message(m) or {})} for m in shown]
    return _row(row, [_rated(message, message.get("annotation"), message.get("timestamp")) for message in said])


def _librechat(raw: Any, source: Source | None) -> dict[str, Any] | None:
    record = parse_record(raw)
    if "messages" in record and "id" in record:  # put together from single messages
        return record if record["messages"] else None
    messages = [*_within(record.get("messagesTree") or record["messages"])]
    messages.sort(key=lambda message: str(message.get("createdAt") or ""))
    shown = _shown({message["messageId"]: message for message in messages}, "parentMessageId", None)
    for message in shown:
        message["role"] = "user" if message.get("isCreatedByUser") else "assistant"
        message["content"] = message.get("content") or message.get("text") or ""
    options = record.get("options") or {}
    row = {"id": record.get("conversationId"), "title": record.get("title"), "model": options.get("model")}
    row["time"] = shown[0].get("createdAt") if shown else None
    return _row(row, [_rated(message, message.get("feedback"), message.get("createdAt")) for message in shown])


def _librechat_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Conversations, or the messages of any conversations, as LibreChat's API and database have them."""
    if signs(_MESSAGE)(next(record_heads(source))):
        calls = each_call(source, LIBRECHAT.layout, _librechat_message)
        return conversations(calls, lambda calls: [_librechat_conversation(calls)])
    return source.records()


def _librechat_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    time, order = time_and_order(value_at(message, "createdAt.$date") or message.get("createdAt"))
    session, shown = str(message["conversationId"]), {**message, "messageId": str(message["messageId"])}
    yield {"session": session, "trace": session, "order": order, "message": {**shown, "createdAt": time}}


def _librechat_conversation(calls: list[Any]) -> dict[str, Any]:
    shown = [call["message"] for call in calls]
    return _librechat({"conversationId": shown[0]["conversationId"], "messages": shown}, None) or {"messages": []}


def _within(messages: list[Message]) -> Iterator[Message]:
    for message in messages:
        yield message
        yield from _within(message.get("children") or [])


def _rated(message: Message, opinion: Any, time: Any) -> Message:
    kept = {name: message[name] for name in _KEPT if message.get(name) is not None}
    return {"content": "", **kept, "time": iso_time(time), "feedback": thumb_label((opinion or {}).get("rating"))}


def _shown(nodes: dict[str, Message], parent: str, last: str | None) -> list[Message]:
    """The messages from the root to ``last``; where that is not known, to the latest that nothing answers.

    All of them, as they stand, where that is not known and none says which it answers.
    What is no message, and a message that hangs on no tree although others do, cost only themselves.

    Raises:
        BadRow: The messages go round in a circle.
    """
    parents = {name: node.get(parent, "") for name, node in nodes.items() if isinstance(node, dict)}
    answered = set(parents.values())
    above = {parents[name] for name in parents.keys() & answered} - parents.keys()  # what the roots of trees name
    attached = [name for name, up in parents.items() if name in answered or up in parents or up in above or not above]
    if last not in attached:
        if not any(parents.values()) and not any(parent in node for node in nodes.values() if isinstance(node, dict)):
            return [nodes[name] for name in parents]
        last = next((name for name in reversed(attached) if name not in answered), next(reversed(attached), None))
    path: dict[str, None] = {}
    while last is not None and last in parents:
        if last in path:
            raise BadRow(f"message {last!r} comes before itself; expected a tree of messages")
        path[last] = None
        last = parents[last]
    return [nodes[name] for name in reversed(path)]


def _row(row: dict[str, Any], shown: list[Message]) -> dict[str, Any] | None:
    """The conversation; None for one without a text."""
    messages = []
    for message in shown:
        files = message.pop("files", [])
        plain = dict(plain_message({name: value for name, value in message.items() if value is not None}))
        if files:
            plain["attachments"] = [*plain.get("attachments", ()), *files]
        if str(plain["content"]).strip() or plain.keys() - _BESIDE:
            messages.append(plain)
        row["feedback"] = plain.get("feedback") or row.get("feedback")
    system, messages = instructions_apart(messages)
    return {**row, "system": system, "messages": messages} if messages else None


CHATGPT = Format(
    name="chatgpt",
    is_export=True,
    description="ChatGPT data export (conversations.json)",
    layout='conversations {"title", "mapping": {"…": {"message", "parent", "children"}, …}, "current_node"}',
    convert=_chatgpt,
    matches=signs("mapping current_node|create_time"),
    passed_over=frozenset({"user_profile", "user_instructions", "user_context_message_data"}),
)
CLAUDE = Format(
    name="claude",
    is_export=True,
    description="Claude data export (conversations.json)",
    layout='conversations {"uuid", "name", "chat_messages": [{"sender": "human" or "assistant", "content"}, …]}',
    convert=_claude,
    matches=signs("chat_messages"),
)
OPEN_WEBUI = Format(
    name="open_webui",
    description="chats exported from Open WebUI",
    layout='{"id", "title", "chat": {"history": {"currentId", "messages": {…}}}} in each row',
    convert=_open_webui,
    matches=signs("chat title chat/history|chat/messages", "models history/messages history/currentId"),
)
LIBRECHAT = Format(
    name="librechat",
    description="a conversation exported from LibreChat as JSON",
    layout='{"conversationId", "messages": [{"messageId", "parentMessageId", "isCreatedByUser", "text"}, …]}',
    records=_librechat_records,
    convert=_librechat,
    matches=signs(
        *(_MESSAGE, "conversationId messages/messageId messages/isCreatedByUser"),
        "conversationId messagesTree/messageId messagesTree/isCreatedByUser",
    ),
)
