"""The tools that `/mcp` gives to assistants. Each only reads a store that the client's key may use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import Field, ValidationError
from pydantic_core import from_json, to_json
from starlette.types import Receive, Scope, Send

import turnlens
from turnlens.report.summary import read_summary
from turnlens.service.keys import Key
from turnlens.service.refusals import Refusal, invalid_request
from turnlens.service.request_bodies import Fields
from turnlens.service.routes.search import SearchRequest, found
from turnlens.service.service import Service
from turnlens.service.stores import OpenStore
from turnlens.store.records import conversations_of

_INSTRUCTIONS = "Conversations that people had, kept in stores: search them, read them, and see what they are about."
_OF_TRENDS = ("group", "group_name", "kind", "conversations", "growth", "growth_low", "growth_high", "counts")
_LONGEST_ANSWER = 2**20  # bytes; more than an assistant can read, and the SDK writes them in the event loop
_Kind = Literal["request", "message", "answer", "along the way"]


class OfStore(Fields):
    """The parameters of all tools."""

    store: str | None = Field(None, description="The name of the store; needed only if there are several")


class Search(SearchRequest, OfStore):
    """The parameters of a search."""


class OneConversation(OfStore):
    """The parameters of reading a conversation."""

    id: str


class SomeGroups(OfStore):
    """The parameters of listing groups."""

    kind: _Kind | None = Field(None, description="Only what is asked (request), answered, or said along the way")
    limit: int = Field(20, ge=1, le=200)


async def conversation(asked: OneConversation, service: Service, store: OpenStore) -> dict[str, Any]:
    """Read a whole conversation by its id, with its labels."""
    row = await service.stores.read(partial(store.reader.get, asked.id), is_long=True)
    if row is None:
        raise Refusal(404, f"there is no conversation {asked.id!r}", "id")
    return row


async def groups(asked: SomeGroups, service: Service, store: OpenStore) -> dict[str, Any]:
    """List what people ask and answer: groups of similar messages, with examples from conversations.

    Each has a name, keywords, the number and share of conversations that have such a message, and growth: by how much
    this share is larger in the later half of the time (95 % interval: growth_low to growth_high).
    """

    def read() -> dict[str, Any]:
        overview, groups = _groups(store, asked)
        wanted = {id for group in groups for id, _ in [*group["examples"], *group["answers"]]}
        talks = {row["id"]: row["messages"] for row in conversations_of(store.reader.tables(), sorted(wanted))}

        def shown(id: str, turn: int) -> dict[str, Any]:
            return {"conversation": id, "turn": turn, "text": talks[id][turn]["content"]}

        for group in groups:
            del group["counts"]
            for name in ("examples", "answers"):
                group[name] = [shown(id, turn) for id, turn in group[name] if turn < len(talks.get(id, ()))]
        return {"made": overview["made"], "conversations": overview["conversations"], "groups": groups}

    return await service.stores.read(read, is_long=True)


async def trends(asked: SomeGroups, service: Service, store: OpenStore) -> dict[str, Any]:
    """Count the conversations of each group by day, week or month, those that have grown most first."""

    def read() -> dict[str, Any]:
        overview, groups = _groups(store, asked)
        if not overview["counts"]:
            raise ValueError("these conversations have no times, so nothing is known about trends")
        groups.sort(key=lambda group: -(group["growth"] or 0.0))
        shown = [{name: group[name] for name in _OF_TRENDS} for group in groups]
        return {**{name: overview[name] for name in ("made", "period", "counts")}, "groups": shown}

    return await service.stores.read(read, is_long=True)


def _groups(store: OpenStore, asked: SomeGroups) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Everything known about the groups of a store, and those that are asked for."""
    overview = read_summary(Path(store.reader.path))
    groups = [group for group in overview["groups"] if asked.kind in (None, group["kind"])]
    return overview, groups[: asked.limit]


async def _search(asked: Search, service: Service, store: OpenStore) -> dict[str, Any]:
    """Search messages or conversations by meaning or by words."""
    return dict(from_json(await found(asked, service, store)))


_Call = Callable[[Any, Service, OpenStore], Awaitable[dict[str, Any]]]
TOOLS: dict[str, tuple[type[OfStore], _Call]] = {
    "search": (Search, _search),
    "conversation": (OneConversation, conversation),
    "groups": (SomeGroups, groups),
    "trends": (SomeGroups, trends),
}


async def answer(service: Service, key: Key | None, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request of an MCP client. Nothing is remembered between requests."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=getdoc(call),
                    input_schema=model.model_json_schema(),
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for name, (model, call) in TOOLS.items()
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            if params.name not in TOOLS:
                raise Refusal(404, f"there is no tool {params.name!r}: expected one of {', '.join(TOOLS)}")
            model, call = TOOLS[params.name]
            asked = model.model_validate(params.arguments or {})
            result = await call(asked, service, service.stores.get(asked.store, key))
        except ValidationError as error:
            return _told(invalid_request(error))
        except Refusal as refusal:
            return _told(refusal)
        text = to_json(result, inf_nan_mode="null")
        if len(text) > _LONGEST_ANSWER:
            return _told(Refusal(413, f"the answer has {len(text):,} bytes, at most {_LONGEST_ANSWER:,} are sent"))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text.decode())], structured_content=from_json(text)
        )

    server = Server(
        "turnlens",
        version=turnlens.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def _told(refusal: Refusal) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=refusal.message)], is_error=True)
