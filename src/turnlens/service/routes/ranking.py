"""`POST /v1/rerank`: rank documents by their similarity to a query, in the form of Cohere's and Jina's APIs."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Depends
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from turnlens._utils.vectors import unit_vectors
from turnlens.service.parsing import body_of
from turnlens.service.schemas import Request
from turnlens.service.service import ServiceOf


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
    """How many tokens the model has read."""

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
