"""The bodies of requests: the schemas that several share, and parsing and checking them before they cost much."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Request as HTTPRequest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
    model_validator,
    with_config,
)
from pydantic_core import from_json
from typing_extensions import TypedDict

from turnlens.formats.message_layouts import plain_message
from turnlens.service.gate import SHORT
from turnlens.service.refusals import Refusal, invalid_request
from turnlens.service.service import ServiceOf

_CONTENT: dict[str, JsonValue] = {
    "anyOf": [{"type": "string"}, {"type": "array"}, {"type": "null"}],
    "description": "A text or a list of parts; null beside tool_calls, refusal or audio",
}
EXAMPLE: list[JsonValue] = [
    {"role": "user", "content": "My card is gone."},
    {"role": "assistant", "content": "I will block it."},
]
JSON = "application/json"
_Body = TypeVar("_Body", bound=BaseModel)
_FIELDS_SHOWN = 5
_LONGEST_FIELD = 40
# Names that other services use for fields whose names here are quite different.
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


class Fields(BaseModel):
    """The fields of a request. An unknown one is an error; null is as if an optional one were not given."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {name: given for name, given in value.items() if given is not None or name not in optional}


class Request(Fields):
    """A request to the served model."""

    model: str | None = Field(None, description="The name of the served model; may be left out")


@with_config(ConfigDict(extra="allow"))
class Message(TypedDict):
    """A message. Its further fields, such as labels, are kept when it is stored."""

    role: Annotated[str, Field(min_length=1)]
    content: Annotated[str, WithJsonSchema(_CONTENT)]


def _plain(message: Any) -> Any:
    return plain_message(message) if isinstance(message, dict) else message


# If a long list is wrong throughout, its first error is enough. Messages are read as those of files are.
Conversation = Annotated[list[Annotated[Message, BeforeValidator(_plain)]], Field(min_length=1, fail_fast=True)]


def body_of(model: type[_Body]) -> Callable[[HTTPRequest, ServiceOf], Awaitable[_Body]]:
    """A FastAPI dependency that gives a route the parsed body of its request."""

    async def read(request: HTTPRequest, service: ServiceOf) -> _Body:
        if content_type(request) != JSON:
            raise Refusal(415, f"send {JSON}, got {content_type(request) or 'no Content-Type'}")
        body = await request.body()
        return await service.in_thread(partial(parsed, model, body), len(body) > SHORT)

    return read


def content_type(request: HTTPRequest) -> str:
    """The content type that the client gives for the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parsed(model: type[_Body], body: bytes) -> _Body:
    """Parse a body into a model.

    Raises:
        Refusal: The body is not JSON or not what was expected (422).
    """
    value = parsed_json(body)
    if not isinstance(value, dict):
        raise Refusal(422, "expected an object, { … }")
    _check_fields(value, model.model_fields)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid_request(error) from None


def parsed_json(body: bytes, where: str | None = None) -> Any:
    """Parse JSON. All its texts must be valid Unicode: halves of surrogate pairs are refused.

    Args:
        body: The JSON.
        where: The place of this JSON, for errors.

    Raises:
        Refusal: It is not valid JSON (422).
    """
    try:
        return from_json(body)
    except ValueError as error:
        raise Refusal(422, f"{where or 'the body'} is not valid JSON: {error}", where) from None


def _check_fields(value: dict[str, Any], fields: Iterable[str]) -> None:
    unknown = [name for name in value if name not in fields]
    if unknown:
        hints = [_unknown(name, list(fields)) for name in unknown[:_FIELDS_SHOWN]]
        more = f"; and {len(unknown) - len(hints):,} more" if len(unknown) > len(hints) else ""
        raise Refusal(422, "; ".join(hints) + more, _shortened(unknown[0]))


def _unknown(name: str, fields: Sequence[str]) -> str:
    meant = _MEANT.get(name.lower(), "")
    near = [meant] if meant in fields else get_close_matches(_shortened(name).lower(), fields, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(fields)}"
    return f"{_shortened(name)}: there is no such field: {hint}"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_FIELD else name[:_LONGEST_FIELD] + "…"
