"""`POST /v1/next`: what could be said next in a running conversation."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, PositiveInt
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import FloatArray
from turnwise.data.messages import Messages
from turnwise.replies import SequenceModel
from turnwise.replies.sequence import next_speaker
from turnwise.service.schemas import Conversation, Request
from turnwise.service.service import ServiceOf


class NextRequest(Request):
    """A running conversation and the replies to rank."""

    messages: Conversation
    candidates: Annotated[list[str], Field(min_length=1)] = Field(description="The replies to rank")
    speaker: str | None = Field(None, description="Who speaks next; by default who spoke before the last speaker")
    last_rows: PositiveInt | None = Field(None, description="Average only pairs with one of this many last turns")
    limit: PositiveInt = 10


class Reply(BaseModel):
    """A reply and how well it fits."""

    text: str
    score: float


class NextResponse(BaseModel):
    """The best replies, best first."""

    model: str
    replies: list[Reply]


async def next_replies(body: NextRequest, service: ServiceOf) -> dict[str, Any]:
    """Rank what could be said next, as `turnwise reply` does."""
    model = service.check_model(body.model)
    service.check_count(len(body.candidates) + len(body.messages), "candidates")
    messages = [message.model_dump() for message in body.messages]
    texts = [*(message["content"] for message in messages), *body.candidates]
    tokens = await service.count_tokens(texts, "candidates")
    vectors = np.concatenate(
        await service.in_parts(
            lambda some: SequenceModel(model.encoder).encode_candidates(some),
            body.candidates,
            tokens[len(messages) :],
        )
    )
    speaker = next_speaker(messages) if body.speaker is None else body.speaker
    score = partial(_scores, model.encoder, messages, speaker, body.last_rows, vectors)
    scores = await service.worker.call(score, sum(tokens[: len(messages)]), admitted=True)
    best = np.argsort(-scores, kind="stable")[: body.limit]
    return {
        "model": model.name,
        "replies": [{"text": body.candidates[row], "score": float(scores[row])} for row in best],
    }


def _scores(
    encoder: SentenceTransformer,
    messages: Messages,
    speaker: str | None,
    last_rows: int | None,
    candidates: FloatArray,
) -> FloatArray:
    running = SequenceModel(encoder).start(speaker)
    for message in messages:
        running.add(message["content"], message["role"])
    return running.score(candidates, last_rows=last_rows)
