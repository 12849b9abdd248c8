"""Messages in layouts of other libraries, which files, stores, encoders and the service all read alike."""

from typing import Any

LAYOUTS: list[dict[str, Any]] = [
    {"role": "user", "content": "my card is lost", "intent": "lost"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "block"}}]},
    {"role": "user", "content": [{"type": "text", "text": "it is "}, {"type": "text", "text": "gone"}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/card.png"}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "i cancel the card"},
            {"type": "tool_use", "id": "t", "name": "cancel", "input": {"card": 1}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]},
    {"from": "human", "value": "thanks"},
]
TEXTS = ["my card is lost", "", "it is gone", "", "i cancel the card", "", "thanks"]
ROLES = ["user", "assistant", "user", "user", "assistant", "user", "user"]
PLAIN = [{"role": role, "content": text} for role, text in zip(ROLES, TEXTS)]
# A message that no door takes, and what is said of it.
WRONG = [
    ({"role": "user", "content": [3]}, "has a part that is neither a text nor"),
    ({"role": "user", "content": [{"type": "text"}]}, "no text under 'text'"),
]
