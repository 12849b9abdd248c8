"""Messages from the turns of published corpora: speakers by name, by number, or in turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

from turnlens.formats.bad_input import BadRow

SIDES = ("user", "assistant")


def alternating(texts: Iterable[str], roles: Sequence[str] = SIDES) -> list[dict[str, Any]]:
    """Return the messages of speakers who are not named and take turns."""
    return [{"role": role, "content": text} for role, text in zip(cycle(roles), texts)]


def spoken(turns: Iterable[Any], roles: Mapping[str, str], speaker: str, text: str) -> list[dict[str, Any]]:
    """Return the messages of turns that hold a speaker and a text under these names."""
    return [{"role": roles[turn[speaker]], "content": turn[text]} for turn in turns]


def role_of(speaker: str, roles: Mapping[str, str], where: str, number: int) -> str:
    """Return the role of a speaker in a line of this number, or raise `BadRow` for one that there is not."""
    if speaker not in roles:
        raise BadRow(f"found {speaker!r} {where}; expected {' or '.join(roles)}", number)
    return roles[speaker]
