"""The asker of a corpus, and the parts of the messages that are grouped apart from each other.

What people ask and what they are answered are different things, even in the same words. So each role that takes part in
most conversations has groups of its own. Where roles are names of people, as in a team's chat, whoever opens a
conversation is the one who asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.groups.group_settings import MOST
from turnlens.groups.pipeline import Parts
from turnlens.report.corpus import Corpus
from turnlens.report.label_columns import Label

OPENER, OTHERS = "opener", "others"  # roles, where the roles of a corpus are names
# Roles that answer, as exports call them. Their greeting may open a conversation, but it is not what people ask.
_ANSWERING = {"agent", "assistant", "bot", "developer", "function", "model", "operator", "system", "tool", OTHERS}
_ASKS = 2 / 3  # of the conversations must be opened by one role, so that it is the one who asks; by others, it answers
_LISTED = 20  # roles in an error
_SPEAKER = "speaker"  # the label with the names
_NAMES = 3  # roles that open conversations, none of them most: these are names


@dataclass(frozen=True)
class Part:
    """Messages that are grouped apart from all others.

    Attributes:
        role: The role whose messages they are; ``None`` for those of all roles that have no part of their own.
        opening: They are only requests.
    """

    role: str | None
    opening: bool = False


@dataclass(frozen=True)
class Speakers:
    """The one who asks, and the parts of the messages that are grouped apart.

    Attributes:
        asker: The role whose messages are requests; ``None`` if no role opens most conversations.
        opened: The share of the conversations that it opens, apart from greetings of those who answer.
        parts: The parts.
        part: The part of each message (n,).
        salts: A number for each part, which tells the same text in two parts apart, uint64 (parts,).
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
        """The messages of the one who asks (n,)."""
        own = [number for number, part in enumerate(self.parts) if self.asker is not None and part.role == self.asker]
        return np.isin(self.part, own)

    @property
    def requests(self) -> int | None:
        """The part that holds requests alone; ``None`` if none does."""
        return next((number for number, part in enumerate(self.parts) if part.opening), None)

    def with_requests(self, is_request: BoolArray) -> Speakers:
        """Return the same speakers with requests (n,), if there are any, apart from all other messages of the asker."""
        if not is_request.any():
            return self
        requests = Part(self.asker, opening=True)
        part = np.where(is_request, len(self.parts), self.part)
        salts = np.append(self.salts, np.uint64(_salt_of(requests)))
        return replace(self, parts=[*self.parts, requests], part=part, salts=salts)

    def grouped(self, canned: IntArray) -> Parts:
        """Return the parts as the pipeline of groups takes them, with the canned text of each message (n,)."""
        return Parts(self.part, self.salts, self.requests, canned)


def speakers_of(corpus: Corpus, role: str | None = None) -> Speakers:
    """Find the asker and the parts of a corpus.

    Args:
        corpus: The conversations.
        role: Who asks; by default the role that opens most conversations, where greetings of those who answer, such as
            ``assistant`` or ``agent``, do not count.

    Raises:
        ValueError: There is no such role.
    """
    roles = list(corpus.roles)
    if role is not None and role not in roles:
        raise ValueError(f"no message has the role {role!r}: expected one of {_listed(roles)}")
    opening = _openers(corpus)
    usual = _usual_opener(corpus, opening)
    asker = role or usual
    taking_part = _participations(corpus) >= MOST * len(corpus.ids)
    apart = {asker, *(np.asarray(roles, object)[taking_part] if usual is not None else ())} - {None}
    parts = [Part(name) for name in sorted(map(str, apart))]
    place = np.asarray([parts.index(Part(name)) if name in apart else len(parts) for name in roles], np.int64)
    part = place[corpus.role]
    if len(apart) < len(roles):
        parts.append(Part(None))
    salts = [0 if each.role in (None, usual) else _salt_of(each) for each in parts]
    opened = float((opening == roles.index(asker)).mean()) if asker is not None else 0.0
    return Speakers(asker, opened, parts, part, np.asarray(salts, np.uint64))


def with_opener_roles(corpus: Corpus, role: str | None = None) -> Corpus:
    """Put the roles opener and others in place of names, which become the label ``speaker`` of messages.

    Whoever takes part in most conversations but seldom opens one, such as the owner of a shop, answers even there.

    Args:
        corpus: The conversations; if their roles are no names, they are returned as they are.
        role: Who asks, if the user says so: ``"opener"`` takes any roles for names, another one none.
    """
    if role not in (None, OPENER) or OPENER in corpus.roles:
        return corpus
    opening = _openers(corpus)
    if role is None and (_usual_opener(corpus, opening) is not None or len(np.unique(opening[opening >= 0])) < _NAMES):
        return corpus
    involved = _participations(corpus)
    opened = np.bincount(opening[opening >= 0], minlength=len(corpus.roles))
    opening = _openers(corpus, (involved >= MOST * len(corpus.ids)) & (opened < (1 - _ASKS) * involved))
    return replace(
        corpus,
        roles=[OPENER, OTHERS],
        role=(corpus.role != opening[corpus.conversation]).astype(np.uint16),
        message_labels={**corpus.message_labels, _SPEAKER: Label.of(corpus.roles, corpus.role)},
    )


def opener_roles(roles: Sequence[str], turns: Sequence[int]) -> list[str]:
    """Return names as the roles opener and others (n), in conversations that are not part of a corpus.

    Args:
        roles: The role of each message (n).
        turns: The number of messages of each conversation.
    """
    named: list[str] = []
    for count in turns:
        own = roles[len(named) : len(named) + count]
        opener = next((name for name in own if name.lower() not in _ANSWERING), None)
        named += [OPENER if name == opener else OTHERS for name in own]
    return named


def _openers(corpus: Corpus, answering: BoolArray | None = None) -> IntArray:
    """Return the first role in each conversation that is not known to answer, -1 if there is none (m,).

    Roles that answer (roles,) come besides those that exports call so.
    """
    asking = np.asarray([role.lower() not in _ANSWERING for role in corpus.roles])
    if answering is not None:
        asking &= ~answering
    rows = np.flatnonzero(asking[corpus.role])
    conversations, first = np.unique(corpus.conversation[rows], return_index=True)
    opening = np.full(len(corpus.ids), -1, np.int64)
    opening[conversations] = corpus.role[rows[first]]
    return opening


def _usual_opener(corpus: Corpus, opening: IntArray) -> str | None:
    """Return the role that opens most conversations, from `_openers`; ``None`` if none does."""
    counts = np.bincount(opening[opening >= 0], minlength=len(corpus.roles))
    most = int(counts.argmax())
    return corpus.roles[most] if counts[most] >= _ASKS * len(opening) else None


def _participations(corpus: Corpus) -> IntArray:
    """Return the number of conversations in which each role takes part (roles,)."""
    pairs = np.unique(np.stack([corpus.conversation, corpus.role.astype(np.uint32)]), axis=1)
    return np.bincount(pairs[1], minlength=len(corpus.roles))


def _salt_of(part: Part) -> int:
    return int.from_bytes(hashlib.blake2b(repr(part).encode(), digest_size=8).digest(), "little")


def _listed(roles: Sequence[str]) -> str:
    more = f" and {len(roles) - _LISTED} more" if len(roles) > _LISTED else ""
    return ", ".join(map(repr, roles[:_LISTED])) + more
