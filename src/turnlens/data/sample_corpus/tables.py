"""Reading the phrase tables, ``phrases/<domain>.toml`` and ``phrases/common.toml``.

``{slot}`` in a text is filled from the table ``slots`` of ``common.toml``; one conversation keeps one value per slot,
``{other_slot}`` is another one, and ``#`` in a value is a random digit.

A domain, a line of business, has:

- ``name``: the first half of its intents' labels; ``openings``: how the agent answers the line;
- ``third_party``: the role of the colleague who joins a multi-party conversation, and what they say on ``joining``;
- ``intents``, each with ``phrasings``: what the customer says to state it, with few words in common; ``topics``:
  its names, for the frames in ``requests``; ``questions``: an agent's question and the customer's possible answers;
  ``resolutions``: what the agent says to settle it; ``follow_ups``: a further question and its answer; ``then``: the
  intents that may sensibly come next.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from types import SimpleNamespace

# The order matters: a conversation picks its domain by position.
DOMAIN_NAMES = ("parcels", "cards", "internet", "flights", "hotels", "software", "clinic", "energy")


@cache
def domains() -> tuple[SimpleNamespace, ...]:
    """The domains of the sample corpus, with intents and phrases in the order of their files."""
    return tuple(map(_domain, DOMAIN_NAMES))


@cache
def common() -> SimpleNamespace:
    """The lines that every domain shares, and the values of the slots."""
    return _read("common")


def _domain(name: str) -> SimpleNamespace:
    domain = _read(name)
    for intent in domain.intents.values():  # a table of two keys is a pair: the question and what answers it
        intent |= {name: [tuple(pair.values()) for pair in intent[name]] for name in ("questions", "follow_ups")}
    domain.intents = {name: SimpleNamespace(**intent) for name, intent in domain.intents.items()}
    return domain


def _read(name: str) -> SimpleNamespace:
    text = (files(__package__) / "phrases" / f"{name}.toml").read_text(encoding="utf-8")
    return SimpleNamespace(**tomllib.loads(text))
