"""The results of searches and changes of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from turnlens.store.state import IndexFacts


@dataclass(frozen=True)
class MessageHit:
    """A message that was found.

    Attributes:
        score: Higher is better: a cosine (`search_messages` by vector, `search_conversations`), BM25 (by text), the sum
            of reciprocal ranks (hybrid), the model's score (`next_replies`), or what a cross-encoder gave.
        conversation: The id of its conversation.
        turn: Its place in the conversation, from 0.
        role: Who said it.
        text: What was said.
        labels: Its further fields, and those of its conversation as texts, but for ``system``; its own go first.
        time: When it was said, if the message has a time.

    Examples:
        >>> hit = MessageHit(0.9, "a", 0, "user", "My card is lost.", {"intent": "lost"}, time=None)
        >>> f"{hit.conversation}, turn {hit.turn}: {hit.text}"
        'a, turn 0: My card is lost.'
    """

    score: float
    conversation: str
    turn: int
    role: str
    text: str
    labels: Mapping[str, Any]
    time: datetime | None


@dataclass(frozen=True)
class ReplyHit(MessageHit):
    """A message that could be said next.

    Attributes:
        probability: The probability that it fits; only the first message of a ranking can have one, if it is suggested.
    """

    probability: float | None = None


@dataclass(frozen=True)
class ConversationHit:
    """A conversation that was found.

    Attributes:
        score: The cosine of the conversation vectors.
        conversation: Its id.
        turns: How many messages it has.
        speakers: Their roles, in order of appearance.
        labels: Its further fields.
        text: Its first message.
        first_time: The time of its first message that has one.
        last_time: That of its last.
    """

    score: float
    conversation: str
    turns: int
    speakers: Sequence[str]
    labels: Mapping[str, Any]
    text: str
    first_time: datetime | None
    last_time: datetime | None


@dataclass(frozen=True)
class AddReport:
    """The result of `ConversationStore.add`.

    Attributes:
        added: How many conversations are new.
        grown: How many conversations have further messages; only these messages were embedded.
        changed: How many conversations were replaced, because something in them differs.
        unchanged: How many conversations were stored already.
        messages: How many messages were embedded.
        shortened: How many of those that changed have fewer messages than before.
        lost: How many fewer.
        repeated: How many of all took the place of one before with the same id.
    """

    added: int = 0
    grown: int = 0
    changed: int = 0
    unchanged: int = 0
    messages: int = 0
    shortened: int = 0
    lost: int = 0
    repeated: int = 0

    def __add__(self, other: AddReport) -> AddReport:
        """The sums of both reports."""
        return AddReport(**{name: count + getattr(other, name) for name, count in asdict(self).items()})


@dataclass(frozen=True)
class StoreStats:
    """The size and kind of a store.

    Attributes:
        conversations: The number of conversations.
        messages: The number of messages.
        bytes: Its size on disk, including old versions that are not removed yet.
        encoder: Where its encoder was loaded from.
        pooling: How whole conversations are pooled.
        tokenizer: The tokenizer of its text search.
        indexes: The indexes of its vectors, each of other rows, with the recall measured when it was built.
    """

    conversations: int
    messages: int
    bytes: int
    encoder: str
    pooling: str
    tokenizer: str
    indexes: Mapping[str, Sequence[IndexFacts]]


def hits_table(hits: Sequence[MessageHit | ConversationHit]) -> pa.Table:
    """Hits as an Arrow table (``.to_pandas()`` for pandas); labels are JSON.

    Examples:
        >>> hit = MessageHit(0.9, "a", 0, "user", "My card is lost.", {"intent": "lost"}, time=None)
        >>> hits_table([hit])["labels"].to_pylist()
        ['{"intent": "lost"}']
    """
    rows = [asdict(hit) | {"labels": json.dumps(hit.labels, ensure_ascii=False, default=str)} for hit in hits]
    return pa.Table.from_pylist(rows)
