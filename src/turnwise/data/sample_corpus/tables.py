"""Reading the phrase tables: ``phrases/<domain>.toml`` and ``phrases/common.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from functools import cache
from importlib.resources import files

from turnwise.data.sample_corpus.schema import Common, Domain, Intent

# The order matters: a conversation picks its domain by position.
DOMAIN_NAMES = ("parcels", "cards", "internet", "flights", "hotels", "software", "clinic", "energy")


@cache
def domains() -> tuple[Domain, ...]:
    """The domains of the sample corpus."""
    return tuple(parse_domain(_read(f"{name}.toml"), f"{name}.toml") for name in DOMAIN_NAMES)


@cache
def common() -> Common:
    """The lines that every domain shares, and the values of the slots."""
    return parse_common(_read("common.toml"), "common.toml")


def parse_domain(text: str, file: str) -> Domain:
    """Build a domain from the text of its file.

    Args:
        text: TOML with the keys of ``Domain``.
        file: Name of the file, for error messages.

    Returns:
        The domain, with intents and phrases in the order of the file.

    Raises:
        ValueError: ``text`` is not TOML, or a table lacks a key, has an unknown one or a value of the wrong type.
    """
    table = _Table(_load(text, file), _keys(Domain), file)
    intents = table.child("intents")
    return Domain(
        name=table.text("name"),
        openings=table.texts("openings"),
        third_party=table.text("third_party"),
        joining=table.texts("joining"),
        intents={name: _intent(intents.child(name, _keys(Intent))) for name in intents.content},
    )


def parse_common(text: str, file: str) -> Common:
    """Build the shared lines from the text of their file.

    Args:
        text: TOML with the keys of ``Common``.
        file: Name of the file, for error messages.

    Returns:
        The lines and the values of the slots.

    Raises:
        ValueError: ``text`` is not TOML, or a table lacks a key, has an unknown one or a value of the wrong type.
    """
    table = _Table(_load(text, file), _keys(Common), file)
    slots = table.child("slots")
    lines = {key: table.texts(key) for key in _keys(Common) if key != "slots"}
    return Common(slots={name: slots.texts(name) for name in slots.content}, **lines)


def _read(file: str) -> str:
    return (files(__package__) / "phrases" / file).read_text(encoding="utf-8")


def _load(text: str, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from error


def _keys(shape: type[Common | Domain | Intent]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(shape))


def _intent(table: _Table) -> Intent:
    return Intent(
        phrasings=table.texts("phrasings"),
        topics=table.texts("topics"),
        questions=tuple(
            (pair.text("ask"), pair.texts("answers")) for pair in table.children("questions", ("ask", "answers"))
        ),
        resolutions=table.texts("resolutions"),
        follow_ups=tuple(
            (pair.text("ask"), pair.text("answer")) for pair in table.children("follow_ups", ("ask", "answer"))
        ),
        then=table.texts("then"),
    )


class _Table:
    """One table of a file, whose values are taken with a check of their type."""

    def __init__(self, content: object, keys: tuple[str, ...] | None, file: str, path: str = "", nth: str = "") -> None:
        """Check the keys of a table.

        Args:
            content: What the file has in the place of the table.
            keys: The keys that the table must have, and no others; ``None`` where they are free.
            file: Name of the file.
            path: Keys that lead to the table, empty for the whole file.
            nth: Which one of several tables at ``path`` it is.
        """
        self.file = file
        self.path = path
        self.where = f"{file}, table [{path}]{nth}" if path else f"{file}, top level"
        if not isinstance(content, dict):
            raise ValueError(f"{self.where}: must be a table")
        self.content = content
        if keys is not None:
            wrong = [f"the key {key!r} is missing" for key in keys if key not in content]
            wrong += [f"the key {key!r} is unknown" for key in content if key not in keys]
            if wrong:
                raise ValueError(f"{self.where}: {', '.join(wrong)}")

    def text(self, key: str) -> str:
        value = self.content[key]
        if not isinstance(value, str):
            raise ValueError(f"{self.where}: the key {key!r} must be a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.content[key]
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f"{self.where}: the key {key!r} must be a list of texts")
        return tuple(value)

    def child(self, key: str, keys: tuple[str, ...] | None = None) -> _Table:
        return _Table(self.content[key], keys, self.file, self._path(key))

    def children(self, key: str, keys: tuple[str, ...]) -> list[_Table]:
        value = self.content[key]
        if not isinstance(value, list):
            raise ValueError(f"{self.where}: the key {key!r} must be a list of tables")
        return [
            _Table(content, keys, self.file, self._path(key), f" number {number}")
            for number, content in enumerate(value, start=1)
        ]

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key
