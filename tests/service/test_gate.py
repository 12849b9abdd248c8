"""The gate before every route and mount: sizes, values and depth of bodies, whatever they are sent to."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
from fastapi import FastAPI, Request
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from turnlens.service import ServiceSettings, create_app
from turnlens.service.gate import DEEPEST, check_json
from turnlens.service.refusals import Refusal

TOO_MUCH = {
    "large": b'"' + b"a" * 3000 + b'"',
    "many empty arguments": b'{"arguments": {' + b",".join(b'"%d":0' % n for n in range(60)) + b"}}",
    "many empty objects": b"[" + b",".join([b"{}"] * 60) + b"]",
    "a batch": b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"x"}'] * 60) + b"]",
    "many lines": b'{"id":"a"}\n' * 60,
    "deep lists": b"[" * 200 + b"]" * 200,
    "deep objects, no end": b'{"a":' * 200,
}
PARSED = b'{"method": "tools/list"}'


def places(routes: Sequence[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    """The methods and paths of all routes, also those of mounts; a mounted application may have any."""
    for route in routes:
        if isinstance(route, Mount):
            yield from places(route.routes, before + route.path)
            yield from ((method, f"{before}{route.path}/anything") for method in ("GET", "POST", "PUT"))
        else:
            assert isinstance(route, Route), route
            yield from ((method, before + route.path.replace("{id:text}", "an id")) for method in route.methods or ())


def throw_away(app: FastAPI) -> list[tuple[str, int]]:
    """Add a route and a mount that parse whatever reaches them, and list that."""
    reached: list[tuple[str, int]] = []

    async def parse(request: Request) -> dict[str, Any]:
        reached.append((request.url.path, len(await request.json())))
        return {}

    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        reached.append((request.url.path, len(await request.json())))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    app.add_api_route("/new", parse, methods=["POST", "DELETE", "PROPFIND"])
    app.mount("/mounted", mounted)
    return reached


def test_every_route_and_mount_is_behind_the_gate() -> None:
    """No model is loaded here, so what passes the gate is answered with another status, or by what is thrown away."""
    app = create_app(ServiceSettings(max_body_bytes=2000, max_values=50))
    reached = throw_away(app)

    async def send() -> None:
        transport = httpx2.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            tried = set(places(app.routes))
            for method, path in tried:
                for name, body in TOO_MUCH.items():
                    answer = await client.request(method, path, content=body)
                    assert answer.status_code == 413, (method, path, name, answer.text)
            assert {("POST", "/mcp"), ("GET", "/metrics"), ("GET", "/health"), ("POST", "/mounted/anything")} <= tried
            assert not reached
            for path in ("/new", "/mounted/anything"):
                assert (await client.post(path, content=PARSED)).status_code == 200
            assert reached == [("/new", 1), ("/mounted/anything", 1)]

    asyncio.run(send())


def test_only_routes_that_say_so_get_long_bodies() -> None:
    app = create_app(ServiceSettings())
    reached = throw_away(app)
    body = json.dumps({"a": "a" * 70_000}).encode()

    async def send() -> list[int]:
        transport = httpx2.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            paths = ("/mcp", "/new", "/mounted/a", "/v1/search")
            return [(await client.post(path, content=body)).status_code for path in paths]

    assert asyncio.run(send()) == [413, 413, 413, 415]  # a search would read it, if it came as JSON
    assert not reached


def values_in(value: Any) -> int:
    """Lists, objects, and the commas between their values."""
    if isinstance(value, (list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(0, len(value) - 1) + sum(map(values_in, inner))
    return 0


def is_refused(body: bytes, most: int) -> bool:
    try:
        check_json(body, most)
    except Refusal as refusal:
        return refusal.status == 413
    return False


def test_values_are_counted_as_a_parser_would() -> None:
    texts = ("", "a, [{", '"', '\\"', "\\", "\\\\", 'a\\",[', "ä, ]")
    bodies: list[Any] = [list(texts), {text: [text, {}] for text in texts}, 3, "[", [], [[], {}], {"a": {"b": [1, 2]}}]
    for around in range(65_530, 65_542):  # bodies are counted in pieces of 65,536 bytes
        bodies += [["a" * around, text, {}] for text in texts]
    for value in bodies:
        for is_ascii in (True, False):
            body, count = json.dumps(value, ensure_ascii=is_ascii).encode(), values_in(value)
            assert not is_refused(body, count) and (count == 0 or is_refused(body, count - 1)), body[-60:]


def test_depth_is_refused_whatever_comes_before_it() -> None:
    for before in ("", "[[]," * 50, '["' + "a" * 70_000 + '",', '["\\\\",', '["\\"",' + "{}," * 30_000):
        outside = before.count("[[") + before.startswith('["')
        for deep in (DEEPEST - outside, DEEPEST - outside + 1):
            assert is_refused((before + "[" * deep).encode(), 10**6) == (deep + outside > DEEPEST), (before[:9], deep)
