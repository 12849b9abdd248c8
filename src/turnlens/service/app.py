"""The application: all routes in one table with who may use each, middleware and errors around one `Service`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from fastapi_swagger import patch_fastapi
from pydantic import TypeAdapter
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.routing import compile_path

import turnlens
from turnlens.service.authentication import Access, Authentication
from turnlens.service.gate import LONGEST_AT_ONCE, Answers, Gate
from turnlens.service.keys import RateLimiter, Scope, read_keys
from turnlens.service.refusals import add_error_handlers
from turnlens.service.request_bodies import JSON
from turnlens.service.request_metrics import RequestRecorder
from turnlens.service.routes.conversations import (
    LINES,
    Added,
    Conversations,
    Deleted,
    StoredConversation,
    StoreList,
    add_conversations,
    delete_conversation,
    get_conversation,
    stores,
)
from turnlens.service.routes.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    RerankRequest,
    RerankResponse,
    embeddings,
    rerank,
)
from turnlens.service.routes.search import (
    LabelRequest,
    LabelResponse,
    NextRequest,
    NextResponse,
    SearchRequest,
    SearchResponse,
    label,
    next_replies,
    search,
)
from turnlens.service.routes.status import about, health, live, mcp, metrics, models, no_stream
from turnlens.service.service import Service
from turnlens.service.settings import ServiceSettings

Tag = Literal["embed and rank", "conversations", "status"]
_SCHEMAS = "#/components/schemas/{model}"


class _AnyText(Convertor[str]):
    """The rest of a path, with any characters. Starlette's own ``path`` ends at a line break, which ids may hold."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value


register_url_convertor("text", _AnyText())


@dataclass(frozen=True)
class Endpoint:
    """A route.

    Attributes:
        method: Its HTTP method.
        path: Its path, with parameters in braces.
        access: The scope that a key needs for it, or ``"anyone"``.
        function: The function that answers; ``None`` for a route that FastAPI adds itself.
        answer: The schema of the answer.
        bodies: The schemas of the body, by content type. Only such a body may be long, since `body_of` and the like
            parse it in a thread.
        tag: The heading under which the documentation lists it.
    """

    method: str
    path: str
    access: Scope | Literal["anyone"]
    function: Callable[..., Any] | None = None
    answer: Any = None
    bodies: Mapping[str, Any] = field(default_factory=dict)
    tag: Tag = "status"

    def matches(self, method: str, path: str) -> bool:
        """Return true if this route serves a method and path."""
        return self.method == method and self._pattern.match(path) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return compile_path(self.path)[0]


ENDPOINTS = (
    Endpoint("GET", "/", "read", about),
    Endpoint("GET", "/health/live", "anyone", live),
    Endpoint("GET", "/health", "read", health),
    Endpoint("GET", "/metrics", "admin", metrics),
    Endpoint("GET", "/docs", "read"),
    Endpoint("GET", "/swagger/swagger-ui-bundle.js", "read"),
    Endpoint("GET", "/swagger/swagger-ui.css", "read"),
    Endpoint("GET", "/swagger/favicon-32x32.png", "read"),
    Endpoint("GET", "/openapi.json", "read"),
    Endpoint("GET", "/v1/models", "read", models),
    Endpoint(
        "POST", "/v1/embeddings", "read", embeddings, EmbeddingResponse, {JSON: EmbeddingRequest}, "embed and rank"
    ),
    Endpoint("POST", "/v1/rerank", "read", rerank, RerankResponse, {JSON: RerankRequest}, "embed and rank"),
    Endpoint("POST", "/v1/next", "read", next_replies, NextResponse, {JSON: NextRequest}, "embed and rank"),
    Endpoint("POST", "/v1/search", "read", search, SearchResponse, {JSON: SearchRequest}, "conversations"),
    Endpoint("POST", "/v1/label", "read", label, LabelResponse, {JSON: LabelRequest}, "conversations"),
    Endpoint("POST", "/mcp", "read", mcp, tag="conversations"),
    Endpoint("GET", "/mcp", "read", no_stream, tag="conversations"),
    Endpoint("GET", "/v1/stores", "read", stores, StoreList, tag="conversations"),
    Endpoint(
        "POST",
        "/v1/conversations",
        "write",
        add_conversations,
        Added,
        {JSON: Conversations, LINES: StoredConversation},
        "conversations",
    ),
    Endpoint("GET", "/v1/conversations/{id:text}", "read", get_conversation, StoredConversation, tag="conversations"),
    Endpoint("DELETE", "/v1/conversations/{id:text}", "write", delete_conversation, Deleted, tag="conversations"),
)


def add_endpoints(app: FastAPI) -> None:
    """Add the routes to an application, and the schemas of their bodies to its description."""
    for endpoint in ENDPOINTS:
        if endpoint.function is not None:
            app.add_api_route(
                endpoint.path,
                endpoint.function,
                methods=[endpoint.method],
                tags=[endpoint.tag],
                response_model=endpoint.answer,
                response_model_exclude_none=True,
                openapi_extra=_request_body(endpoint.bodies),
            )
            if endpoint.method == "GET":
                app.add_api_route(endpoint.path, endpoint.function, methods=["HEAD"], include_in_schema=False)
    describe = app.openapi

    def describe_with_bodies() -> dict[str, Any]:
        described = describe()
        schemas = described["components"]["schemas"]
        for schema in (schema for endpoint in ENDPOINTS for schema in endpoint.bodies.values()):
            own = TypeAdapter(schema).json_schema(ref_template=_SCHEMAS)
            for name, definition in {**own.pop("$defs", {}), own["title"]: own}.items():
                schemas.setdefault(name, definition)
        return described

    app.openapi = describe_with_bodies  # type: ignore[method-assign]


def _request_body(bodies: Mapping[str, Any]) -> dict[str, Any] | None:
    """The description of a body, which FastAPI lacks because it does not read bodies: it would block the event loop."""
    if not bodies:
        return None
    content = {kind: {"schema": {"$ref": _SCHEMAS.format(model=schema.__name__)}} for kind, schema in bodies.items()}
    return {"requestBody": {"required": True, "content": content}}


def access(method: str, path: str) -> Access:
    """The access that a method and path need; ``"unknown"`` if no endpoint serves them."""
    endpoint = _endpoint(method, path)
    return "unknown" if endpoint is None else endpoint.access


def reads_long_bodies(method: str, path: str) -> bool:
    """Return true if the endpoint of a method and path parses its bodies in a thread."""
    endpoint = _endpoint(method, path)
    return endpoint is not None and bool(endpoint.bodies)


def _endpoint(method: str, path: str) -> Endpoint | None:
    method = "GET" if method == "HEAD" else method
    return next((endpoint for endpoint in ENDPOINTS if endpoint.matches(method, path)), None)


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """The service as an ASGI application, for any server: ``uvicorn --factory turnlens.service:create_app``.

    The model is loaded when the server starts the application, once in each process. So run a single process for each
    server, and a single server on each device.

    Args:
        settings: The settings; by default they are read from the environment, as ``TURNLENS_<NAME>``.

    Raises:
        ValueError: A setting or the file of keys is wrong.
        OSError: The file of keys cannot be read.

    Examples:
        >>> from turnlens.service import ServiceSettings, create_app
        >>> create_app(ServiceSettings(max_texts=100)).title  # nothing is loaded before it is served
        'turnlens'
    """
    settings = settings or ServiceSettings()
    service = Service(settings)
    keys = read_keys(settings.keys) if settings.keys is not None else None
    app = FastAPI(
        title="turnlens",
        version=turnlens.__version__,
        summary="Embeddings, search and next replies of conversations",
        lifespan=service.running,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        redirect_slashes=False,
        # This only describes the keys for the documentation; `Authentication` checks them before every route.
        dependencies=[Depends(HTTPBearer(auto_error=False))],
        middleware=[
            Middleware(RequestRecorder, service.metrics, settings.log_paths),
            Middleware(Gate, Authentication(keys, access, RateLimiter()), reads_long_bodies, service),
            Middleware(Answers, LONGEST_AT_ONCE * settings.max_body_bytes),
        ],
    )
    app.state.service = service
    add_error_handlers(app)
    add_endpoints(app)
    patch_fastapi(app, redirect_from_root_to_docs=False)  # /docs, with a script that comes with the package
    return app
