"""The command that converts conversations, `turnwise convert`, and how all commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turnwise._utils.progress import console
from turnwise.cli.options import ChatFile, Data, Force, Format, SkipBadRows, Split

if TYPE_CHECKING:
    from datasets import Dataset


def convert(
    sources: Data,
    output: ChatFile,
    format: Format = "auto",
    skip_bad_rows: SkipBadRows = False,
    split: Split = None,
    force: Force = False,
) -> None:
    """Convert conversations from any known format to chat JSONL.

    Example: `turnwise convert dialogues_*.json --format sgd --out chats.jsonl.gz`
    """
    from turnwise.data.conversations import convert_conversations

    count = convert_conversations(sources, output, format, _on_error(skip_bad_rows), force, split)
    console.print(f"Wrote {count:,} conversations to {output}")


def read_data(data: list[Path], format: str = "auto", skip_bad_rows: bool = False) -> Dataset:
    """The conversations of a command's arguments."""
    from turnwise.data.conversations import read_conversations

    return read_conversations(data, format, _on_error(skip_bad_rows))


def _on_error(skip_bad_rows: bool) -> Literal["raise", "skip"]:
    return "skip" if skip_bad_rows else "raise"
