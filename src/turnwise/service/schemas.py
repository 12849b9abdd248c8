"""The parts that several request schemas share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict


class Request(BaseModel):
    """A request. An unknown field is an error, so that it is not silently ignored."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the served model; may be left out")


@with_config(ConfigDict(extra="allow"))
class Message(TypedDict):
    """A message. Its further fields, such as labels, are kept when it is stored."""

    role: Annotated[str, Field(min_length=1)]
    content: str


# If a long list is wrong throughout, its first error is enough.
Conversation = Annotated[list[Message], Field(min_length=1, fail_fast=True)]
EXAMPLE: list[JsonValue] = [
    {"role": "user", "content": "My card is gone."},
    {"role": "assistant", "content": "I will block it."},
]
