"""Reading the phrase tables: ``phrases/<domain>.toml`` and ``phrases/common.toml``, with the keys of the schema."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from turnwise.data.sample_corpus.schema import Common, Domain, Intent

# The order matters: a conversation picks its domain by position.
DOMAIN_NAMES = ("parcels", "cards", "internet", "flights", "hotels", "software", "clinic", "energy")


@cache
def domains() -> tuple[Domain, ...]:
    """The domains of the sample corpus, with intents and phrases in the order of their files."""
    return tuple(_domain(_read(name)) for name in DOMAIN_NAMES)


@cache
def common() -> Common:
    """The lines that every domain shares, and the values of the slots."""
    return Common(**_read("common"))


def _domain(table: dict[str, Any]) -> Domain:
    for intent in table["intents"].values():  # a table of two keys is a pair: the question and what answers it
        intent |= {name: tuple(tuple(pair.values()) for pair in intent[name]) for name in ("questions", "follow_ups")}
    return Domain(**{**table, "intents": {name: Intent(**intent) for name, intent in table["intents"].items()}})


def _read(name: str) -> dict[str, Any]:
    table = tomllib.loads((files(__package__) / "phrases" / f"{name}.toml").read_text(encoding="utf-8"))
    return {key: _in_tuples(value) for key, value in table.items()}


def _in_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_tuples(item) for key, item in value.items()}
    return tuple(map(_in_tuples, value)) if isinstance(value, list) else value
