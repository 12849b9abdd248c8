"""The groups of messages or of conversations, as an object and as a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from turnwise.data.reading.given import Given
from turnwise.explorer.groups.memory import Kind
from turnwise.explorer.groups.settings import Granularity, GroupSettings
from turnwise.explorer.opening import open_explored
from turnwise.explorer.report.build import build_report
from turnwise.explorer.report.report import Group, Report
from turnwise.explorer.tables import groups_table
from turnwise.store import ConversationStore

if TYPE_CHECKING:
    import pyarrow as pa
    from sentence_transformers import SentenceTransformer

    from turnwise.explorer.report.groups import Naming


@dataclass(frozen=True)
class Groups:
    """The groups of messages or of conversations.

    Attributes:
        report: Everything that is known about the conversations.
        level: ``"message"`` or ``"conversation"``: what is grouped.
    """

    report: Report
    level: Kind

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, the largest first."""
        return [group for group in self.report.groups[self.level] if group.level == 1]

    @property
    def topics(self) -> Sequence[Group]:
        """The topics, each made of similar groups, the largest first."""
        return [group for group in self.report.groups[self.level] if group.level == 0]

    @property
    def outliers(self) -> float:
        """The share of messages or conversations that are in no group."""
        return self.report.outliers(self.level)

    def to_arrow(self) -> pa.Table:
        """A row for each message or conversation, with its group and topic; see `turnwise.cluster`."""
        return groups_table(self.report, self.level)

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        return self.to_arrow().to_pandas()


def cluster(
    data: ConversationStore | Given,
    *,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    level: Kind = "message",
    history: bool = False,
    granularity: Granularity | int = "medium",
    sample: int = GroupSettings.sample,
    seed: int = 0,
    naming: Naming | None = None,
) -> Groups:
    """Find and name groups of messages (what people ask and answer) or groups of conversations (topics).

    Args:
        data: A store or its folder, which keeps the groups, so that they keep their names when it grows; or
            conversations, as `turnwise.read_conversations` reads or gives them, which are embedded each time.
        encoder: The encoder, its folder or its Hub name; by default that of the store, or the default encoder.
        level: ``"message"`` or ``"conversation"``: what is grouped.
        history: Group messages together with what was said before them, see `add_history`.
        granularity: How fine the groups are: ``"coarse"``, ``"medium"`` or ``"fine"``, or about how many to find.
        sample: The most messages or conversations that groups are fitted to; all others are assigned to these groups.
        seed: Seed of the sample, the groups and the map.
        naming: Names new groups from their phrases and the texts of their central members, such as
            `turnwise.explorer.groups.endpoint.Endpoint`; by default, their phrases are their names.

    Returns:
        The groups. Their ``to_pandas()`` has a row for each message with id, turn, role and text, or for each
        conversation with id and turns; then group, group_name, topic, topic_name, x and y on a map, and surprise. A
        topic is a group of similar groups. What fits no group has an empty one.

    Raises:
        ImportError: The extra ``explorer`` is missing.
        ValueError: There is no conversation, or the level or the granularity is unknown.
    """
    if level not in get_args(Kind):
        raise ValueError(f"level must be 'message' or 'conversation', got {level!r}")
    settings = GroupSettings(sample=sample, granularity=granularity, history=history)
    store, passing = open_explored(data, encoder)
    with passing or nullcontext():
        return Groups(build_report(store, seed=seed, settings=settings, naming=naming), level)
