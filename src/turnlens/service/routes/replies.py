"""`POST /v1/next`: what could be said next in a running conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from fastapi import Depends
from fastapi import Request as HTTPRequest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnlens._utils.vectors import FloatArray
from turnlens.data.messages import Messages
from turnlens.encoders.reply_model import ReplyModel, next_speaker
from turnlens.service.authentication import key_of
from turnlens.service.errors import Refusal
from turnlens.service.parsing import body_of
from turnlens.service.routes.conversations import StoreName
from turnlens.service.routes.search import Limit
from turnlens.service.schemas import EXAMPLE, Conversation, Request
from turnlens.service.service import Service, ServiceOf, with_contents


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
    distinct: bool = Field(True, description="For a store: return each text only once")
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


class NextResponse(BaseModel):
    """The best replies, best first."""

    model: str
    replies: list[Reply]


async def next_replies(
    request: HTTPRequest,
    body: Annotated[NextRequest, Depends(body_of(NextRequest))],
    service: ServiceOf,
    store: StoreName = None,
) -> dict[str, Any]:
    """Rank what could be said next, as `turnlens reply` does."""
    model = service.check_model(body.model)
    candidates = body.candidates or []
    said: Any = body.messages
    speaker = next_speaker(said) if body.speaker is None else body.speaker
    said = said[-(ReplyModel(model.encoder_for(body.mode)).turns_read(body.mode) or len(said)) :]
    service.check_count(len(candidates) + len(said), "candidates")
    starts, tokens = await service.read_texts([*(message["content"] for message in said), *candidates], "messages")
    messages, read = with_contents(said, starts), starts[len(said) :]
    if body.candidates is None:
        stored = service.stores.get(store, key_of(request.scope)).reader
        call = partial(
            stored.next_replies,
            messages,
            mode=body.mode,
            distinct=body.distinct,
            where=body.where,
            limit=body.limit,
            speaker=speaker,
        )
        replies = [asdict(hit) for hit in await service.stores.read(call, is_long=True)]
    else:
        replies = await _rank(service, body, messages, speaker, read, tokens)
    return {"model": model.name, "replies": replies}


async def _rank(
    service: Service,
    body: NextRequest,
    messages: Messages,
    speaker: str | None,
    candidates: Sequence[str],
    tokens: Sequence[int],
) -> list[dict[str, Any]]:
    encoder, texts = service.model.encoder_for(body.mode), body.candidates or []
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
