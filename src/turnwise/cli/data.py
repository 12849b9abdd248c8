"""The command that converts conversations, `turnwise convert`, and how all commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turnwise._utils.progress import console
from turnwise.cli.options import ChatFile, Data, Force, Format, SkipBadRows

if TYPE_CHECKING:
    from datasets import Dataset


def convert(
    sources: Data,
    output: ChatFile,
    format: Format = "auto",
    skip_bad_rows: SkipBadRows = False,
    force: Force = False,
) -> None:
    """Convert conversations from any known format to chat JSONL.

    Example: `turnwise convert dialogues_*.json --format sgd --out chats.jsonl.gz`
    """
    from turnwise.data.conversations import convert_conversations

    count = convert_conversations(sources, output, format, _on_error(skip_bad_rows), force)
    console.print(f"Wrote {count:,} conversations to {output}")


def read_data(
    data: list[Path], format: str = "auto", skip_bad_rows: bool = False, output: Path | None = None
) -> Dataset:
    """The conversations of a command's arguments; its output must not be among them."""
    from turnwise.data.conversations import read_conversations
    from turnwise.data.reading.files import check_apart

    if output is not None:
        check_apart(output, data)
    return read_conversations(data, format, _on_error(skip_bad_rows))


def _on_error(skip_bad_rows: bool) -> Literal["raise", "skip"]:
    return "skip" if skip_bad_rows else "raise"
