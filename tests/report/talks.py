"""Conversations about one subject each, whose texts all differ."""

from collections.abc import Iterable, Sequence
from typing import Any

from turnlens.report import GroupSettings, Report

SUBJECTS = ("card", "flight", "pizza")
SETTINGS = GroupSettings()


def chats(said: Iterable[Sequence[str]], roles: tuple[str, ...] = ("user", "agent")) -> list[dict[str, Any]]:
    """Conversations of these texts, whose roles take turns."""
    return [
        {
            "id": str(number),
            "messages": [{"role": roles[turn % len(roles)], "content": text} for turn, text in enumerate(texts)],
        }
        for number, texts in enumerate(said)
    ]


def talks(count: int, subjects: tuple[str, ...] = SUBJECTS, start: int = 0) -> list[dict[str, Any]]:
    about = {number: subjects[number % len(subjects)] for number in range(start, start + count)}
    said = [[f"{subject} {subject} {subject} {n} {turn}" for turn in range(4)] for n, subject in about.items()]
    rows = chats(said, ("user", "bot"))
    for (number, subject), row in zip(about.items(), rows):
        row["messages"][0] |= {"time": 1_700_000_000 + number, "intent": subject, "mood": None}
        row |= {"id": f"talk-{number}", "subject": subject, "tags": ["b", "a"], "n": number}
    return rows


def fine(report: Report, kind: str = "message") -> list[Any]:
    return [group for group in report.groups[kind] if group.level == 1]
