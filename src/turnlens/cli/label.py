"""The command `turnlens label`: the groups of some conversations, applied to others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnlens._compat import leave_out_pandas
from turnlens._utils.files import only_writer
from turnlens._utils.progress import note
from turnlens.cli.options import GROUP_TABLE, Data, Force, Seed, StoreModel
from turnlens.cli.reading import Reading, reads_conversations
from turnlens.cli.terminal import quiet_transformers, use_one_thread


@reads_conversations
def label(
    data: Data,
    groups: Annotated[
        Path,
        typer.Option(
            "--groups", help="Folder of the store that has the groups, or a groups.safetensors from such a folder."
        ),
    ],
    output: Annotated[Path, GROUP_TABLE],
    reading: Reading,
    model: StoreModel = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Give messages the groups that `turnlens cluster` or `turnlens explore` has found in other conversations.

    The columns are id, turn, role, text, group, group_name, coarse_group, coarse_group_name and confidence: the
    probability that the message belongs to the group that is most like it. If it is below 0.5, the message belongs to
    none of these, and its group is empty.

    Example: `turnlens label new.jsonl --groups chats.store --output labels.parquet`
    """
    from turnlens.report.tables import check_table, write_table

    check_table(output, force)
    reading.check(data, output)
    quiet_transformers()
    leave_out_pandas()
    use_one_thread()
    from turnlens.report import label as label_messages

    with only_writer(output):
        table = label_messages(reading.rows(data), groups=groups, encoder=model, seed=seed)
        write_table(table, output)
    none = table["group"].null_count / len(table)
    note(f"Wrote the groups of {len(table):,} messages to {output}; {100 * none:.1f} % belong to none of these")
