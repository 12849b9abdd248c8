"""The level of an encoder, a recipe, a task or a baseline: messages, conversations, or the replies to them."""

from __future__ import annotations

from typing import Literal

LevelName = Literal["message", "conversation", "reply"]
