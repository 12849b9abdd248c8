"""A report behind a server: search, suggested replies, and changes of groups, after which it is built again."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from turnlens.groups.group_model import GroupModel, Kind, read_models
from turnlens.page.report_files import write_report
from turnlens.report import group_edits as edits
from turnlens.report.building import build_report
from turnlens.report.report import Report
from turnlens.report.summary import write_summary
from turnlens.store import SQL, ConversationStore, MessageHit
from turnlens.store.filters import ids_among
from turnlens.store.store_reader import SearchMode

Action = Literal["rename", "merge", "split", "aside", "request", "undo"]
_MOST_UNDONE = 50


class LiveReport:
    """A store and its report, whose data files are in a temporary folder until `close`.

    Args:
        store: The store.
        report: Its report.
    """

    def __init__(self, store: ConversationStore, report: Report) -> None:
        self._store = store
        self._temporary = tempfile.TemporaryDirectory(prefix="turnlens-explorer-")
        self._changing = threading.Lock()  # one edit at a time
        self._before: list[tuple[Kind, GroupModel]] = []  # the groups before each edit
        self.folder = Path(self._temporary.name)
        self._show(report)

    def close(self) -> None:
        """Remove the data files, and write the overview if groups were changed."""
        if self._before:
            write_summary(Path(self._store.path), self.report)
        self._temporary.cleanup()

    def search(self, query: str, mode: SearchMode, limit: int) -> list[dict[str, Any]]:
        """Find messages similar to a text, as rows of the report, without those added to the store after it."""
        hits = [(self._row_of(hit), hit.score) for hit in self._store.search_messages(query, mode=mode, limit=limit)]
        return [{"message": row, "score": score} for row, score in hits if row >= 0]

    def next_replies(self, conversation: int, turn: int, limit: int) -> list[dict[str, Any]]:
        """Find messages of other conversations that could follow a turn.

        Args:
            conversation: Its row in the report.
            turn: The last turn so far, from 0.
            limit: The most to return.

        Raises:
            ValueError: There is no such turn.
        """
        report = self.report
        if not 0 <= conversation < len(report.ids) or not 0 <= turn < report.conversations["turns"][conversation]:
            raise ValueError(f"the report has no turn {turn} of a conversation {conversation}")
        first = int(report.conversations["first"][conversation])
        messages = [
            {"role": report.roles[report.messages["role"][row]], "content": report.texts[row]}
            for row in range(first, first + turn + 1)
        ]
        others = SQL(f"NOT ({ids_among([report.ids[conversation]])})")
        hits = self._store.next_replies(messages, limit=limit, where=others)
        return [{"message": self._row_of(hit), "score": hit.score, "role": hit.role, "text": hit.text} for hit in hits]

    def edit(self, action: Action, kind: Kind, ids: Sequence[int], name: str | None) -> list[int]:
        """Rename, merge, split or move groups, or undo the last of these, and make the report again.

        Returns:
            The ids of the groups that replace the changed ones.

        Raises:
            ValueError: There is no such group, or the action does not fit; see `turnlens.report.group_edits`.
        """
        with self._changing:
            path = Path(self._store.path)
            changed = list(ids[:1])
            before = read_models(path).get(kind)
            if action == "undo":
                if not self._before:
                    raise ValueError("nothing has been changed since the explorer was started")
                edits.restore(path, *self._before.pop())
                changed = []
            elif action == "merge":
                edits.merge(path, kind, ids, name)
            elif len(ids) != 1:
                raise ValueError(f"expected one group to {action}, got {len(ids)}")
            elif action == "rename":
                edits.rename(path, kind, ids[0], name or "")
            elif action in ("aside", "request"):
                edits.move(path, kind, ids[0], action == "aside")
            else:
                changed = edits.split(path, kind, ids[0])
            if before is not None and action != "undo":
                self._before = [*self._before, (kind, replace(before, basis=None))][-_MOST_UNDONE:]
            settings = self.report.settings
            self._show(build_report(self._store, seed=settings.seed, settings=settings, former=self.report))
        return changed

    def _show(self, report: Report) -> None:
        write_report(report, self.folder)
        self.report = report
        self._rows = {id: row for row, id in enumerate(report.ids)}

    def _row_of(self, hit: MessageHit) -> int:
        """Return the row of a message in the report; -1 if it was added to the store after the report was made."""
        row = self._rows.get(hit.conversation, -1)
        known = row >= 0 and hit.turn < self.report.conversations["turns"][row]
        return int(self.report.conversations["first"][row]) + hit.turn if known else -1
