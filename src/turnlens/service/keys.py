"""API keys: the file of their hashes and permissions, new keys, and how many requests each may send.

A key has 256 random bits. Unlike a password, it cannot be guessed from its plain SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_PREFIX = "tw-"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Key:
    """An API key, of which only the hash is known.

    Attributes:
        name: Who has it; the name appears in logs and metrics.
        sha256: The hash of the key, hexadecimal.
        scopes: What it allows; no scope includes another.
        store: The only store that it may use; ``None`` for all stores.
        requests_per_minute: How many requests it may send per minute; ``None`` for any number.
    """

    name: str
    sha256: str
    scopes: frozenset[str]
    store: str | None = None
    requests_per_minute: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"a key's name must be letters, digits, '.', '_' or '-', got {self.name!r}")
        if not isinstance(self.sha256, str) or not _HASH.fullmatch(self.sha256):
            raise ValueError(f"key {self.name}: sha256 must be 64 hexadecimal digits: the hash, not the key itself")
        if not self.scopes or not self.scopes <= set(SCOPES):
            raise ValueError(
                f"key {self.name}: scopes must be some of {', '.join(SCOPES)}, got {', '.join(self.scopes) or 'none'}"
            )
        if self.store is not None and not isinstance(self.store, str):
            raise ValueError(f"key {self.name}: store must be the name of one store, got {self.store!r}")
        limit = self.requests_per_minute
        if limit is not None and (type(limit) is not int or limit < 1):
            raise ValueError(f"key {self.name}: requests_per_minute must be 1 or more, got {limit!r}")


def hash_key(secret: str) -> str:
    """The hash of a key, as the file holds it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def find_key(keys: Iterable[Key], secret: str) -> Key | None:
    """The key that a client has sent. The time this takes does not depend on which key it is or how much matches."""
    presented, matching = hash_key(secret), None
    for key in keys:
        if hmac.compare_digest(key.sha256, presented):
            matching = key
    return matching


def read_keys(path: Path) -> tuple[Key, ...]:
    """The keys of a TOML file, each a table ``[[keys]]`` with the fields of `Key`.

    Raises:
        ValueError: The file has another layout, or two keys have the same name.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    tables = document.get("keys")
    if not isinstance(tables, list) or document.keys() != {"keys"}:
        raise ValueError(f"{path}: expected tables [[keys]] and nothing else; turnlens new-key writes them")
    keys = [_read_key(path, table) for table in tables]
    if repeated := {key.name for key in keys if sum(key.name == other.name for other in keys) > 1}:
        raise ValueError(f"{path}: several keys are named {', '.join(sorted(repeated))}; give each a name of its own")
    return tuple(keys)


def _read_key(path: Path, table: dict[str, Any]) -> Key:
    try:
        scopes = table["scopes"]
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            raise ValueError(f"scopes must be a list of texts, got {scopes!r}")
        return Key(**{**table, "scopes": frozenset(scopes)})
    except KeyError as error:
        raise ValueError(f"{path}: a key has no {error}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def new_key(
    path: Path,
    name: str,
    scopes: Sequence[str],
    store: str | None = None,
    requests_per_minute: int | None = None,
) -> str:
    """Make a key and add its hash to the file.

    Returns:
        The key itself, which is stored nowhere.

    Raises:
        ValueError: The file already has a key of this name, or one of the fields is wrong.
    """
    secret = _PREFIX + secrets.token_urlsafe(32)
    key = Key(name, hash_key(secret), frozenset(scopes), store, requests_per_minute)
    if path.exists() and any(other.name == name for other in read_keys(path)):
        raise ValueError(f"{path} has a key named {name!r}: take another name, or remove its table from the file")
    fields: dict[str, Any] = {"name": key.name, "sha256": key.sha256, "scopes": sorted(key.scopes)}
    fields |= {name: value for name, value in (("store", store), ("requests_per_minute", requests_per_minute)) if value}
    # Texts, numbers and lists of texts look the same in JSON and TOML.
    lines = ["[[keys]]", *(f"{field} = {json.dumps(value)}" for field, value in fields.items())]
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")
    return secret


class RateLimiter:
    """Counts the requests of each key within this process.

    Args:
        clock: Gives a time in seconds that never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # name of the key: requests left, and the time of that count

    def wait_for(self, key: Key) -> float:
        """Count a request. Returns 0 if it may be served, or else the seconds until the next request may be."""
        if key.requests_per_minute is None:
            return 0.0
        capacity, now = float(key.requests_per_minute), self._clock()
        left, counted_at = self._buckets.get(key.name, (capacity, now))
        left = min(capacity, left + (now - counted_at) * capacity / 60)
        allowed = left >= 1
        self._buckets[key.name] = (left - allowed, now)
        return 0.0 if allowed else (1 - left) * 60 / capacity
