"""`POST /v1/search`: find messages, conversations, or conversations that went like a given one so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, Self

from fastapi import Depends
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from turnlens.service.errors import Refusal
from turnlens.service.parsing import body_of
from turnlens.service.routes.conversations import StoreOf
from turnlens.service.schemas import Conversation
from turnlens.service.service import ServiceOf

_MOST = 1000
_FEW = 100  # hits, found as fast as anything else
_LONGEST_WORDS = 10_000  # characters of a query in a search for words, as in the explorer

Limit = Annotated[int, Field(ge=1, le=_MOST, description="The number of hits to return")]
Offset = Annotated[int, Field(ge=0, le=_MOST, description="The number of hits to skip, from the best on")]


class SearchRequest(BaseModel):
    """A search: what for, and how."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"query": "I lost my card", "mode": "hybrid", "where": "role = 'user'", "limit": 5}]
        },
    )

    query: str | None = Field(None, description="The text to search for")
    messages: Conversation | None = Field(None, description="A conversation, instead of query")
    level: Literal["message", "conversation"] = Field("message", description="Find messages, or whole conversations")
    mode: Literal["vector", "text", "hybrid"] = Field(
        "vector", description="For messages: search by meaning, by words (BM25), or by both"
    )
    where: str | None = Field(None, description="A filter, such as: role = 'user' and label.intent = 'refund'")
    limit: Limit = 10
    offset: Offset = 0

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str | None) -> str | None:
        if query is not None and not query.strip():
            raise ValueError("it is empty; expected a text to search for")
        return query

    @model_validator(mode="after")
    def _fits_level(self) -> Self:
        if (self.query is None) == (self.messages is None):
            raise ValueError("give either query or messages")
        if self.level == "message" and self.query is None:
            raise ValueError("level 'message' needs a query, a text")
        if self.level != "message" and self.mode != "vector":
            raise ValueError("mode belongs to level 'message'")
        return self


class Hit(BaseModel):
    """A message or conversation that was found.

    Messages also have a turn, a role and a time; conversations have fields that describe them as a whole.
    """

    model_config = ConfigDict(extra="allow")

    score: float
    conversation: str
    text: str
    labels: dict[str, Any]


class SearchResponse(BaseModel):
    """The hits, best first."""

    results: list[Hit]


async def search(
    body: Annotated[SearchRequest, Depends(body_of(SearchRequest))], service: ServiceOf, store: StoreOf
) -> dict[str, Any]:
    """Search a store for messages or conversations."""
    reader = store.reader
    settings: dict[str, Any] = {"where": body.where, "limit": body.limit, "offset": body.offset}
    if body.level == "message":
        query: Any = body.query
        if body.mode != "vector" and len(body.query or "") > _LONGEST_WORDS:
            problem = f"in mode {body.mode!r} a query has at most {_LONGEST_WORDS:,} characters"
            raise Refusal(422, f"query: {problem}, got {len(query):,}", "query")
        if body.mode == "vector":  # embedded in a batch with the texts of other requests
            vectors, _ = await service.embed_texts([query], "query")
            query = vectors[0]
        settings["mode"] = body.mode
        call: Callable[[], Any] = partial(reader.search_messages, query, **settings)
    else:
        given: Any = [{"role": "user", "content": body.query}] if body.messages is None else body.messages
        service.check_count(len(given), "messages")
        messages = await service.read_messages(given, "messages")
        call = partial(reader.search_conversations, messages, **settings)
    is_long = body.level != "message" or body.limit + body.offset > _FEW
    return {"results": [asdict(hit) for hit in await service.stores.read(call, is_long)]}
