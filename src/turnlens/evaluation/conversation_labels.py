"""Whole conversations with one label each, and their embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray, embed_distinct
from turnlens.data.messages import Conversations, Message, plain_messages_in
from turnlens.errors import ConversationError
from turnlens.evaluation.ranking_metrics import rank_conversations
from turnlens.evaluation.scoring import sample_queries, unit_rows, warn_of_alike, warn_of_left_out

if TYPE_CHECKING:
    from turnlens.evaluation.task import LoadSettings

# Embeds whole conversations: list of n lists of messages -> (n, dim).
EncodeConversations = Callable[[list[list[Message]]], Any]

LABEL_COLUMNS = ("domain", "domains", "services", "topic", "topics")


@dataclass(frozen=True, eq=False)
class LabelledConversations:
    """Conversations that have exactly one label.

    Args:
        conversations: The messages of each, role and content only: no label can reach an encoder.
        ids: (conversations,) the conversation's ``id``, or the number of its row where it has none.
        codes: (conversations,) the label of each, an index of ``labels``.
        labels: The distinct labels, sorted.
        queries: (queries,) indices of the conversations used as queries; each shares its label with another one.
        dropped: Number of conversations that cannot be queries because no other one has their label.
        left_out: Number of conversations without a label or with several.
    """

    conversations: tuple[list[Message], ...]
    ids: tuple[str, ...]
    codes: IntArray
    labels: tuple[str, ...]
    queries: IntArray
    dropped: int
    left_out: int

    @property
    def query_ids(self) -> tuple[str, ...]:
        """(queries,) ids of the queries."""
        return tuple(self.ids[query] for query in self.queries)

    def counts(self) -> dict[str, object]:
        """Return counts of what was evaluated, ready for JSON."""
        return {"conversations": len(self.codes), "labels": len(self.labels), "left_out": self.left_out}


@dataclass(frozen=True, eq=False)
class EmbeddedConversations:
    """Conversations and their embeddings, to score several tasks on.

    Args:
        units: (conversations, dim) embeddings scaled to length 1, float32.
        lengths: (conversations,) the lengths they had, float32.
    """

    conversations: LabelledConversations
    units: FloatArray
    lengths: FloatArray

    @cached_property
    def ranking(self) -> dict[str, FloatArray]:
        """Every query's ranking of the other conversations; computed once, relatedness and retrieval both use it."""
        return rank_conversations(self.units, self.conversations.codes, self.conversations.queries)


def labelled_conversations(
    conversations: Conversations, label: str | None = None, max_queries: int | None = None, seed: int = 0
) -> LabelledConversations:
    """The conversations with exactly one label.

    Args:
        conversations: Rows of ``messages``, each ``{"role", "content"}``, and a label: a string, a whole number or a
            list of these, which counts when it has exactly one element.
        label: Name of the column with the label; by default the first of ``domain``, ``domains``, ``services``,
            ``topic`` and ``topics`` in which any conversation has exactly one.
        max_queries: Use a random sample of this many conversations as queries; by default all.
        seed: Seed of that sample.

    Raises:
        ConversationError: No column of labels is found, a row is malformed, or the labels cannot be evaluated: at
            least two different ones are needed, and one of them twice.
    """
    columns = (label,) if label is not None else LABEL_COLUMNS
    ids, messages, values = _read_rows(conversations, columns)
    labels = _single_labels(values)
    kept = [number for number, value in enumerate(labels) if value is not None]
    names, codes, counts = np.unique([str(labels[number]) for number in kept], return_inverse=True, return_counts=True)
    if len(names) < 2 or counts.max() < 2:
        problem = (
            "at least 2 different labels, one of them on 2 conversations, are needed; "
            f"got {len(kept)} conversations with exactly one label and {len(names)} different labels"
        )
        raise ConversationError("conversations", problem)
    eligible = np.flatnonzero(counts[codes] > 1)
    warn_of_alike(frozenset(names.tolist()))
    warn_of_left_out(len(labels) - len(kept), len(labels), "conversations without exactly one label")
    alone = (
        f"conversations as queries, since no other one has their label ({(counts == 1).sum()} of {len(names)} labels)"
    )
    warn_of_left_out(len(kept) - len(eligible), len(kept), alone)
    return LabelledConversations(
        conversations=tuple(messages[number] for number in kept),
        ids=tuple(ids[number] for number in kept),
        codes=codes.astype(np.int64),
        labels=tuple(names.tolist()),
        queries=eligible[sample_queries(len(eligible), max_queries, seed)],
        dropped=len(kept) - len(eligible),
        left_out=len(labels) - len(kept),
    )


def embed_labelled(
    encode_conversations: EncodeConversations, conversations: LabelledConversations
) -> EmbeddedConversations:
    """Embed each distinct conversation once and scale to length 1; a zero vector stays zero.

    Args:
        encode_conversations: Embeds a list of conversations, each a list of messages: (n,) -> (n, dim).
        conversations: From ``labelled_conversations``.

    Raises:
        ValueError: The encoder returned something other than one finite vector per conversation.
    """
    seen: dict[tuple[tuple[str, str], ...], int] = {}
    keys = [
        tuple((message["role"], message["content"]) for message in messages) for messages in conversations.conversations
    ]
    first = [seen.setdefault(key, index) for index, key in enumerate(keys)]  # (conversations,) first of equal ones

    def embed(distinct: list[int]) -> FloatArray:
        rows = encode_conversations([conversations.conversations[index] for index in distinct])
        units = unit_rows(rows, [conversations.ids[index] for index in distinct])
        return np.column_stack([units, np.linalg.norm(rows, axis=1)]).astype(np.float32)

    rows = embed_distinct(embed, first)
    return EmbeddedConversations(conversations, np.ascontiguousarray(rows[:, :-1]), rows[:, -1])


def _read_rows(
    conversations: Conversations, columns: Sequence[str]
) -> tuple[list[str], list[list[Message]], dict[str, list[Any]]]:
    """Id and messages of every row, and the values of those of the columns that exist."""
    seen: dict[str, None] = {}
    ids: list[str] = []
    messages: list[list[Message]] = []
    values: dict[str, list[Any]] = {column: [] for column in columns}
    for number, row in enumerate(conversations):
        messages.append(plain_messages_in(row, f"row {number}"))
        seen.update(dict.fromkeys(row))
        identifier = row.get("id")
        ids.append(str(number) if identifier is None else str(identifier))
        for column in columns:
            values[column].append(row.get(column))
    present = {column: values[column] for column in columns if column in seen}
    if not present:
        problem = f"no column {' or '.join(map(repr, columns))} with the labels; the conversations have: "
        raise ConversationError("conversations", problem + (", ".join(seen) or "no column at all"))
    return ids, messages, present


def _single_labels(values: dict[str, list[Any]]) -> list[str | None]:
    """The one label of each row, None where there is none or several, from the first column that has any."""
    for column, cells in values.items():
        labels = [_single_label(value, column, f"row {row}") for row, value in enumerate(cells)]
        if any(label is not None for label in labels):
            return labels
    problem = f"no conversation has exactly one label in {' or '.join(map(repr, values))}"
    raise ConversationError("conversations", problem)


def _single_label(value: Any, column: str, where: str) -> str | None:
    elements = list(value) if isinstance(value, (list, tuple)) else [value]
    for element in elements:
        if element is not None and not isinstance(element, (str, int)):
            raise ConversationError(where, f"{column!r} must hold a text, a whole number or a list of these: {value!r}")
    if len(elements) != 1 or elements[0] is None or elements[0] == "":
        return None
    return str(elements[0])


def build_conversations(rows: Conversations, settings: LoadSettings) -> LabelledConversations:
    """`labelled_conversations` with the settings of a task."""
    return labelled_conversations(rows, settings.conversation_label, settings.max_queries, settings.seed)
