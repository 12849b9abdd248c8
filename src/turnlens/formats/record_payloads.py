"""Taking apart the records of products that keep a conversation in a text, so that names lead to what is said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from turnlens.formats.html_text import without_markup
from turnlens.formats.message_times import said_when

Record = dict[str, Any]
# What Salesforce's chat writes itself: "Chat Started: …", "Agent Zoé", each in the middle of a line of its own.
_NOTICE = re.compile(r"<(?:p|div) align=[\"']?center[\"']?>([^<]*)</(?:p|div)>", re.IGNORECASE)
_SAID = re.compile(r"\(\s((?:\d{1,5}[dhms]\s){1,4})\)\s([^:<>()]{1,80}):")
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
# Protocol buffers as text, of which Dialogflow ES logs its answers.
_FIELD = r"\b%s(?:: |\s*\{\s*string_value: )\"((?:[^\"\\]|\\.)+)\""
_FIELDS = ("session_id", "resolved_query", "speech", "intent_name")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_CHARACTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def salesforce_chat(record: Record) -> Record:
    """The record of a `LiveChatTranscript` with its ``messages``; roles are names if it does not say who is the agent.

    >>> body = '<p align="center">Agent Max</p>( 8s ) Max: Hi<br>( 1m 2s ) Zoé: Hello<br>'
    >>> [(said["role"], said["text"], said["time"]) for said in salesforce_chat({"Body": body})["messages"]]
    [('assistant', 'Hi', '0:00:08'), ('user', 'Hello', '0:01:02')]
    """
    body = str(record.get("Body") or "")
    begun = said_when(record.get("StartTime")).get("time")
    before, *said = _SAID.split(_NOTICE.sub("\n", body))
    notices = [*_NOTICE.findall(body), *before.splitlines()]
    agents = {" ".join(words[1:]) for notice in notices if (words := without_markup(notice).split())}
    names = [without_markup(name).strip() for name in said[1::3]]
    messages = []
    for offset, name, text in zip(said[::3], names, said[2::3]):
        passed = timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(.)", offset)))
        role = name if agents.isdisjoint(names) else "assistant" if name in agents else "user"
        time = (datetime.fromisoformat(begun) + passed).isoformat() if begun else str(passed)
        messages.append({"role": role, "name": name, "text": without_markup(text), "time": time})
    return {**record, "messages": messages}


def dialogflow_answer(record: Record) -> Record:
    r"""An entry of Dialogflow ES in Cloud Logging with what was asked and answered; requests hold nothing further.

    >>> entry = r'Dialogflow Response : session_id: "7" result { resolved_query: "d\303\251j\303\240 ?" }'
    >>> dialogflow_answer({"textPayload": entry})["resolved_query"]
    'déjà ?'
    """
    payload = str(record.get("textPayload") or "")
    if not payload.startswith("Dialogflow Response"):
        return {}
    found = {name: re.search(_FIELD % name, payload) for name in _FIELDS}
    return {**record, **{name: _unescaped(match[1]) for name, match in found.items() if match}}


def _unescaped(text: str) -> str:
    def character(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if len(code) == 3 else _CHARACTERS.get(code, code)

    return _ESCAPED.sub(character, text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
