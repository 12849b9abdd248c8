"""What requests have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Request(BaseModel):
    """A request; a field that does not exist is an error, and not silently without effect."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the served model, which may be left out")


class Message(BaseModel):
    """A message; what else it has, such as labels, is kept where it is stored."""

    model_config = ConfigDict(extra="allow")

    role: str = Field(min_length=1)
    content: str


Conversation = Annotated[list[Message], Field(min_length=1)]
