"""Conversations about one subject each, whose texts all differ."""

from __future__ import annotations

from typing import Any

from turnlens.report import GroupSettings, Report

SUBJECTS = ("card", "flight", "pizza")
SETTINGS = GroupSettings(neighbours=8)


def talks(count: int, subjects: tuple[str, ...] = SUBJECTS, start: int = 0) -> list[dict[str, Any]]:
    rows = []
    for number in range(start, start + count):
        subject = subjects[number % len(subjects)]
        texts = [f"{subject} {subject} {subject} {number} {turn}" for turn in range(4)]
        messages = [{"role": ("user", "bot")[turn % 2], "content": text} for turn, text in enumerate(texts)]
        messages[0] |= {"time": 1_700_000_000 + number, "intent": subject, "mood": None}
        rows.append({"id": f"talk-{number}", "messages": messages, "subject": subject, "tags": ["b", "a"], "n": number})
    return rows


def fine(report: Report, kind: str = "message") -> list[Any]:
    return [group for group in report.groups[kind] if group.level == 1]
