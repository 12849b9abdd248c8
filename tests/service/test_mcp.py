"""`/mcp`, with the client of the official SDK: every tool, keys, scopes and what is refused."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import turnlens

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.report.talks import talks
from turnlens.service.keys import new_key

from .server import Running, run_server


def dated(start: int, count: int) -> list[dict[str, Any]]:
    rows = talks(count, start=start)
    for number, row in enumerate(rows):
        for message in row["messages"]:
            message["time"] = f"2026-05-{number + 1:02}T10:00:00"
    return rows


@pytest.fixture(scope="module")
def stores(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    for name, first in (("talks", 0), ("new", 40)):
        turnlens.ConversationStore.create(folder / name, dated(first, 30), encoder=tiny_encoder_path)
    turnlens.cluster(folder / "talks")
    return {name: folder / name for name in ("talks", "new")}


@pytest.fixture(scope="module")
def keys(stores: dict[str, Path]) -> dict[str, str]:
    path = stores["talks"].parent / "keys.toml"
    return {
        "path": str(path),
        "reader": new_key(path, "reader", ["read"]),
        "writer": new_key(path, "writer", ["write"]),
        "one": new_key(path, "one", ["read"], store="talks"),
    }


@pytest.fixture(scope="module")
def serving(tiny_encoder_path: Path, stores: dict[str, Path], keys: dict[str, str]) -> Iterator[Running]:
    with run_server(model=str(tiny_encoder_path), model_name="tiny", stores=stores, keys=keys["path"]) as server:
        yield server


@pytest.fixture
def ask(serving: Running, keys: dict[str, str]) -> Callable[..., Any]:
    """Calls a tool and returns its result; without a name, lists the tools."""

    async def asked(key: str, mode: str, name: str | None, arguments: dict[str, Any]) -> Any:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {keys[key]}"}, verify=False)
        async with http, Client(streamable_http_client(f"{serving.url}/mcp", http_client=http), mode=mode) as client:
            return await (client.list_tools() if name is None else client.call_tool(name, arguments))

    return lambda name=None, key="reader", mode="auto", **arguments: asyncio.run(asked(key, mode, name, arguments))


@pytest.mark.parametrize("mode", ["auto", "legacy"])  # clients of before 2026 open a session first
def test_tools_are_listed_and_only_read(ask: Callable[..., Any], mode: str) -> None:
    tools = ask(mode=mode).tools
    assert {tool.name for tool in tools} == {"search", "conversation", "groups", "trends"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    (search,) = (tool for tool in tools if tool.name == "search")
    assert "where" in search.input_schema["properties"] and "store" in search.input_schema["properties"]


def test_every_tool_answers(ask: Callable[..., Any], stores: dict[str, Path]) -> None:
    talk = dated(0, 30)[3]
    hits = ask("search", query=talk["messages"][0]["content"], store="talks", limit=3).structured_content["results"]
    assert len(hits) == 3 and hits[0]["text"] == talk["messages"][0]["content"]
    read = ask("conversation", id=talk["id"], store="talks").structured_content
    assert [message["content"] for message in read["messages"]] == [message["content"] for message in talk["messages"]]
    listed = ask("groups", store="talks").structured_content
    assert listed["conversations"] == 30 and listed["groups"]
    for group in listed["groups"]:
        assert group["examples"] and group["conversations"] and group["group_name"]
        example = group["examples"][0]
        source = ask("conversation", id=example["conversation"], store="talks").structured_content
        assert source["messages"][example["turn"]]["content"] == example["text"]
    trends = ask("trends", store="talks", kind=listed["groups"][0]["kind"]).structured_content
    weeks = {"2026-04-27": 3, "2026-05-04": 7, "2026-05-11": 7, "2026-05-18": 7, "2026-05-25": 6}  # Mondays
    assert trends["period"] == "week" and trends["counts"] == weeks
    assert {group["group"]: sum(group["counts"].values()) for group in trends["groups"]} == {
        group["group"]: group["conversations"]
        for group in listed["groups"]
        if group["kind"] == listed["groups"][0]["kind"]
    }


def test_deleted_conversations_are_no_examples(ask: Callable[..., Any], serving: Running) -> None:
    shown = ask("groups", store="talks").structured_content["groups"][0]["examples"]
    gone = shown[0]["conversation"]
    serving.service.stores.get("talks", None).writer.delete([gone])
    left = ask("groups", store="talks").structured_content["groups"][0]["examples"]
    assert left and gone not in {example["conversation"] for example in left}


def test_null_is_as_an_optional_field_not_given(ask: Callable[..., Any]) -> None:
    assert not ask("search", query="card", store="talks", limit=None, where=None).is_error


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "card"}, "say which store"),
    ("search", {"query": "card", "store": "talks", "limit": 0}, "limit"),
    ("search", {"query": "card", "store": "talks", "where": "role ="}, "expected"),
    ("search", {"store": "talks"}, "give either query or messages"),
    ("search", {"query": "card", "store": "elsewhere"}, "there is no store 'elsewhere'"),
    ("conversation", {"id": "nobody", "store": "talks"}, "there is no conversation 'nobody'"),
    ("groups", {"store": "new"}, "has no groups yet"),
    ("erase", {"store": "talks"}, "there is no tool 'erase'"),
]


def test_mistakes_are_told(ask: Callable[..., Any]) -> None:
    for name, arguments, told in MISTAKES:
        result = ask(name, **arguments)
        assert result.is_error and told in result.content[0].text, (name, arguments)


def test_keys_and_scopes_hold(ask: Callable[..., Any], serving: Running, keys: dict[str, str]) -> None:
    assert "there is no store 'new'" in ask("groups", key="one", store="new").content[0].text
    assert not ask("groups", key="one").is_error  # its only store
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for key, status in ((None, 401), (keys["writer"], 403), (keys["reader"], 200)):
        with serving.client(key) as client:
            answer = client.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
            assert answer.status_code == status
            assert client.get("/mcp").status_code == (405 if status == 200 else status)


@pytest.mark.slow
def test_the_sdk_is_imported_lazily() -> None:
    code = "import sys, turnlens.service.app; assert not {'mcp', 'mcp_types'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
