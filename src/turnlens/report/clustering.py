"""The groups of messages or of conversations, as an object and as a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from turnlens._utils.vectors import BoolArray
from turnlens.data.conversation_source import ConversationSource
from turnlens.groups.group_model import Kind
from turnlens.groups.group_settings import Granularity, GroupSettings
from turnlens.report.building import build_report, open_store, report_in_memory
from turnlens.report.report import Group, Report
from turnlens.report.seed_groups import Seeds
from turnlens.report.summary import summary_table
from turnlens.report.tables import groups_table
from turnlens.report.trends import Period
from turnlens.store import ConversationStore

if TYPE_CHECKING:
    import pyarrow as pa
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.encoder import Encoder
    from turnlens.report.group_names import Naming


@dataclass(frozen=True)
class Groups:
    """The groups of messages or of conversations.

    Attributes:
        report: Everything that is known about the conversations.
        level: ``"message"`` or ``"conversation"``: what is grouped.
        role: Only the messages of this role are of interest; ``None`` for all.

    Examples:
        >>> requests = ("Where is my parcel {}?", "Please cancel order {}.", "I forgot the password of account {}.")
        >>> chats = [[{"role": "user", "content": text.format(n)}] for n in range(20) for text in requests]
        >>> groups = cluster(chats)
        >>> groups.outliers
        0.0
        >>> groups.summary().select(["kind", "conversations", "share"]).to_pylist()[0]
        {'kind': 'request', 'conversations': 20, 'share': 0.3333333333333333}
    """

    report: Report
    level: Kind
    role: str | None = None

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, the largest first."""
        return self._of_level(1)

    @property
    def coarse_groups(self) -> Sequence[Group]:
        """The coarse groups, each made of similar groups, the largest first."""
        return self._of_level(0)

    @property
    def outliers(self) -> float:
        """The share of the messages or conversations of interest that are in no group."""
        return self.report.outliers(self.level, self._rows)

    def to_arrow(self) -> pa.Table:
        """A row for each message or conversation of interest, with its groups; see `turnlens.cluster`."""
        return groups_table(self.report, self.level, self._rows)

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        return self.to_arrow().to_pandas()

    def summary(self, period: Period | None = None) -> pa.Table:
        """A row for each group of messages: its conversations, growth, numbers and examples; see `summary_table`.

        Args:
            period: Growth compares the last ``"day"``, ``"week"`` or ``"month"`` with the time before; by default what
                suits the span of the data.

        Raises:
            ValueError: These are groups of conversations.
        """
        if self.level == "conversation":
            raise ValueError("a summary lists groups of messages: leave out level='conversation'")
        return summary_table(self.report, self.groups, period)

    def _of_level(self, level: int) -> Sequence[Group]:
        return [
            group
            for group in self.report.groups[self.level]
            if group.level == level and self.role in (None, group.role)
        ]

    @property
    def _rows(self) -> BoolArray:
        columns = self.report.columns(self.level)
        if self.role is None:
            return np.ones(len(columns["group"]), bool)
        return np.asarray(columns["role"] == list(self.report.roles).index(self.role))


def cluster(
    data: ConversationStore | ConversationSource,
    *,
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    level: Kind = "message",
    role: str | None = None,
    seeds: Seeds | None = None,
    history: bool = False,
    granularity: Granularity | int = "medium",
    sample: int = GroupSettings.sample,
    seed: int = 0,
    naming: Naming | None = None,
) -> Groups:
    """Find and name groups of messages (what people ask and answer) or groups of conversations (topics).

    Args:
        data: A store or its folder, which keeps the groups, so that they keep their names when it grows; or
            conversations, as `turnlens.read_conversations` reads or gives them, which are embedded each time.
        encoder: The encoder, its folder or its Hub name; by default that of the store, or the default encoder.
        level: ``"message"`` or ``"conversation"``: what is grouped.
        role: Return only the messages of this role, such as ``"user"``, and their groups. Each role that takes part in
            most conversations has groups of its own in any case, unless no role opens most conversations. Where roles
            are names, they are ``"opener"`` and ``"others"``, and the label ``speaker`` holds the names.
        seeds: Groups that you know: a name, and a sentence or a list of examples, for each. The groups of messages that
            the examples fall into get that name; where examples of several names fall into one group, its messages go
            to the nearest of them. The others are grouped as always. The store keeps it.
        history: Group messages together with the messages before them, see `add_history`.
        granularity: The fineness of the groups: ``"coarse"``, ``"medium"`` or ``"fine"``, or about how many to find of
            each role.
        sample: The most messages or conversations that groups are fitted to; all others are assigned to these groups.
        seed: Seed of the sample, the groups and the map.
        naming: Names new groups from their phrases and the texts of their central members, such as
            `turnlens.groups.naming_endpoint.Endpoint`; by default, their phrases are their names.

    Returns:
        The groups. Their ``to_pandas()`` has a row for each message with id, turn, role, text and time, or for each
        conversation with id, turns and time; then group, group_name, coarse_group, coarse_group_name and the labels.
        A coarse group is made of similar groups. What fits no group has an empty one.

    Raises:
        ValueError: There is no conversation; the level, the role or the granularity is unknown; a role is given for
            conversations; or seeds are not as they should be.

    Examples:
        >>> requests = ("Where is my parcel {}?", "Please cancel order {}.", "I forgot the password of account {}.")
        >>> chats = [[{"role": "user", "content": text.format(n)}] for n in range(20) for text in requests]
        >>> groups = cluster(chats)
        >>> [group.size for group in groups.groups]
        [20, 20, 20]
        >>> table = groups.to_pandas()
        >>> table["group_name"].nunique()
        3
    """
    if level not in get_args(Kind):
        raise ValueError(f"level must be 'message' or 'conversation', got {level!r}")
    if level == "conversation" and role is not None:
        raise ValueError("role chooses messages: it cannot be combined with level='conversation'")
    settings = GroupSettings(sample=sample, granularity=granularity, history=history, role=role, seed=seed)
    store = open_store(data, encoder)
    if store is None:
        report = report_in_memory(cast("ConversationSource", data), encoder, settings, naming, seeds)
    else:
        report = build_report(store, seed=seed, settings=settings, naming=naming, seeds=seeds, page=False)
    return Groups(report, level, role)
