"""Source formats of conversations, by name."""

from __future__ import annotations

from turnwise._utils.extensions import Table
from turnwise.data.reading.format import Format

_HERE = "turnwise.data.formats"
# Detection takes the first match, so the formats with the most distinctive layouts come first. Extensions' formats
# precede only those of `_GENERAL`, which match much that is not theirs.
_DISTINCTIVE = (
    "chatgpt",
    "claude",
    "open_webui",
    "librechat",
    "claude_code",
    "codex",
    "discord",
    "slack",
    "intercom",
    "zendesk",
    "whisper",
    "subtitles",
    "mbox",
    "whatsapp",
    "spans",
    "calls",
    "chat",
)
_TOGETHER = {
    "chatgpt": "assistant_trees:CHATGPT",
    "claude": "assistant_trees:CLAUDE",
    "open_webui": "assistant_trees:OPEN_WEBUI",
    "librechat": "assistant_trees:LIBRECHAT",
    "claude_code": "agent_sessions:CLAUDE_CODE",
    "codex": "agent_sessions:CODEX",
}
_GENERAL = ("table", "pairs", "transcript")
FORMATS: Table[Format] = Table(
    {name: f"{_HERE}.{_TOGETHER.get(name, f'{name}:FORMAT')}" for name in _DISTINCTIVE},
    "FORMATS",
    last={name: f"{_HERE}.{name}:FORMAT" for name in _GENERAL},
)
