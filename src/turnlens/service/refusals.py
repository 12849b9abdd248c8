"""Refusals, and all errors in the JSON that OpenAI's clients read. No answer quotes a stack trace or the request."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

_LOGGER = logging.getLogger("turnlens.service")
_ERRORS_SHOWN = 5
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A request that is not served.

    Args:
        status: The HTTP status.
        message: What was received and what was expected.
        param: The field of the request that is wrong.
        retry_after: The number of seconds after which a new try may succeed.
    """

    def __init__(self, status: int, message: str, param: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.retry_after = status, message, param, retry_after

    def response(self) -> JSONResponse:
        """The answer to send."""
        headers = {} if self.retry_after is None else {"Retry-After": str(max(1, math.ceil(self.retry_after)))}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        if self.status == HTTPStatus.REQUEST_TIMEOUT:
            headers["Connection"] = "close"  # the rest of the request may never come
        return _error_response(self.status, self.message, self.param, headers)


def _error_response(
    status: int, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": HTTPStatus(status).name.lower()}
    return JSONResponse({"error": error}, status, headers)


def unexpected(error: Exception, request_id: str) -> JSONResponse:
    """Log where something failed; the answer says only that it did.

    The message of an exception may quote a user's text, so only its type and place are logged.
    """
    place = "".join(traceback.format_tb(error.__traceback__))
    _LOGGER.error("request %s: unexpected %s, its message left out\n%s", request_id, type(error).__name__, place)
    return _error_response(500, f"something went wrong on the server: its log says where, under {request_id}")


def invalid_request(error: ValidationError | RequestValidationError, *where: str) -> Refusal:
    """The refusal of a request in which pydantic found errors. It names their places, but quotes nothing.

    Args:
        error: The errors that pydantic found.
        where: The place that contains them all.
    """
    errors: Sequence[Any] = error.errors()
    places = [".".join([*where, *(str(part) for part in detail["loc"] if part != "body")]) for detail in errors]
    shown = list(zip(places, errors))[:_ERRORS_SHOWN]
    message = "; ".join(f"{place}: {detail['msg']}" if place else detail["msg"] for place, detail in shown)
    return Refusal(422, message, places[0] or None)


def add_error_handlers(app: FastAPI) -> None:
    """Make an application answer all errors in the same form."""

    async def refused(request: Request, error: Any) -> JSONResponse:
        return error.response()

    async def invalid(request: Request, error: Any) -> JSONResponse:
        return invalid_request(error).response()

    async def of_framework(request: Request, error: Any) -> JSONResponse:
        return _error_response(error.status_code, str(error.detail), headers=error.headers)

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_framework)
