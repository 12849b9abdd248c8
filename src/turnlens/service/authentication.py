"""Keys and scopes of requests, checked by the gate before any route is reached, so that no route can be forgotten."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope as Connection

from turnlens.service.keys import SCOPES, Key, RateLimiter, Scope, find_key
from turnlens.service.refusals import Refusal

Access = Scope | Literal["anyone", "unknown"]
KEY = "turnlens.key"  # the entry of a connection that holds its key


@dataclass(frozen=True)
class Authentication:
    """Unless a route is open to anyone, a request needs a key with the scope of the route.

    Without a file of keys, only clients on this machine are served, and only under the machine's own names. Otherwise
    a web page could reach the service through a host name that its author pointed at this machine.

    Args:
        keys: The keys; with ``None``, clients on this machine are served without a key.
        access: Tells which access a method and path need.
        limiter: Counts the requests of each key.
    """

    keys: Sequence[Key] | None
    access: Callable[[str, str], Access]
    limiter: RateLimiter

    def check(self, connection: Connection) -> None:
        """Raise `Refusal` unless a request may be served, and note its key, see `key_of`."""
        needed = self.access(connection["method"], path_of(connection))
        if needed == "anyone":
            return
        headers = Headers(scope=connection)
        if self.keys is None:
            _check_local(connection, headers)
            return
        key = self._key_of(headers)
        if wait := self.limiter.wait_for(key):
            raise Refusal(429, f"key {key.name} may send {key.requests_per_minute} requests a minute", retry_after=wait)
        if needed == "unknown" and "admin" not in key.scopes:
            raise Refusal(404, "no such route: /openapi.json lists them")
        if needed in SCOPES and needed not in key.scopes:
            raise Refusal(403, f"this needs a key with scope {needed}; key {key.name} has {', '.join(key.scopes)}")
        connection[KEY] = key

    def _key_of(self, headers: Headers) -> Key:
        kind, _, secret = headers.get("authorization", "").partition(" ")
        key = find_key(self.keys or (), secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise Refusal(401, "send a valid API key, as the header 'Authorization: Bearer KEY'")
        return key


def _check_local(connection: Connection, headers: Headers) -> None:
    client = connection.get("client")
    if client is None or not _is_loopback(client[0]):
        raise Refusal(403, "this service has no API keys and serves its own machine only: turnlens new-key makes keys")
    try:
        host = urlsplit("//" + headers.get("host", "")).hostname
    except ValueError:
        host = None
    if not _is_loopback(host or ""):
        raise Refusal(403, "without API keys the service can only be reached as localhost, 127.0.0.1 or [::1]")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_of(connection: Connection) -> Key | None:
    """The key that came with a request; ``None`` where no key is needed."""
    return connection.get(KEY)


def path_of(connection: Connection) -> str:
    """The path of a request within the application."""
    return str(connection["path"]).removeprefix(connection.get("root_path", ""))
