"""`/v1/models`, `/health`, `/metrics` and `/mcp`: what is served, how it is, and the tools for assistants."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import Receive, Scope, Send

import turnlens
from turnlens.service.authentication import key_of
from turnlens.service.refusals import Refusal
from turnlens.service.service import Service, ServiceOf

_PROBE_SECONDS = 0.05
_STALLED_SECONDS = 120  # no batch takes that long


async def about(service: ServiceOf) -> dict[str, Any]:
    """Say what this service is, and where to read more."""
    return {
        "name": "turnlens",
        "version": turnlens.__version__,
        "what": "embeddings, search and next replies of conversations",
        "pages": {"documentation": "/docs", "schemas": "/openapi.json", "model": "/v1/models", "health": "/health"},
    }


async def models(service: ServiceOf) -> dict[str, Any]:
    """List the served model, in OpenAI's form."""
    model = service.model
    described = {"id": model.name, "object": "model", "created": 0, "owned_by": "turnlens"}
    return {"object": "list", "data": [{**described, "dimensions": model.dimension, "max_tokens": model.limit}]}


async def live(service: ServiceOf) -> JSONResponse:
    """Tell that the process is alive; fails if the model could not be loaded. Needs no key."""
    loaded = service.worker.loaded
    failed = loaded.done() and loaded.exception() is not None
    return JSONResponse({"status": "failed" if failed else "ok"}, 503 if failed else 200)


async def health(service: ServiceOf) -> JSONResponse:
    """Tell if requests are served. An idle model embeds a probe; for a busy one, the answer describes its work."""
    busy = service.worker.busy_seconds
    described: dict[str, Any] = {"tokens_waiting": service.worker.tokens_waiting, "busy_seconds": round(busy, 3)}
    if busy > _STALLED_SECONDS:
        return JSONResponse({"status": "stalled", **described}, 503)
    try:
        described["model"] = service.model.name
        status = "busy" if busy else await _probe(service)
    except Refusal as refusal:
        if refusal.status == 429:
            return JSONResponse({"status": "full", **described})
        return refusal.response()
    return JSONResponse({"status": status, **described})


async def _probe(service: Service) -> str:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await service.embed_texts(["a probe"], "probe")
    except TimeoutError:
        return "busy"
    return "ok"


async def metrics(service: ServiceOf) -> Response:
    """The metrics of the service in Prometheus' format."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def mcp(request: Request, service: ServiceOf) -> Response:
    """Answer a client of the Model Context Protocol, which may search and read stores but not change them."""
    service.worker.check_loaded()
    try:  # importing the SDK takes more than a second
        tools = await asyncio.to_thread(import_module, "turnlens.service.mcp_tools")
    except ModuleNotFoundError as error:
        raise Refusal(501, f"{error.name} is missing on the server: pip install 'turnlens[mcp]'") from None
    key = key_of(request.scope)

    class Answer(Response):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await tools.answer(service, key, scope, receive, send)

    return Answer()


async def no_stream() -> None:
    """There is no stream of messages that nobody asked for, which the protocol leaves to the server."""
    raise Refusal(405, "send MCP messages with POST: this server has nothing to say unasked")
