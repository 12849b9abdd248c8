"""A report: groups, and columns with all that is known of messages and conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from turnlens._utils.vectors import BoolArray
from turnlens.formats.message_layouts import TECHNICAL_LABELS
from turnlens.groups.group_model import Kind
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.neighbours import Neighbours
from turnlens.report.boilerplate import Spans, without
from turnlens.report.corpus import Texts
from turnlens.report.label_columns import Label
from turnlens.report.speakers import Speakers


@dataclass(frozen=True)
class Group:
    """A group of messages or of conversations.

    Attributes:
        id: Stays the same as data grows.
        name: Its phrases, or the name that a user or a language model gave it.
        phrases: The phrases that its texts have and others do not have, the most distinctive first.
        parent: The coarse group that a fine group belongs to.
        level: 0 for a coarse group, 1 for a fine one.
        size: The number of its members.
        share: Its share of all conversations, or of all messages of its part, including those in no group.
        central: Its most typical members, at most ten rows.
        edge: Its least typical members, at most ten rows.
        new: It was not there before data grew.
        renamed: A user named it.
        role: The role of its messages; ``None`` for topics, and for groups of several roles.
        opening: It holds only opening requests of this role.
        answer: Its most typical answer, a row; ``None`` for topics, and where nothing follows.
        move: It keeps a conversation going, such as greetings, thanks, assent, and details that were asked for.
        aside: A user listed it apart from the requests (true) or with them (false); ``None`` if nobody did.
        joins: The larger group of its kind that it is joined with if fewer are wanted; ``None`` if there is none.
        joined_at: The most groups of its kind that there are then.
        mixed: Most texts that are nearest to its own are in other groups, so that it has no subject of its own.

    Examples:
        >>> from turnlens.report import cluster
        >>> requests = ("Where is my parcel {}?", "Please cancel order {}.", "I forgot the password of account {}.")
        >>> chats = [[{"role": "user", "content": text.format(n)}] for n in range(20) for text in requests]
        >>> groups = cluster(chats)
        >>> group = groups.groups[0]
        >>> group.size, group.role, group.parent in [coarse.id for coarse in groups.coarse_groups]
        (20, 'user', True)
        >>> len({groups.report.texts[row][:5] for row in group.central})
        1
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
    role: str | None = None
    opening: bool = False
    answer: int | None = None
    move: bool = False
    aside: bool | None = None
    joins: int | None = None
    joined_at: int = 0
    mixed: bool = False


@dataclass(frozen=True, kw_only=True)
class Report(Texts):
    """All that is known about the conversations of a corpus.

    Attributes:
        title: The title of the report.
        made: When the report was made, ISO 8601.
        encoder: The encoder that made the vectors.
        stamp: Changes with the data and the settings.
        settings: The settings of its groups.
        ids: The ids of the conversations (m).
        texts: The messages (n).
        boilerplate: The boilerplate of each message: signatures, quotes, disclaimers, automatic replies (n).
        roles: All roles that occur.
        speakers: The asker, and the parts that are grouped apart.
        groups: The groups of messages and of conversations: coarse groups first, then by size.
        messages: Columns of length n: group, request (whether it is one), unhappy (above 0 if it is, NaN if it follows
            no answer), conversation, turn, role, time; if it is for the page, x, y and surprise.
        conversations: Columns of length m: group, first, turns, time; similar (m, 5); x, y and surprise as above.
        message_labels: The labels of messages.
        conversation_labels: The labels of conversations.
        numbers: Measures of each conversation, such as a rating, by name; NaN where not known (m,).
        message_numbers: Measures of each message, by name; NaN where not known (n,).
        neighbours: The neighbours of messages and of conversations among the samples that groups were fitted to.

    Examples:
        >>> from turnlens.report import cluster
        >>> requests = ("Where is my parcel {}?", "Please cancel order {}.", "I forgot the password of account {}.")
        >>> chats = [[{"role": "user", "content": text.format(n)}] for n in range(20) for text in requests]
        >>> report = cluster(chats).report
        >>> len(report.ids), len(report.texts), int(report.messages["request"].sum()), report.outliers("message")
        (60, 60, 60, 0.0)
    """

    made: str
    encoder: str
    stamp: str
    settings: GroupSettings
    boilerplate: Sequence[Spans]
    speakers: Speakers
    groups: Mapping[Kind, Sequence[Group]]
    messages: Mapping[str, np.ndarray]
    conversations: Mapping[str, np.ndarray]
    numbers: Mapping[str, np.ndarray]
    neighbours: Mapping[Kind, Neighbours]

    def text_of(self, row: int) -> str:
        """Return a message without boilerplate, or whole if it is nothing else."""
        return without(self.texts[row], self.boilerplate[row]) or self.texts[row]

    @property
    def has_map(self) -> bool:
        """True if it has the columns that only the page shows: places on the map, and surprise."""
        return "x" in self.messages

    @cached_property
    def listed(self) -> frozenset[int]:
        """The fine groups of messages that are listed as requests; where nobody is known to ask, all but moves."""
        own = (one for one in self.groups["message"] if one.level == 1 and one.role == self.speakers.asker)
        return frozenset(one.id for one in own if not one.move)

    def columns(self, kind: Kind) -> Mapping[str, np.ndarray]:
        """The columns of messages or of conversations."""
        return self.messages if kind == "message" else self.conversations

    @cached_property
    def measures(self) -> dict[str, np.ndarray]:
        """The numbers of conversations, after labels of yes and no as 1 and 0; NaN where not known (m,)."""
        answers = {name: label.yes_or_no for name, label in self.conversation_labels.items()}
        return {name: values for name, values in answers.items() if values is not None} | dict(self.numbers)

    @cached_property
    def comparable_labels(self) -> dict[str, Label]:
        """The labels that are no numbers; of messages, as of the first of a conversation that has one.

        What messages hold beside their text, such as a notice of the app, is left out.
        """
        first = self.conversations["first"]
        of_messages = {
            name: replace(label, codes=_earliest(label.codes, first))
            for name, label in self.message_labels.items()
            if name not in TECHNICAL_LABELS
        }
        every = sorted({**of_messages, **self.conversation_labels}.items())
        return {name: label for name, label in every if name not in self.numbers}

    def categories(self, most: int) -> dict[str, Label]:
        """The labels with 2 to ``most`` values that are no numbers; of messages, as of the first that has one."""
        return {name: label for name, label in self.comparable_labels.items() if 2 <= len(label.values) <= most}

    def long_categories(self, most: int) -> dict[str, Sequence[str]]:
        """The labels with more than ``most`` values that are no numbers: too many to compare, with their values."""
        return {name: label.values for name, label in self.comparable_labels.items() if len(label.values) > most}

    def outliers(self, kind: Kind, rows: BoolArray | slice = slice(None)) -> float:
        """The share of messages or conversations, by default of all, that are in no group."""
        groups = self.columns(kind)["group"][rows]
        return float((groups < 0).mean()) if len(groups) else 0.0


def _earliest(codes: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The first code that is not -1 among the messages of each conversation (m,), -1 if there is none."""
    rows = np.flatnonzero(codes >= 0)
    conversations, place = np.unique(np.searchsorted(first, rows, side="right") - 1, return_index=True)
    earliest = np.full(len(first), -1, codes.dtype)
    earliest[conversations] = codes[rows[place]]
    return earliest
