"""The parts that several request schemas share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, with_config
from typing_extensions import TypedDict

from turnlens.formats.message_layouts import plain_message


class Request(BaseModel):
    """A request. An unknown field is an error, so that it is not silently ignored."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the served model; may be left out")


_CONTENT: dict[str, JsonValue] = {
    "anyOf": [{"type": "string"}, {"type": "array"}, {"type": "null"}],
    "description": "A text or a list of parts; null beside tool_calls, refusal or audio",
}


@with_config(ConfigDict(extra="allow"))
class Message(TypedDict):
    """A message. Its further fields, such as labels, are kept when it is stored."""

    role: Annotated[str, Field(min_length=1)]
    content: Annotated[str, WithJsonSchema(_CONTENT)]


def _plain(message: Any) -> Any:
    return plain_message(message) if isinstance(message, dict) else message


# If a long list is wrong throughout, its first error is enough. Messages are read as those of files are.
Conversation = Annotated[list[Annotated[Message, BeforeValidator(_plain)]], Field(min_length=1, fail_fast=True)]
EXAMPLE: list[JsonValue] = [
    {"role": "user", "content": "My card is gone."},
    {"role": "assistant", "content": "I will block it."},
]
