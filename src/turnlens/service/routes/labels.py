"""`POST /v1/label`: the group of each message of a conversation, of those that were found in a store."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import Depends
from pydantic import BaseModel, ConfigDict, Field

from turnlens.service.parsing import body_of
from turnlens.service.routes.conversations import StoreOf
from turnlens.service.schemas import EXAMPLE, Conversation
from turnlens.service.service import ServiceOf


class LabelRequest(BaseModel):
    """A conversation whose messages are to be labelled."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"messages": EXAMPLE}]})

    messages: Conversation


class MessageLabel(BaseModel):
    """The group of a message; without one, it belongs to none of the store's groups."""

    group: int | None = None
    group_name: str | None = None
    coarse_group: int | None = Field(None, description="The coarse group that the group belongs to")
    coarse_group_name: str | None = None
    confidence: float = Field(description="The probability that it belongs to the group that is most like it")


class LabelResponse(BaseModel):
    """The labels, in the order of the messages."""

    labels: list[MessageLabel]


async def label(
    body: Annotated[LabelRequest, Depends(body_of(LabelRequest))], service: ServiceOf, store: StoreOf
) -> dict[str, Any]:
    """Give each message the group that `turnlens cluster` or `turnlens explore` has found in the store, or none."""
    messages: Any = body.messages
    vectors, _ = await service.embed_texts([message["content"] for message in messages], "messages")
    roles = [message["role"] for message in messages]
    call = partial(store.labelled, vectors, roles)
    return {"labels": await service.stores.read(call)}
