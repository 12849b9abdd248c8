"""The command that converts conversations: `turnlens convert`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import ChatFile, Data, Force
from turnlens.cli.reading import Reading, reads_conversations


@reads_conversations
def convert(
    sources: Data,
    output: ChatFile,
    split: Annotated[
        str | None, typer.Option(help="Use only conversations with this value of the label `split`, such as test.")
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Convert conversations from any known format to chat JSONL.

    Example: `turnlens convert dialogues_*.json --format sgd --out chats.jsonl.gz`
    """
    from turnlens.data.conversations import convert_conversations

    count = convert_conversations(sources, output=output, force=force, split=split, **reading.arguments)
    note(f"Wrote {count:,} conversations to {output}")
