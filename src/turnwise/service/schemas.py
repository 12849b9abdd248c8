"""What requests have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict


class Request(BaseModel):
    """A request; a field that does not exist is an error, and not silently without effect."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the served model, which may be left out")


@with_config(ConfigDict(extra="allow"))
class Message(TypedDict):
    """A message; what else it has, such as labels, is kept where it is stored."""

    role: Annotated[str, Field(min_length=1)]
    content: str


# Of a long list that is wrong all through, the first error says enough.
Conversation = Annotated[list[Message], Field(min_length=1, fail_fast=True)]
EXAMPLE: list[JsonValue] = [
    {"role": "user", "content": "My card is gone."},
    {"role": "assistant", "content": "I will block it."},
]
