"""Calls as somebody's own code logs them: what was asked and answered in columns beside what is known of the call."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from turnlens.formats.column_names import plain_name
from turnlens.formats.columns import columns_known
from turnlens.formats.format import Head
from turnlens.formats.message_layouts import parsed
from turnlens.formats.source_file import BadRow

_ASKED = ("messages", "prompt", "query", "question", "input", "user_message", "user_input")
_ANSWERED = ("response", "completion", "answer", "output", "assistant_message", "assistant_response", "bot_response")
_OTHERS = ("instruction", "request", "chosen")  # of rows to learn from, and of logs that hold bodies
# The words in names of columns that rows to learn from do not have.
_OF_A_CALL = re.compile(
    r"(^|_)(model|latency|tokens|cost|spend|status_code|http_status|duration_ms|response_time)(_|$)"
)


def flat_names(keys: Collection[str]) -> tuple[str, str] | None:
    """The columns that hold what was asked and what was answered."""
    asked, answered = (next((name for name in names if name in keys), None) for names in (_ASKED, _ANSWERED))
    return None if asked is None or answered is None or not set(_OTHERS).isdisjoint(keys) else (asked, answered)


def is_flat(head: Head, whens: Collection[str]) -> bool:
    """Whether rows are such calls.

    Args:
        head: The beginning of the file.
        whens: The columns that say when a call was, or in which session.
    """
    names = flat_names(head.keys)
    if names is None or columns_known(head.keys) or head.keys.isdisjoint(whens):
        return False
    is_call = any(_OF_A_CALL.search(plain_name(key)) for key in head.keys)
    return is_call and (names[0] == "messages" or names[0] not in head.inner)


def flat_bodies(record: dict[str, Any], names: tuple[str, str]) -> tuple[dict[str, Any], Any] | None:
    """The request and the response, in the layout of Chat Completions; None where what was asked is a body itself.

    Args:
        record: The record.
        names: The columns that hold them, of `flat_names`.

    Raises:
        BadRow: Nothing was asked.
    """
    asked, answered = (parsed(record[name]) for name in names)
    if isinstance(asked, dict):
        return None
    if not asked:
        raise BadRow(f"found nothing under {names[0]!r}; expected what was asked")
    messages = asked if isinstance(asked, list) else [{"role": "user", "content": str(asked)}]
    ends = isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant"
    return {"messages": messages}, None if ends else answered
