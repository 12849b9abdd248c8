"""`/v1/conversations` and `/v1/stores`: what is stored, adding to it and deleting from it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from turnwise.service.authentication import key_of
from turnwise.service.errors import Refusal, invalid_request
from turnwise.service.schemas import Conversation
from turnwise.service.service import ServiceOf
from turnwise.service.stores import OpenStore

_JSON, _LINES = "application/json", "application/x-ndjson"


class StoredConversation(BaseModel):
    """A conversation; what else it has are its labels."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(min_length=1, max_length=1024)
    messages: Conversation


class Conversations(BaseModel):
    """Conversations to add."""

    model_config = ConfigDict(extra="forbid")

    conversations: list[StoredConversation] = Field(min_length=1)


class Added(BaseModel):
    """What became of the conversations of a request, and how many messages were embedded for it."""

    added: int
    grown: int
    changed: int
    unchanged: int
    messages: int


class Deleted(BaseModel):
    """What became of a conversation."""

    id: str
    deleted: bool = Field(description="Nothing finds it any more; false where there was none")
    erased: bool = Field(description="Always false: older files hold it until turnwise store erase STORE on the server")


class StoreSize(BaseModel):
    """A store and what it holds."""

    name: str
    conversations: int
    messages: int


class StoreList(BaseModel):
    """The stores that a key sees."""

    stores: list[StoreSize]


_ROW: TypeAdapter[StoredConversation] = TypeAdapter(StoredConversation)
_ANY_CONVERSATION = {"type": "object", "required": ["id", "messages"], "additionalProperties": True}
BODY = {  # what FastAPI would write if there were only one type of content
    "requestBody": {
        "required": True,
        "content": {
            _JSON: {
                "schema": {
                    "type": "object",
                    "required": ["conversations"],
                    "properties": {"conversations": {"type": "array", "items": _ANY_CONVERSATION}},
                }
            },
            _LINES: {"schema": _ANY_CONVERSATION},
        },
    }
}


StoreName = Annotated[str | None, Query(description="The name of the store; not needed where there is one")]


def store_of(request: Request, service: ServiceOf, store: StoreName = None) -> OpenStore:
    """The store that a request is about, once the model is loaded."""
    service.worker.check_loaded()
    return service.stores.get(store, key_of(request.scope))


StoreOf = Annotated[OpenStore, Depends(store_of)]


async def add_conversations(request: Request, service: ServiceOf, store: StoreOf) -> dict[str, Any]:
    """Add conversations, or what is new of them.

    A conversation is sent as a whole each time, also when it has grown: only its new messages are embedded, and what is
    there already costs nothing. When this is answered, all of it is stored; when it is not, send it again.
    """
    service.worker.check_room()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_JSON, _LINES):
        raise Refusal(415, f"send {_JSON} or {_LINES}, got {kind or 'no Content-Type'}")
    body = await request.body()
    rows = await run_in_threadpool(partial(_rows_of_lines if kind == _LINES else _rows, body))
    return asdict(await service.stores.write(lambda: store.writer.add(rows)))


def _rows(body: bytes) -> list[dict[str, Any]]:
    try:
        parsed = Conversations.model_validate_json(body)
    except ValidationError as error:
        raise invalid_request(error.errors()) from None
    return [conversation.model_dump() for conversation in parsed.conversations]


def _rows_of_lines(body: bytes) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                rows.append(_ROW.validate_json(line).model_dump())
            except ValidationError as error:
                raise invalid_request(error.errors(), f"line {number}") from None
    if not rows:
        raise Refusal(422, "expected one conversation or more, a line each")
    return rows


async def get_conversation(id: str, service: ServiceOf, store: StoreOf) -> dict[str, Any]:
    """A conversation as it was added."""
    found = await service.stores.read(lambda: store.reader.get(id))
    if found is None:
        raise Refusal(404, "there is no such conversation", "id")
    return found


async def delete_conversation(id: str, service: ServiceOf, store: StoreOf) -> dict[str, Any]:
    """Delete a conversation: nothing finds it any more.

    Older files of the store hold its bytes until `turnwise store erase STORE` is said on the server, which writes the
    store anew; requests are answered meanwhile.
    """
    deleted = bool(await service.stores.write(lambda: store.writer.delete([id])))
    return {"id": id, "deleted": deleted, "erased": False}


async def stores(request: Request, service: ServiceOf) -> dict[str, Any]:
    """The stores that the key sees."""
    service.worker.check_loaded()
    key = key_of(request.scope)
    sizes = []
    for name in service.stores.visible(key):
        stats = await service.stores.read(service.stores.get(name, key).reader.stats)
        sizes.append({"name": name, "conversations": stats.conversations, "messages": stats.messages})
    return {"stores": sizes}
