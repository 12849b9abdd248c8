"""`POST /v1/embeddings`, OpenAI's route, which here embeds whole conversations too, and `POST /v1/rerank`."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal, Self

import numpy as np
from fastapi import Depends, Response
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PositiveInt,
    Tag,
    model_validator,
)
from pydantic_core import to_json

from turnlens._utils.registries import check_pooling
from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.data.messages import Messages
from turnlens.service.refusals import Refusal
from turnlens.service.request_bodies import EXAMPLE, Conversation, Request, body_of
from turnlens.service.service import Service, ServiceOf, with_contents

_MANY_NUMBERS = 20_000  # more numbers are turned into text by another thread
# strict, since true would count as 1
_Tokens = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], Field(min_length=1, fail_fast=True)]


def _kind(value: Any) -> str | None:
    if isinstance(value, list):
        first = value[0] if value else ""
        return "token_lists" if isinstance(first, list) else "tokens" if type(first) is int else "texts"
    return "text"


_Input = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[list[str], Field(min_length=1, fail_fast=True), Tag("texts")]
    | Annotated[_Tokens, Tag("tokens")]
    | Annotated[list[_Tokens], Field(min_length=1, fail_fast=True), Tag("token_lists")],
    Discriminator(_kind),
]


class EmbeddingRequest(Request):
    """The input to embed: texts, token lists of the served model, or conversations."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"input": ["My card is gone.", "Thanks!"]}, {"messages": EXAMPLE, "pooling": "mean"}]
        }
    )

    input: _Input | None = Field(
        None, description="A text, several texts, or, with tokenizer, token ids of the served model"
    )
    tokenizer: str | None = Field(
        None, description="For token ids: the name of the served model, to say that they are of its own tokenizer"
    )
    messages: Conversation | Annotated[list[Conversation], Field(min_length=1, fail_fast=True)] | None = Field(
        None, description="A conversation, or several, instead of input"
    )
    pooling: Annotated[str, AfterValidator(check_pooling)] = Field(
        "mean", description="How to pool conversations: mean, messages, speaker:ROLE, or one of an extension"
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: PositiveInt | None = Field(
        None, description="Keep only this many first numbers of each vector, scaled to length 1"
    )
    user: str | None = Field(None, description="Not used")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.input is None) == (self.messages is None):
            raise ValueError("give either input or messages")
        return self


class Usage(BaseModel):
    """The number of tokens that the model has read."""

    prompt_tokens: int
    total_tokens: int


class Embedding(BaseModel):
    """One vector."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingResponse(BaseModel):
    """The vectors, in the order of the request."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


async def embeddings(
    body: Annotated[EmbeddingRequest, Depends(body_of(EmbeddingRequest))], service: ServiceOf
) -> Response:
    """Embed texts, token lists or conversations."""
    model = service.check_model(body.model)
    if body.dimensions is not None and body.dimensions > model.dimension:
        raise Refusal(422, f"the model gives {model.dimension} dimensions, not {body.dimensions}", "dimensions")
    if body.messages is not None:
        vectors, tokens = await _embed_conversations(service, body)
    else:
        vectors, tokens = await _embed_input(service, body.input, body.tokenizer)
    render = partial(_render, vectors, tokens, model.name, body.encoding_format, body.dimensions)
    content = await service.in_thread(render, vectors.size > _MANY_NUMBERS)
    return Response(content, media_type="application/json")


async def _embed_input(service: Service, inputs: Any, tokenizer: str | None) -> tuple[FloatArray, int]:
    rows = [inputs] if isinstance(inputs, str) or isinstance(inputs[0], int) else inputs
    if isinstance(rows[0], str):
        return await service.embed_texts(rows, "input")
    model = service.model
    if tokenizer not in model.names:
        # ids of another tokenizer give a vector of other words, and nothing in them tells whose they are
        problem = (
            "token ids are read only if the request says that they are of this model's own tokenizer, by "
            f'"tokenizer": "{model.name}"; otherwise send texts (in LangChain: check_embedding_ctx_length=False)'
        )
        raise Refusal(422, f"input: {problem}", "tokenizer" if tokenizer else "input")
    limit = model.limit or max(map(len, rows))
    for number, row in enumerate(rows):
        if len(row) > limit:
            raise Refusal(422, f"input.{number}: the model reads {limit} tokens, got {len(row)}", f"input.{number}")
        if max(row) >= model.vocabulary_size:
            problem = f"token ids must be below {model.vocabulary_size}, got {max(row)}"
            raise Refusal(422, f"input.{number}: {problem}", f"input.{number}")
    return await service.embed_rows(rows, "input")


async def _embed_conversations(service: Service, body: EmbeddingRequest) -> tuple[FloatArray, int]:
    messages: Any = body.messages
    conversations = messages if isinstance(messages[0], list) else [messages]
    service.check_count(sum(map(len, conversations)), "messages")
    _check_speaker(body.pooling, conversations)
    starts, tokens = await service.read_texts(
        [m["content"] for messages in conversations for m in messages], "messages"
    )
    read = iter(starts)
    conversations = [with_contents(messages, islice(read, len(messages))) for messages in conversations]
    ends = np.cumsum([len(messages) for messages in conversations])
    costs = [int(part.sum()) for part in np.split(np.array(tokens), ends[:-1])]
    encoder = service.model.encoder
    try:
        parts = await service.in_parts(
            lambda part: encoder.encode_conversations(part, pooling=body.pooling), conversations, costs
        )
    except ValueError:
        problem = "in one of the conversations, this speaker says nothing within the part that the model reads"
        raise Refusal(422, f"pooling: {problem}", "pooling") from None
    return np.concatenate(parts), sum(tokens)


def _check_speaker(pooling: str, conversations: Sequence[Messages]) -> None:
    role = pooling.removeprefix("speaker:")
    if role == pooling:
        return
    for number, messages in enumerate(conversations):
        if role not in (message["role"] for message in messages):
            raise Refusal(422, f"messages.{number}: nobody has the role {role!r} of pooling", f"messages.{number}")


def _render(vectors: FloatArray, tokens: int, model: str, encoding: str, dimensions: int | None) -> bytes:
    if dimensions is not None:
        vectors = unit_vectors(vectors[:, :dimensions])
    rows: Sequence[Any] = vectors.tolist()
    if encoding == "base64":
        rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    return to_json(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)],
            "model": model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


class Document(BaseModel):
    """A text."""

    text: str


class RerankRequest(Request):
    """A query and the documents to rank."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "my card is gone", "documents": ["I lost my card.", "A pizza, please."], "top_n": 1}]
        }
    )

    query: str
    documents: Annotated[list[str | Document], Field(min_length=1, fail_fast=True)]
    top_n: PositiveInt | None = Field(None, description="The number of documents to return; by default all")
    return_documents: bool = False


class RerankResult(BaseModel):
    """A ranked document, named by its position in the request."""

    index: int
    relevance_score: float = Field(description="The cosine of the two vectors, from -1 to 1")
    document: Document | None = None


class RerankUsage(BaseModel):
    """The number of tokens that the model has read."""

    total_tokens: int


class RerankResponse(BaseModel):
    """The best documents, best first."""

    id: str
    model: str
    scoring: Literal["bi-encoder"] = Field("bi-encoder", description="Query and documents are embedded separately")
    results: list[RerankResult]
    usage: RerankUsage


async def rerank(body: Annotated[RerankRequest, Depends(body_of(RerankRequest))], service: ServiceOf) -> dict[str, Any]:
    """Rank documents by the cosine between their vectors and the vector of the query.

    The served model embeds the query and the documents separately. A cross-encoder, which reads them together, would
    rank better, but cost more.
    """
    model = service.check_model(body.model)
    texts = [document if isinstance(document, str) else document.text for document in body.documents]
    vectors, tokens = await service.embed_texts([body.query, *texts], "documents")
    units = unit_vectors(vectors)
    scores = units[1:] @ units[0]
    order = np.argsort(-scores, kind="stable")[: body.top_n]
    results: list[dict[str, Any]] = [{"index": int(row), "relevance_score": float(scores[row])} for row in order]
    if body.return_documents:
        results = [{**result, "document": {"text": texts[result["index"]]}} for result in results]
    return {"id": uuid.uuid4().hex, "model": model.name, "results": results, "usage": {"total_tokens": tokens}}
