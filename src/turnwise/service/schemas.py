"""What requests have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _encodable(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("half of a surrogate pair is no text")
    return text


Text = Annotated[str, AfterValidator(_encodable)]  # which an answer may repeat


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
