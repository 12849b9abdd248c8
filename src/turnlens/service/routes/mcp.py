"""`/mcp`: the stores for assistants, over the Model Context Protocol (MCP)."""

from __future__ import annotations

import asyncio
from importlib import import_module

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from turnlens.service.authentication import key_of
from turnlens.service.errors import Refusal
from turnlens.service.service import ServiceOf


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
