"""`/v1/conversations` and `/v1/stores`: reading, adding and deleting stored conversations."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from pydantic_core import to_json
from typing_extensions import TypedDict

from turnlens.service.authentication import key_of
from turnlens.service.gate import SHORT
from turnlens.service.refusals import Refusal, invalid_request
from turnlens.service.request_bodies import (
    EXAMPLE,
    JSON,
    Conversation,
    content_type,
    parsed,
    parsed_json,
)
from turnlens.service.service import ServiceOf
from turnlens.service.stores import OpenStore

LINES = "application/x-ndjson"
_EXAMPLE: JsonValue = {"id": "2024-001", "messages": EXAMPLE, "topic": "card"}


@with_config(ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]}))
class StoredConversation(TypedDict):
    """A conversation; its further fields are labels."""

    id: Annotated[str, Field(min_length=1, max_length=1024, coerce_numbers_to_str=True)]  # as those of files
    messages: Conversation


class Conversations(BaseModel):
    """Conversations to add."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"conversations": [_EXAMPLE]}]})

    conversations: Annotated[list[StoredConversation], Field(min_length=1, fail_fast=True)]


class Added(BaseModel):
    """The numbers of conversations that were added or changed, and of messages that were embedded."""

    added: int
    grown: int
    changed: int
    unchanged: int
    messages: int
    shortened: int = Field(description="How many of those that changed have fewer messages than before")
    lost: int = Field(description="How many fewer")
    repeated: int = Field(description="How many of all took the place of one before with the same id")


class Deleted(BaseModel):
    """The result of deleting a conversation."""

    id: str
    deleted: bool = Field(description="Whether there was such a conversation; no search finds it any more")
    erased: bool = Field(description="Always false: older files hold it until turnlens store erase STORE on the server")


class StoreSize(BaseModel):
    """A store and the size of its content."""

    name: str
    conversations: int
    messages: int


class StoreList(BaseModel):
    """The stores that a key may use."""

    stores: list[StoreSize]


_ROW: TypeAdapter[StoredConversation] = TypeAdapter(StoredConversation)


StoreName = Annotated[str | None, Query(description="The name of the store; not needed if there is only one")]


def store_of(request: Request, service: ServiceOf, store: StoreName = None) -> OpenStore:
    """The store that a request names, once the model is loaded."""
    service.worker.check_loaded()
    return service.stores.get(store, key_of(request.scope))


StoreOf = Annotated[OpenStore, Depends(store_of)]


async def add_conversations(request: Request, service: ServiceOf, store: StoreOf) -> dict[str, Any]:
    """Add conversations, or the new messages of conversations that are stored already.

    Always send a conversation as a whole, also when it has grown. Only its new messages are embedded; messages that are
    stored already cost nothing. Once this request is answered, everything is stored. If it is not answered, send it
    again.
    """
    service.worker.check_room()
    kind = content_type(request)
    if kind not in (JSON, LINES):
        raise Refusal(415, f"send {JSON} or {LINES}, got {kind or 'no Content-Type'}")
    body = await request.body()
    rows = await service.in_thread(partial(_rows_of_lines if kind == LINES else _rows, body), len(body) > SHORT)
    await service.check_length([message["content"] for row in rows for message in row["messages"]], "messages")
    return asdict(await service.stores.write(lambda: store.writer.add(rows)))


def _rows(body: bytes) -> list[StoredConversation]:
    return parsed(Conversations, body).conversations


def _rows_of_lines(body: bytes) -> list[StoredConversation]:
    rows = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            place = f"line {number}"
            try:
                rows.append(_ROW.validate_python(parsed_json(line, place)))
            except ValidationError as error:
                raise invalid_request(error, place) from None
    if not rows:
        raise Refusal(422, "expected one conversation or more, a line each")
    return rows


async def get_conversation(id: str, service: ServiceOf, store: StoreOf) -> Response:
    """A conversation as it was added."""

    def read() -> bytes | None:
        conversation = store.reader.get(id)
        return None if conversation is None else to_json(conversation, exclude_none=True, inf_nan_mode="null")

    answer = await service.stores.read(read, is_long=True)
    if answer is None:
        raise Refusal(404, "there is no such conversation", "id")
    return Response(answer, media_type=JSON)


async def delete_conversation(id: str, service: ServiceOf, store: StoreOf) -> dict[str, Any]:
    """Delete a conversation, so that no search finds it any more.

    Older files of the store hold its bytes until somebody runs `turnlens store erase STORE` on the server. That command
    writes the store again, while requests are still answered.
    """
    deleted = bool(await service.stores.write(lambda: store.writer.delete([id])))
    return {"id": id, "deleted": deleted, "erased": False}


async def stores(request: Request, service: ServiceOf) -> dict[str, Any]:
    """List the stores that the key may use."""
    service.worker.check_loaded()
    key = key_of(request.scope)
    sizes = []
    for name in service.stores.visible(key):
        stats = await service.stores.read(service.stores.get(name, key).reader.stats)
        sizes.append({"name": name, "conversations": stats.conversations, "messages": stats.messages})
    return {"stores": sizes}
