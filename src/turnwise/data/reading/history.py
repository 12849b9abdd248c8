"""One conversation out of calls that each repeat what was said before."""

from __future__ import annotations

import json
from typing import Any

Messages = list[dict[str, Any]]


def joined_calls(calls: list[Messages]) -> tuple[Messages, int]:
    """The messages of a session, and how often a call left the path of those before it.

    That is where something was edited, or asked for again; the longest path wins, and of equals the last.

    Args:
        calls: For each call in order of time, the history it sent and the answer.
    """
    path: Messages = []
    keys: list[str] = []
    branches = 0
    for messages in calls:
        new = [_key(message) for message in messages]
        shared = next((i for i, (one, other) in enumerate(zip(keys, new)) if one != other), min(len(keys), len(new)))
        if shared == len(new):
            continue
        if shared == 0:  # the history begins later, or is kept by the provider
            shared = next((n for n in range(min(len(keys), len(new)), 0, -1) if keys[-n:] == new[:n]), 0)
            path, keys = path + messages[shared:], keys + new[shared:]
            continue
        if shared == len(keys):
            path, keys = path + messages[shared:], keys + new[shared:]
            continue
        branches += 1
        if len(new) >= len(keys):
            path, keys = path[:shared] + messages[shared:], new
    return path, branches


def _key(message: dict[str, Any]) -> str:
    """What a message is known by when it is repeated: thoughts and times are not."""
    parts = [message["role"], message["content"].strip(), *map(message.get, ("tool_calls", "tool_results"))]
    return json.dumps(parts, sort_keys=True, default=str)
