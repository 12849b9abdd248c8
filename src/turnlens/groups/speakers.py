"""The parts of messages that are grouped apart from each other, by who says them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray


@dataclass(frozen=True)
class Part:
    """Messages that are grouped apart from all others.

    Attributes:
        role: Whose messages they are; ``None`` for those of all roles that have no part of their own.
        opening: They are only requests.
    """

    role: str | None
    opening: bool = False


@dataclass(frozen=True)
class Speakers:
    """Who asks, and the parts of the messages that are grouped apart.

    Attributes:
        asker: The role whose messages are requests; ``None`` if no role opens most conversations.
        opened: The share of the conversations that it opens, apart from greetings of those who answer.
        parts: The parts.
        part: The part of each message (n,).
        salts: A number for each part, which tells texts apart that are said in several parts, uint64 (parts,).
    """

    asker: str | None
    opened: float
    parts: Sequence[Part]
    part: IntArray
    salts: np.ndarray

    @property
    def stamp(self) -> str:
        """Changes with the part of any message."""
        return f"{self.parts} {hashlib.blake2b(self.part.tobytes(), digest_size=8).hexdigest()}"

    @property
    def asks(self) -> BoolArray:
        """Which messages are of who asks (n,)."""
        own = [number for number, part in enumerate(self.parts) if self.asker is not None and part.role == self.asker]
        return np.isin(self.part, own)

    @property
    def requests(self) -> int | None:
        """Which of the parts holds requests alone; ``None`` if none does."""
        return next((number for number, part in enumerate(self.parts) if part.opening), None)

    def with_requests(self, is_request: BoolArray) -> Speakers:
        """The same speakers, with requests apart from all else that the asker says.

        Args:
            is_request: Which messages these are (n,); if none is, nothing changes.
        """
        if not is_request.any():
            return self
        requests = Part(self.asker, opening=True)
        part = np.where(is_request, len(self.parts), self.part)
        salts = np.append(self.salts, np.uint64(salt_of(requests)))
        return replace(self, parts=[*self.parts, requests], part=part, salts=salts)


def salt_of(part: Part) -> int:
    """Return a number that tells the texts of a part from the same texts of another."""
    return int.from_bytes(hashlib.blake2b(repr(part).encode(), digest_size=8).digest(), "little")
