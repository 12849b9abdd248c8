"""Source formats of conversations, by name."""

from __future__ import annotations

from turnlens._utils.registries import Table
from turnlens.formats.format import Format

_HERE = "turnlens.formats"
# Detection takes the first match, so the formats with the most distinctive layouts come first. Extensions' formats
# precede only those of `_GENERAL`, which match much that is not theirs.
_DISTINCTIVE = {
    "chatgpt": "assistant_trees:CHATGPT",
    "claude": "assistant_trees:CLAUDE",
    "open_webui": "assistant_trees:OPEN_WEBUI",
    "librechat": "assistant_trees:LIBRECHAT",
    "claude_code": "agent_sessions:CLAUDE_CODE",
    "codex": "agent_sessions:CODEX",
    "discord": "chat_apps:DISCORD",
    "slack": "slack:FORMAT",
    "telegram": "chat_apps:TELEGRAM",
    "messenger": "chat_apps:META",
    "intercom": "help_desks:INTERCOM",
    "zendesk": "help_desks:ZENDESK",
    "spans": "spans:FORMAT",
    "calls": "calls:FORMAT",
    "whisper": "speech:WHISPER",
    "subtitles": "speech:SUBTITLES",
    "mbox": "mbox:FORMAT",
    "whatsapp": "whatsapp:FORMAT",
    "chat": "chat:CHAT",
}
_GENERAL = {"table": "table:FORMAT", "pairs": "chat:PAIRS", "transcript": "transcript:FORMAT"}
FORMATS: Table[Format] = Table(
    {name: f"{_HERE}.{place}" for name, place in _DISTINCTIVE.items()},
    "FORMATS",
    last={name: f"{_HERE}.{place}" for name, place in _GENERAL.items()},
)
