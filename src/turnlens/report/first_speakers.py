"""Where roles are names of people, as in a team's chat, whoever opens a conversation is the one who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.report.askers import ANSWERING, OTHERS, TAKES_PART, openers, participations, usual_opener
from turnlens.report.corpus import Corpus
from turnlens.report.label_columns import Label

OPENER = "opener"
_NAME = "speaker"
_NAMES = 3  # roles that open conversations, none of them most: these are names
_SELDOM = 1 / 3  # of the conversations in which it takes part; a role of most conversations that opens fewer answers


def with_openers(corpus: Corpus, role: str | None = None) -> Corpus:
    """The corpus with the roles opener and others in place of names, which become the label ``speaker`` of messages.

    Whoever takes part in most conversations but seldom opens one, such as the owner of a shop, answers even there.

    Args:
        corpus: The conversations; if their roles are no names, they are returned as they are.
        role: Who asks, if the user says so: ``"opener"`` takes any roles for names, another one none.
    """
    if role not in (None, OPENER) or OPENER in corpus.roles:
        return corpus
    opening = openers(corpus)
    if role is None and (usual_opener(corpus, opening) is not None or len(np.unique(opening[opening >= 0])) < _NAMES):
        return corpus
    opening = openers(corpus, _answering(corpus, opening))
    return replace(
        corpus,
        roles=[OPENER, OTHERS],
        role=(corpus.role != opening[corpus.conversation]).astype(np.uint16),
        message_labels={**corpus.message_labels, _NAME: Label.of(corpus.roles, corpus.role)},
    )


def named_by_opening(roles: Sequence[str], turns: Sequence[int]) -> list[str]:
    """Names as the roles opener and others (n), in conversations that are not part of a corpus.

    Args:
        roles: The role of each message (n).
        turns: How many messages each conversation has.
    """
    named: list[str] = []
    for count in turns:
        own = roles[len(named) : len(named) + count]
        opener = next((name for name in own if name.lower() not in ANSWERING), None)
        named += [OPENER if name == opener else OTHERS for name in own]
    return named


def _answering(corpus: Corpus, opening: IntArray) -> BoolArray:
    """Which roles take part in most conversations, but seldom open one (roles,)."""
    involved = participations(corpus)
    opened = np.bincount(opening[opening >= 0], minlength=len(corpus.roles))
    return (involved >= TAKES_PART * len(corpus.ids)) & (opened < _SELDOM * involved)
