"""All routes on one page: who may use each, and what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from fastapi import FastAPI
from starlette.routing import compile_path

from turnwise.service.authentication import Access
from turnwise.service.keys import Scope
from turnwise.service.routes.conversations import (
    BODY,
    Added,
    Deleted,
    StoredConversation,
    StoreList,
    add_conversations,
    delete_conversation,
    get_conversation,
    stores,
)
from turnwise.service.routes.embeddings import EmbeddingResponse, embeddings
from turnwise.service.routes.ranking import RerankResponse, rerank
from turnwise.service.routes.replies import NextResponse, next_replies
from turnwise.service.routes.search import SearchResponse, search
from turnwise.service.routes.status import health, live, metrics, models


@dataclass(frozen=True)
class Endpoint:
    """A route.

    Attributes:
        method: Its HTTP method.
        path: Its path, with parameters in braces.
        access: The scope that a key needs for it, or ``"anyone"``.
        function: What answers; ``None`` for a route that FastAPI adds itself.
        answer: The schema of the answer.
        further: More for the OpenAPI description.
    """

    method: str
    path: str
    access: Scope | Literal["anyone"]
    function: Callable[..., Any] | None = None
    answer: Any = None
    further: dict[str, Any] | None = None

    def matches(self, method: str, path: str) -> bool:
        """Whether it serves a method and path."""
        return self.method == method and self._pattern.match(path) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return compile_path(self.path)[0]


ENDPOINTS = (
    Endpoint("GET", "/health/live", "anyone", live),
    Endpoint("GET", "/health", "read", health),
    Endpoint("GET", "/metrics", "admin", metrics),
    Endpoint("GET", "/docs", "read"),
    Endpoint("GET", "/openapi.json", "read"),
    Endpoint("GET", "/v1/models", "read", models),
    Endpoint("POST", "/v1/embeddings", "read", embeddings, EmbeddingResponse),
    Endpoint("POST", "/v1/rerank", "read", rerank, RerankResponse),
    Endpoint("POST", "/v1/next", "read", next_replies, NextResponse),
    Endpoint("POST", "/v1/search", "read", search, SearchResponse),
    Endpoint("GET", "/v1/stores", "read", stores, StoreList),
    Endpoint("POST", "/v1/conversations", "write", add_conversations, Added, BODY),
    Endpoint("GET", "/v1/conversations/{id:path}", "read", get_conversation, StoredConversation),
    Endpoint("DELETE", "/v1/conversations/{id:path}", "write", delete_conversation, Deleted),
)


def add_endpoints(app: FastAPI) -> None:
    """Add the routes to an application."""
    for endpoint in ENDPOINTS:
        if endpoint.function is not None:
            app.add_api_route(
                endpoint.path,
                endpoint.function,
                methods=[endpoint.method],
                response_model=endpoint.answer,
                response_model_exclude_none=True,
                openapi_extra=endpoint.further,
            )


def access(method: str, path: str) -> Access:
    """What a method and path need; ``"unknown"`` is what no endpoint serves."""
    method = "GET" if method == "HEAD" else method
    return next((endpoint.access for endpoint in ENDPOINTS if endpoint.matches(method, path)), "unknown")
