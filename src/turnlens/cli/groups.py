"""The command `turnlens groups ask`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens._utils.progress import console, note
from turnlens.cli.explore import Grouping, makes_groups
from turnlens.cli.store import opened_store
from turnlens.cli.terminal import Application, Commands

if TYPE_CHECKING:
    from turnlens.report.group_questions import Side

_QUESTIONS = 10
_ANSWERS = {"y": True, "n": False, "s": None}

groups = Application(cls=Commands, help="Correct the groups of a store.", no_args_is_help=True)


@groups.command()
@makes_groups
def ask(grouping: Grouping, store: str, seed: int = 0) -> None:
    """Ask ten times whether two groups of requests are the same; the answers choose how many groups there are.

    Answer y (yes), n (no), s (skip) or q (quit), on the terminal or in the lines of the standard input. Each answer is
    kept in the store at once: what is the same stays together, and what is not stays apart, also when data is added.
    Give the options that the groups were made with.

    Example: `turnlens groups ask talks`
    """
    from turnlens.report import GroupSettings, build_report
    from turnlens.report.group_questions import ask_about_groups

    chosen = grouping.arguments
    known, settings = chosen.pop("seeds"), GroupSettings(**chosen)
    opened = opened_store(store)
    report = build_report(opened, seed=seed, settings=settings, seeds=known, page=False)
    before, now = ask_about_groups(Path(opened.path), report, _QUESTIONS, _answer)
    console.print(f"{store}: {before:,} groups of requests before, {now:,} now", soft_wrap=True)


def _answer(number: int, *sides: Side) -> bool | None:
    """Print a question, and return the answer that is read, on a terminal from the first line that is one."""
    console.print(f"{number} of {_QUESTIONS}: are these two the same request?")
    for letter, side in zip("AB", sides):
        console.print(f"  {letter}: {' + '.join(side.names)} ({side.size:,} texts)", soft_wrap=True)
        for text in side.examples:
            console.print(f"     – {' '.join(text.split())[:200]}", soft_wrap=True)
    while True:
        note("y (yes), n (no), s (skip) or q (quit)?")
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if answer in _ANSWERS:
            return _ANSWERS[answer]
        if not line or answer == "q":
            raise EOFError
        if not sys.stdin.isatty():
            raise ValueError(
                f"answer {number} of the standard input: expected y, n, s or q, got {answer!r:.80}; "
                "those before it are kept"
            )
