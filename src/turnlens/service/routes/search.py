"""`POST /v1/search`, `/v1/next` and `/v1/label`: what a store has for a query or a running conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from fastapi import Depends, Response
from fastapi import Request as HTTPRequest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import to_json

from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.data.messages import Messages
from turnlens.encoders.reply_model import ReplyModel, next_speaker
from turnlens.service.authentication import key_of
from turnlens.service.refusals import Refusal
from turnlens.service.request_bodies import EXAMPLE, JSON, Conversation, Fields, Request, body_of
from turnlens.service.routes.conversations import StoreName, StoreOf
from turnlens.service.service import Service, ServiceOf, with_contents
from turnlens.service.stores import OpenStore

if TYPE_CHECKING:
    from turnlens.store.store_reader import StoreReader

_MOST = 1000
_LONG_FILTER = 500  # characters; a filter of 10,000 takes a search four times as long
_FEW = 100  # hits, or messages to label, as fast as anything else
_LONGEST_WORDS = 10_000  # characters of a query in a search for words, as in the explorer

Limit = Annotated[int, Field(ge=1, le=_MOST, description="The number of hits to return")]
Offset = Annotated[int, Field(ge=0, le=_MOST, description="The number of hits to skip, from the best on")]


class SearchRequest(Fields):
    """A search: what for, and how."""

    model_config = ConfigDict(
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
) -> Response:
    """Search a store for messages or conversations."""
    return Response(await found(body, service, store), media_type=JSON)


async def found(body: SearchRequest, service: Service, store: OpenStore) -> bytes:
    """The answer to a search, written by the thread that searches, since hits may have very many labels."""
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
        conversation: Any = [{"role": "user", "content": body.query}] if body.messages is None else body.messages
        service.check_count(len(conversation), "messages")
        messages = await service.read_messages(conversation, "messages")
        call = partial(reader.search_conversations, messages, **settings)
    is_long = body.level != "message" or body.limit + body.offset > _FEW or len(body.where or "") > _LONG_FILTER

    def answer() -> tuple[bytes, bool]:
        hits = call()
        return to_json({"results": [_shown(hit) for hit in hits]}, inf_nan_mode="null"), bool(hits)

    told, has_hits = await service.stores.read(answer, is_long)
    if not has_hits:
        await _require_known_names(service, reader, body.where, body.level)
    return told


async def _require_known_names(
    service: Service, reader: StoreReader, where: str | None, level: Literal["message", "conversation"]
) -> None:
    """Refuse a filter that has found nothing, if the store lacks a role or a label that it names."""
    from turnlens.store.searches import absent_names

    if where is None:
        return
    absent = await service.stores.read(lambda: absent_names(reader.tables(), where, level), is_long=True)
    if absent:  # told by going through the whole store
        raise Refusal(422, f"where: {absent}", "where")


def _shown(hit: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(hit).items() if value is not None}


class NextRequest(Request):
    """A running conversation, and the replies to choose from."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": EXAMPLE, "limit": 3}]})

    messages: Conversation
    candidates: Annotated[list[str], Field(min_length=1, fail_fast=True)] | None = Field(
        None, description="The replies to rank; by default what the next speaker said in the store"
    )
    speaker: str | None = Field(None, description="Who speaks next; by default the person before the last speaker")
    mode: str | None = Field(None, description="How to score; by default the first way that the model supports")
    where: str | None = Field(None, description="For a store: a filter on messages, such as: role = 'assistant'")
    distinct: bool = Field(True, description="For a store: return replies that say the same only once")
    limit: Limit = 10

    @model_validator(mode="after")
    def _filters_a_store(self) -> Self:
        if self.candidates is not None and self.where is not None:
            raise ValueError("where filters the messages of a store, not candidates")
        return self


class Reply(BaseModel):
    """A reply with its score; if it comes from a store, also the place where it was said."""

    model_config = ConfigDict(extra="allow")

    text: str
    score: float
    probability: float | None = Field(
        None, description="For a store: the probability that it fits, of the first reply only, if it is suggested"
    )


class NextResponse(BaseModel):
    """The best replies, best first."""

    model: str
    replies: list[Reply]


async def next_replies(
    request: HTTPRequest,
    body: Annotated[NextRequest, Depends(body_of(NextRequest))],
    service: ServiceOf,
    store: StoreName = None,
) -> Response:
    """Rank what could be said next, as `turnlens reply` does."""
    model = service.check_model(body.model)
    candidates = body.candidates or []
    turns: Any = body.messages
    speaker = next_speaker(turns) if body.speaker is None else body.speaker
    turns = turns[-(ReplyModel(model.encoder).turns_read(body.mode) or len(turns)) :]
    service.check_count(len(candidates) + len(turns), "candidates")
    starts, tokens = await service.read_texts([*(message["content"] for message in turns), *candidates], "messages")
    messages, read = with_contents(turns, starts), starts[len(turns) :]
    if body.candidates is None:
        stored = service.stores.get(store, key_of(request.scope)).reader
        call = partial(
            stored.next_replies,
            messages,
            mode=body.mode,
            distinct=body.distinct,
            where=body.where,
            limit=body.limit,
            speaker=body.speaker,
        )
        replies = await service.stores.read(lambda: [_shown(hit) for hit in call()], is_long=True)
        if not replies:
            await _require_known_names(service, stored, body.where, "message")
    else:
        replies = await _rank(service, body, messages, speaker, read, tokens)
    return Response(to_json({"model": model.name, "replies": replies}, inf_nan_mode="null"), media_type=JSON)


async def _rank(
    service: Service,
    body: NextRequest,
    messages: Messages,
    speaker: str | None,
    candidates: Sequence[str],
    tokens: Sequence[int],
) -> list[dict[str, Any]]:
    encoder, texts = service.model.encoder, body.candidates or []
    embed = ReplyModel(encoder).encode_candidates
    vectors = np.concatenate(await service.in_parts(embed, candidates, tokens[len(messages) :]))
    running = ReplyModel(encoder).start(speaker)

    def scores_after(part: Messages) -> FloatArray:
        for message in part:
            running.add(message["content"], message["role"])
        return running.score(vectors, body.mode)

    try:
        *_, scores = await service.in_parts(scores_after, messages, tokens[: len(messages)], admitted=True)
    except ValueError as error:
        raise Refusal(422, str(error), "mode") from None
    best = np.argsort(-scores, kind="stable")[: body.limit]
    return [{"text": texts[row], "score": float(scores[row])} for row in best]


class LabelRequest(Fields):
    """A conversation whose messages are to be labelled."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": EXAMPLE}]})

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
    roles = [message["role"] for message in messages]
    turns, is_long = [len(messages)], len(messages) > _FEW or not store.knows_groups

    def as_grouped() -> tuple[Any, list[str]]:
        labeller = store.labeller()
        return labeller, labeller.texts_as_grouped([message["content"] for message in messages], turns, roles)

    labeller, texts = await service.stores.read(as_grouped, is_long)
    vectors, _ = await service.embed_texts(texts, "messages")

    def labelled() -> list[dict[str, Any]]:
        columns = labeller.columns(*labeller.label(unit_vectors(vectors), turns, roles, texts))
        return [dict(zip(columns, row)) for row in zip(*(column.to_pylist() for column in columns.values()))]

    return {"labels": await service.stores.read(labelled, is_long)}
