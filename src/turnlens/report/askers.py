"""Who asks, and whose messages are grouped apart from whose.

What people ask and what they are answered are different things, even in the same words. So each role that takes part in
most conversations has groups of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.groups.speakers import Part, Speakers, salt_of
from turnlens.report.corpus import Corpus

OTHERS = "others"  # than the opener, where roles are names
# Those who answer, as exports call them. Their greeting may open a conversation, but it is not what people ask.
_EXPORTED = ("agent", "assistant", "bot", "developer", "function", "model", "operator", "system", "tool")
ANSWERING = frozenset({*_EXPORTED, OTHERS})
_ASKS = 2 / 3  # of the conversations must be opened by one role, so that it is the one who asks
TAKES_PART = 1 / 2  # of the conversations; a role that speaks in fewer has no groups of its own
_ROLES_LISTED = 20


def speakers_of(corpus: Corpus, role: str | None = None) -> Speakers:
    """Find out who asks.

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
    opening = openers(corpus)
    usual = usual_opener(corpus, opening)
    asker = role or usual
    apart = {asker, *(_taking_part(corpus) if usual is not None else ())} - {None}
    parts = [Part(name) for name in sorted(map(str, apart))]
    place = np.asarray([parts.index(Part(name)) if name in apart else len(parts) for name in roles], np.int64)
    part = place[corpus.role]
    if len(apart) < len(roles):
        parts.append(Part(None))
    salts = [0 if each.role in (None, usual) else salt_of(each) for each in parts]
    opened = float((opening == roles.index(asker)).mean()) if asker is not None else 0.0
    return Speakers(asker, opened, parts, part, np.asarray(salts, np.uint64))


def openers(corpus: Corpus, answering: BoolArray | None = None) -> IntArray:
    """The first role in each conversation that is not known to answer, -1 if there is none (m,).

    Args:
        corpus: The conversations.
        answering: Which roles answer, besides those that exports call so (roles,).
    """
    asking = np.asarray([role.lower() not in ANSWERING for role in corpus.roles])
    if answering is not None:
        asking &= ~answering
    rows = np.flatnonzero(asking[corpus.role])
    conversations, first = np.unique(corpus.conversation[rows], return_index=True)
    opening = np.full(len(corpus.ids), -1, np.int64)
    opening[conversations] = corpus.role[rows[first]]
    return opening


def usual_opener(corpus: Corpus, opening: IntArray) -> str | None:
    """The role that opens most conversations, from `openers`; ``None`` if none does."""
    counts = np.bincount(opening[opening >= 0], minlength=len(corpus.roles))
    most = int(counts.argmax())
    return corpus.roles[most] if counts[most] >= _ASKS * len(opening) else None


def participations(corpus: Corpus) -> IntArray:
    """In how many conversations each role takes part (roles,)."""
    pairs = np.unique(np.stack([corpus.conversation, corpus.role.astype(np.uint32)]), axis=1)
    return np.bincount(pairs[1], minlength=len(corpus.roles))


def _taking_part(corpus: Corpus) -> list[str]:
    counts = participations(corpus)
    return [role for role, count in zip(corpus.roles, counts) if count >= TAKES_PART * len(corpus.ids)]


def _listed(roles: Sequence[str]) -> str:
    more = f" and {len(roles) - _ROLES_LISTED} more" if len(roles) > _ROLES_LISTED else ""
    return ", ".join(map(repr, roles[:_ROLES_LISTED])) + more
