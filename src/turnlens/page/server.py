"""The server of the page, for this machine only.

Everything is below a random path, so that neither other users of the machine nor scripts in the pages of other sites,
which can send requests to servers on this machine, reach the conversations. Host and origin are checked as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlens.groups.group_model import Kind
from turnlens.page.live_report import Action, LiveReport
from turnlens.page.report_files import INDEX, PAGE
from turnlens.store.store_reader import SearchMode

HOST = "127.0.0.1"
_REPLIES = 8
_LONGEST_BODY = 100_000
_ERRORS_SHOWN = 5
_NOTEBOOKS = "'self' http://127.0.0.1:* http://localhost:* vscode-webview:"


class GroupEdit(BaseModel):
    """A change of groups."""

    action: Action
    level: Kind
    ids: Annotated[list[int], Field(min_length=1, max_length=1000)]
    name: Annotated[str | None, Field(max_length=1000)] = None


def create_app(live: LiveReport, token: str, in_notebook: bool = False) -> FastAPI:
    """Return the application: the page, its data and its API, all below ``/TOKEN/``.

    Args:
        live: The report.
        token: The random part of the address.
        in_notebook: Let pages of this machine, such as notebooks, show the page in a frame.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)
    app.add_middleware(_Guard, headers=_headers(_NOTEBOOKS if in_notebook else "'none'"))
    app.mount(f"/{token}", _page(live))
    return app


class _Guard:
    """ASGI middleware that refuses requests from other sites' pages, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refused = _refusal(Request(scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send_with_headers)


def _page(live: LiveReport) -> FastAPI:
    page = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @page.exception_handler(RequestValidationError)
    @page.exception_handler(ValueError)
    @page.exception_handler(OSError)
    def explain(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": _detail(error)}, 422 if isinstance(error, RequestValidationError) else 400)

    @page.get("/api/session")
    def session() -> dict[str, bool]:
        return {"live": True}

    @page.get("/api/search")
    def search(
        q: Annotated[str, Query(min_length=1, max_length=10_000)],
        mode: SearchMode = "vector",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> list[dict[str, Any]]:
        return live.search(q, mode, limit)

    @page.get("/api/next")
    def next_replies(conversation: int, turn: int) -> list[dict[str, Any]]:
        return live.next_replies(conversation, turn, _REPLIES)

    @page.post("/api/groups")
    def groups(edit: GroupEdit) -> list[int]:
        return live.edit(edit.action, edit.level, edit.ids, edit.name)

    page.mount("/data", StaticFiles(directory=live.folder / "data", check_dir=False))
    page.mount("/", StaticFiles(directory=PAGE, html=True))
    return page


def _headers(ancestors: str) -> dict[str, str]:
    """Return the headers, with the page's Content-Security-Policy and the part of it that only a header can set."""
    match = re.search(r'Content-Security-Policy" content="([^"]+)"', (PAGE / INDEX).read_text(encoding="utf-8"))
    policy = match.group(1) if match else "default-src 'none'"
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"{policy}; frame-ancestors {ancestors}",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def _refusal(request: Request) -> Response | None:
    """Refuse a request that only another site's page would send. A change must be JSON from our own page."""
    if request.method in ("GET", "HEAD"):
        return None
    if request.headers.get("origin", "") != f"{request.url.scheme}://{request.headers.get('host', '')}":
        return JSONResponse({"detail": "this came from another page"}, 403)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return JSONResponse({"detail": "expected application/json"}, 415)
    if not request.headers.get("content-length", "").isdigit():
        return JSONResponse({"detail": "expected a length"}, 411)
    if int(request.headers["content-length"]) > _LONGEST_BODY:
        return JSONResponse({"detail": "too long"}, 413)
    return None


def _detail(error: Exception) -> str:
    if isinstance(error, RequestValidationError):
        problems = error.errors()[:_ERRORS_SHOWN]
        return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
    return str(error)
