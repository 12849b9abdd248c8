"""The result of a training, and whether it helped: `ConversationEncoder.training_report`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

TITLES = {
    "next_message": "next message among those of other conversations, MRR",
    "in_context": "ten nearest messages, alone as in context, %",
    "stability": "groups of halves of the messages agree, adjusted, %",
}
_COLUMNS = ("before", "after", "difference")


@dataclass(frozen=True, repr=False)
class TrainingReport:
    """The record of a training, which is also in ``training.json``; shown as its table, in notebooks as HTML.

    Attributes:
        record: How many conversations were kept and left out, steps, losses, and figures on held-out conversations.

    Examples:
        >>> figures = {"stability": {"before": 40.0, "before_interval": [38, 42], "after": 44.0,
        ...     "after_interval": [42, 46], "difference": 4.0, "difference_interval": [2, 6]}}
        >>> report = TrainingReport({"held_out": {"conversations": 100, "figures": figures}})
        >>> report.before_after["stability"]["difference"]
        4.0
        >>> print(report.title)
        On 100 conversations held out from training, in percent, with 95 % intervals:
    """

    record: Mapping[str, Any]

    @property
    def before_after(self) -> dict[str, dict[str, Any]]:
        """The figures on held-out conversations in percent, each before, after and their difference, with intervals.

        Empty for methods that hold nothing out.
        """
        return dict(self.record.get("held_out", {}).get("figures", {}))

    @property
    def title(self) -> str:
        """The contents of the table; without a table, that there is none."""
        if not self.before_after:
            return "Nothing was held out from this training; turnlens.evaluate measures the encoder."
        conversations = self.record["held_out"]["conversations"]
        return f"On {conversations:,} conversations held out from training, in percent, with 95 % intervals:"

    def rows(self) -> list[list[str]]:
        """Return the cells of the table."""
        return [
            [TITLES[name], *(f"{figure[column]:.1f} ({_interval(figure, column)})" for column in _COLUMNS)]
            for name, figure in self.before_after.items()
        ]

    def __str__(self) -> str:
        if not self.before_after:
            return self.title
        lines = [["", *_COLUMNS], ["---"] * 4, *self.rows()]
        table = [f"| {' | '.join(cells)} |".replace("|  |", "| |").replace(" --- ", "---") for cells in lines]
        return "\n".join([self.title, "", *table])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
            for tag, cells in [("th", ["", *_COLUMNS]), *(("td", row) for row in self.rows())]
        ]
        table = f"<table>{''.join(lines)}</table>" if self.before_after else ""
        return f"<p>{escape(self.title)}</p>{table}"


def _interval(figure: Mapping[str, Any], column: str) -> str:
    low, high = figure[f"{column}_interval"]
    return f"{low:.1f} – {high:.1f}"
