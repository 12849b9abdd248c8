"""What the explorer shows: groups, and a column for each thing known of messages and conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.explorer.groups.memory import Kind
from turnwise.explorer.groups.neighbours import Neighbours
from turnwise.explorer.groups.settings import GroupSettings
from turnwise.explorer.labels import Label


@dataclass(frozen=True)
class Group:
    """A group of messages or of conversations.

    Attributes:
        id: Stays the same as data grows.
        name: Its phrases, or what a user or a language model called it.
        phrases: What its texts have and others have not, the most telling first.
        parent: The coarse group of a fine one.
        level: 0 for a coarse group, 1 for a fine one.
        size: How many are in it.
        share: Of all, those in no group included.
        central: Its most typical members, at most ten rows.
        edge: Its least typical members, at most ten rows.
        new: It was not there before data grew.
        renamed: A user named it.
        colour: Its place in a palette.
    """

    id: int
    name: str
    phrases: tuple[str, ...]
    parent: int | None
    level: int
    size: int
    share: float
    central: tuple[int, ...]
    edge: tuple[int, ...]
    new: bool
    renamed: bool
    colour: int


@dataclass(frozen=True)
class Surprise:
    """How surprise was measured.

    Attributes:
        how: In one sentence.
        model: By which model.
    """

    how: str
    model: str


@dataclass(frozen=True)
class Report:
    """What is known of the conversations of a store.

    Attributes:
        title: What it is about.
        made: When, ISO 8601.
        encoder: Whose vectors they are.
        stamp: Changes with the data and the settings.
        settings: How its groups were made.
        ids: The ids of the conversations (m).
        texts: The messages (n).
        roles: The roles there are.
        groups: Of messages and of conversations, coarse ones first, then by size.
        surprise: How surprise was measured; ``None`` where it could not be.
        messages: Columns of length n: x, y, group, conversation, turn, role, time, surprise.
        conversations: Columns of length m: x, y, group, first, turns, time, surprise; similar (m, 5).
        message_labels: The labels of messages.
        conversation_labels: The labels of conversations.
        neighbours: Of messages and of conversations among the samples that groups were fitted to.
    """

    title: str
    made: str
    encoder: str
    stamp: str
    settings: GroupSettings
    ids: Sequence[str]
    texts: Sequence[str]
    roles: Sequence[str]
    groups: Mapping[Kind, Sequence[Group]]
    surprise: Surprise | None
    messages: Mapping[str, np.ndarray]
    conversations: Mapping[str, np.ndarray]
    message_labels: Mapping[str, Label]
    conversation_labels: Mapping[str, Label]
    neighbours: Mapping[Kind, Neighbours]

    def columns(self, kind: Kind) -> Mapping[str, np.ndarray]:
        """The columns of messages or of conversations."""
        return self.messages if kind == "message" else self.conversations

    def outliers(self, kind: Kind) -> float:
        """The share of messages or conversations that are in no group."""
        groups = self.columns(kind)["group"]
        return float((groups < 0).mean()) if len(groups) else 0.0
