"""The commands `turnlens cluster`, the groups of messages and conversations as a table, and `turnlens label`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnlens._compat import leave_out_pandas
from turnlens._utils.files import only_writer
from turnlens._utils.progress import note
from turnlens.cli.explore import Compared, Grouping, explored_store, makes_groups, say_who_asks
from turnlens.cli.options import GROUP_TABLE, Data, ExploredStore, Force, GivenData, Seed, StoreModel
from turnlens.cli.reading_options import Reading, reads_conversations
from turnlens.cli.terminal import quiet_transformers, use_one_thread

if TYPE_CHECKING:
    from turnlens.groups.naming_endpoint import Endpoint
    from turnlens.report import Groups


_SHOWN = 15
_KEY = "TURNLENS_NAMING_KEY"


@reads_conversations
@makes_groups
def cluster(
    reading: Reading,
    grouping: Grouping,
    data: GivenData = None,
    output: Annotated[Path | None, GROUP_TABLE] = None,
    store: ExploredStore = None,
    level: Annotated[
        Literal["message", "conversation"], typer.Option(help="Write a row for each message, or for each conversation.")
    ] = "message",
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            help="Also write a list of the groups to a .parquet, .csv, .xlsx or .jsonl file: what people ask, in how "
            "many conversations, how it grows, means of ratings and other numbers, categories, examples.",
        ),
    ] = None,
    period: Compared = "half",
    model: StoreModel = None,
    sample: Annotated[
        int,
        typer.Option(
            min=2, help="Fit groups to at most this many messages or conversations; all others are assigned to them."
        ),
    ] = 20_000,
    seed: Seed = 0,
    name_endpoint: Annotated[
        str | None,
        typer.Option(
            help="Let an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1, name new groups. It receives "
            "ten texts of each group. Its key is read from TURNLENS_NAMING_KEY."
        ),
    ] = None,
    name_model: Annotated[str | None, typer.Option(help="The name of the model at that endpoint.")] = None,
    force: Force = False,
) -> None:
    """Find and name groups of messages (what people ask and answer) and groups of conversations (topics).

    Prints the groups, and writes a row for each message or conversation to --output. For messages, its columns are id,
    turn, role, text, time, group, group_name, coarse_group, coarse_group_name and the labels. A coarse group is made of
    similar groups. For conversations, id, turns and time come first, and the columns from group on are the same. A row
    that fits no group has an empty group. The data is put into a store first, which also keeps the groups, so that
    groups keep their names when more data arrives.

    Example: `turnlens cluster chats.jsonl --output groups.parquet`
    """
    from turnlens.report.tables import check_table, write_table

    for file in (output, summary):
        if file is not None:
            check_table(file, force)
    if summary is not None and level == "conversation":
        raise ValueError("--summary lists groups of messages: leave out --level conversation")
    endpoint = _endpoint(name_endpoint, name_model)
    quiet_transformers()
    if data is None:
        leave_out_pandas()
    from turnlens.report import cluster as find_groups

    chosen = grouping.arguments
    opened = explored_store(data, store, reading, model, "cluster")
    groups = find_groups(opened, level=level, sample=sample, seed=seed, naming=endpoint, **chosen)
    if output is not None:
        with only_writer(output):
            table = groups.to_arrow()
            write_table(table, output)
    if summary is not None:
        with only_writer(summary):
            write_table(groups.summary(period), summary)
    _print(groups)
    say_who_asks(groups.report)
    if output is not None:
        note(f"Wrote the groups of {len(table):,} {level}s to {output}")
    if summary is not None:
        note(f"Wrote a list of the groups to {summary}")


def _endpoint(url: str | None, model: str | None) -> Endpoint | None:
    from turnlens.groups.naming_endpoint import Endpoint

    if (url is None) != (model is None):
        raise ValueError("--name-endpoint and --name-model belong together")
    return None if url is None else Endpoint(url, str(model), os.environ.get(_KEY))


def _print(groups: Groups) -> None:
    """Print the largest groups of each role, of the one who asks first."""
    asker = groups.report.speakers.asker
    parts = dict.fromkeys((group.role, group.opening) for group in groups.groups)
    for role, opening in sorted(parts, key=lambda part: (part[0] != asker, not part[1])):
        of_part = [group for group in groups.groups if (group.role, group.opening) == (role, opening)]
        if len(parts) > 1:
            note(f"{role or 'several roles'}{', requests' if opening else ''}:")
        for group in of_part[:_SHOWN]:
            further = [phrase for phrase in group.phrases if phrase not in group.name.split(" · ")]
            keywords = f" – {', '.join(further[:3])}" if further else ""
            note(f"{100 * group.share:5.1f} %  {group.name}{' (new)' if group.new else ''}{keywords}")
        if len(of_part) > _SHOWN:
            note(f"         and {len(of_part) - _SHOWN} more")
    note(f"{100 * groups.outliers:5.1f} %  in no group")


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
