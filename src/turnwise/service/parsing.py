"""Bodies of requests as what they mean: parsed and checked in a thread, and refused before they cost much."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from turnwise.service.bodies import SHORT
from turnwise.service.errors import Refusal, invalid_request
from turnwise.service.service import Service, ServiceOf

JSON = "application/json"
_Body = TypeVar("_Body", bound=BaseModel)
_Result = TypeVar("_Result")
_AT_ONCE = 65_536  # bytes, so that other threads get their turn
_FIELDS_SHOWN = 5
_LONGEST_FIELD = 40
# What other services call a field that is not at all alike.
_MEANT = {
    "q": "query",
    "text": "input",
    "texts": "input",
    "filter": "where",
    "k": "limit",
    "n": "limit",
    "size": "limit",
    "top_k": "limit",
    "skip": "offset",
    "history": "messages",
    "conversation": "messages",
}


def body_of(model: type[_Body]) -> Callable[[Request, ServiceOf], Awaitable[_Body]]:
    """A dependency that gives a route the body of its request."""

    async def read(request: Request, service: ServiceOf) -> _Body:
        if content_type(request) != JSON:
            raise Refusal(415, f"send {JSON}, got {content_type(request) or 'no Content-Type'}")
        body = await request.body()
        return await in_thread(service, body, partial(parsed, model, body, service.settings.max_values))

    return read


async def in_thread(service: Service, body: bytes, parse: Callable[[], _Result]) -> _Result:
    """Parse a body where it does not block others: a short one at once, a long one after other long ones."""
    return parse() if len(body) <= SHORT else await service.json.run(parse)


def content_type(request: Request) -> str:
    """What the client says that the body is, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parsed(model: type[_Body], body: bytes, max_values: int) -> _Body:
    """A body as what it means.

    Raises:
        Refusal: It has too many values (413), is no JSON, or something else than was expected (422).
    """
    check_values(body, max_values)
    value = parsed_json(body)
    if not isinstance(value, dict):
        raise Refusal(422, "expected an object, { … }")
    _check_fields(value, model.model_fields)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid_request(error) from None


def parsed_json(body: bytes, where: str | None = None) -> Any:
    """A value of JSON, in which every text is one: halves of surrogate pairs are refused.

    Args:
        body: The JSON.
        where: Its place, for errors.

    Raises:
        Refusal: It is none (422).
    """
    try:
        return from_json(body)
    except ValueError as error:
        raise Refusal(422, f"{where or 'the body'} is no JSON: {error}", where) from None


def check_values(body: bytes, most: int) -> None:
    """Refuse (413) what has more values than this in its lists and objects, before any of them is made.

    Raises:
        Refusal: It has.
    """
    if _separators(body) <= most:  # those within texts as well: most bodies are no longer looked at
        return
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    count, in_text = 0, False
    for start in range(0, len(unescaped), _AT_ONCE):
        parts = unescaped[start : start + _AT_ONCE].split(b'"')
        count += _separators(b"".join(parts[in_text::2]))
        in_text ^= len(parts) % 2 == 0
        if count > most:
            raise Refusal(413, f"a request may have {most:,} values in its lists and objects: send less at a time")


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _check_fields(value: dict[str, Any], fields: Iterable[str]) -> None:
    unknown = [name for name in value if name not in fields]
    if unknown:
        told = [_unknown(name, list(fields)) for name in unknown[:_FIELDS_SHOWN]]
        more = f"; and {len(unknown) - len(told):,} more" if len(unknown) > len(told) else ""
        raise Refusal(422, "; ".join(told) + more, _shortened(unknown[0]))


def _unknown(name: str, fields: Sequence[str]) -> str:
    meant = _MEANT.get(name.lower(), "")
    near = [meant] if meant in fields else get_close_matches(_shortened(name).lower(), fields, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(fields)}"
    return f"{_shortened(name)}: there is no such field: {hint}"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_FIELD else name[:_LONGEST_FIELD] + "…"
