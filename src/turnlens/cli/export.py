"""The commands `turnlens export`, a store for other tools, and `turnlens convert`, files as chat JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnlens._utils.files import atomic_path, only_writer
from turnlens._utils.progress import console, note
from turnlens.cli.options import Output, Reading, reads_conversations
from turnlens.cli.store import opened_store


def export(
    store: str,
    output: Output,
    sample: Annotated[int | None, typer.Option(min=1)] = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Write the conversations of a store as chat JSONL: all of them, or a sample for evaluations and annotators.

    As a table, the request of each conversation is written with its group, its id and that of its trace, so that groups
    can be tags in the tool that the conversations are from.

    Example: `turnlens export talks --sample 5 --output examples.jsonl`

    Options:
        output: A .jsonl or .jsonl.gz file of conversations (- for the standard output); or a .csv, .xlsx or .parquet
            file of their requests.
        sample: Take only this many conversations of each request, at the edges of requests, of the most surprising, and
            of those that failed (an error, or negative feedback).
    """
    from turnlens.data.conversation_files import check_chat_file, write_chats

    if output.suffix.lower() in (".csv", ".parquet", ".xlsx"):
        _write_requests(store, output, sample, force)
        return
    target = check_chat_file(output, force)
    opened = opened_store(store, read_only=sample is None)
    rows = opened.export()
    if sample is not None:
        from turnlens.report import build_report
        from turnlens.report.tables import has_failed, sampled

        failed = [row["id"] for row in opened.export() if has_failed(row)]
        rows = sampled(build_report(opened, page=True), rows, failed, sample, seed)
    with only_writer(target), atomic_path(target) as temporary:
        count = write_chats(rows, temporary)
    console.print(f"Wrote {count:,} conversations to {output}")


def _write_requests(store: str, output: Path, sample: int | None, force: bool) -> None:
    from turnlens.report import build_report
    from turnlens.report.tables import check_table, requests_table, write_table

    if sample is not None:
        raise ValueError(f"--sample takes conversations, and {output} is for a table: name a .jsonl file")
    check_table(output, force)
    opened = opened_store(store)
    table = requests_table(build_report(opened, page=False), opened.export())
    with only_writer(output):
        write_table(table, output)
    note(f"Wrote the requests of {len(table):,} conversations to {output}")


@reads_conversations
def convert(
    sources: list[Path], output: Output, split: str | None = None, force: bool = False, *, reading: Reading
) -> None:
    """Convert conversations from any known format to chat JSONL.

    Example: `turnlens convert dialogues_*.json --format sgd --output chats.jsonl.gz`

    Options:
        sources: Files, folders or globs of conversations; - means the standard input.
        output: The .jsonl or .jsonl.gz file to write; - means the standard output.
        split: Use only conversations with this value of the label `split`, such as test.
    """
    from turnlens.data.conversations import convert_conversations

    count = convert_conversations(sources, output=output, force=force, split=split, **reading.arguments)
    note(f"Wrote {count:,} conversations to {output}")
