"""The commands of groups: `turnlens cluster`, a table of them, `turnlens label`, and `turnlens groups ask`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from turnlens._compat import leave_out_pandas
from turnlens._utils.files import is_standard, only_writer
from turnlens._utils.progress import console, note, show
from turnlens.cli.explore import Grouping, absent_label, explored_store, labels_of, makes_groups, say_who_asks
from turnlens.cli.options import (
    Compared,
    ExploredStore,
    GivenData,
    OptionalOutput,
    Output,
    OwnLabel,
    Reading,
    StoreModel,
    reads_conversations,
)
from turnlens.cli.store import opened_store
from turnlens.cli.terminal import Application, Commands, use_one_thread

if TYPE_CHECKING:
    import pyarrow as pa

    from turnlens._utils.vectors import BoolArray
    from turnlens.groups.naming_endpoint import Endpoint
    from turnlens.report import Groups
    from turnlens.report.group_questions import Side
    from turnlens.report.report import Group


_SHOWN = 15
Show = Callable[[str], None]


@reads_conversations
@makes_groups
def cluster(
    reading: Reading,
    grouping: Grouping,
    data: GivenData = None,
    output: OptionalOutput = None,
    store: ExploredStore = None,
    level: Literal["message", "conversation"] = "message",
    summary: Path | None = None,
    period: Compared = None,
    model: StoreModel = None,
    sample: Annotated[int, typer.Option(min=2)] = 20_000,
    seed: int = 0,
    name_endpoint: str | None = None,
    name_model: str | None = None,
    own_label: OwnLabel = None,
    force: bool = False,
) -> None:
    """Find and name groups of messages (what people ask and answer) and groups of conversations (topics).

    Prints the groups, and writes a row for each message or conversation to --output. For messages, its columns are id,
    turn, role, text, time, group, group_name, coarse_group, coarse_group_name and the labels. A coarse group is made of
    similar groups. For conversations, id, turns and time come first, and the columns from group on are the same. A row
    that fits no group has an empty group. The data is put into a store first, which also keeps the groups, so that
    groups keep their names when more data arrives.

    Example: `turnlens cluster chats.jsonl --output groups.parquet`

    Options:
        output: The .parquet, .csv, .xlsx or .jsonl file to write; - writes JSON lines to the standard output.
        level: Write a row for each message, or for each conversation.
        summary: Also write a list of the groups to a .parquet, .csv, .xlsx or .jsonl file: what people ask, in how many
            conversations, how it grows, medians of ratings and other numbers, categories, examples.
        sample: Fit groups to at most this many messages or conversations; all others are assigned to them.
        name_endpoint: Let an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1, name new groups. It receives
            ten texts of each group. Its key is read from TURNLENS_NAMING_KEY.
        name_model: The name of the model at that endpoint.
    """
    from turnlens.report.tables import check_table, write_table

    for file in (output, summary):
        if file is not None:
            check_table(file, force)
    if summary is not None and level == "conversation":
        raise ValueError("--summary lists groups of messages: leave out --level conversation")
    endpoint = _endpoint(name_endpoint, name_model)
    if data is None:
        leave_out_pandas()
    from turnlens.report import cluster as find_groups

    chosen = grouping.arguments
    opened = explored_store(data, store, reading, model, "cluster", own_label)
    groups = find_groups(opened, level=level, sample=sample, seed=seed, naming=endpoint, **chosen)
    if output is not None:
        with only_writer(output):
            table = groups.to_arrow()
            write_table(table, output)
    if summary is not None:
        with only_writer(summary):
            write_table(groups.summary(period), summary)
    show_result = partial(show, apart=output is not None and is_standard(output))
    _print(groups, show_result)
    say_who_asks(groups.report)
    if own_label is not None:
        _compare_with_labels(groups, own_label, show_result)
    if output is not None:
        note(f"Wrote the groups of {len(table):,} {level}s to {output}")
    if summary is not None:
        note(f"Wrote a list of the groups to {summary}")


def _endpoint(url: str | None, model: str | None) -> Endpoint | None:
    from turnlens.groups.naming_endpoint import Endpoint

    if (url is None) != (model is None):
        raise ValueError("--name-endpoint and --name-model belong together")
    return None if url is None else Endpoint(url, str(model), os.environ.get("TURNLENS_NAMING_KEY"))


def _print(groups: Groups, show: Show) -> None:
    """Print the largest groups of each role with their shares of conversations, requests first."""
    if groups.level == "conversation":
        _print_part([(group.share, group) for group in groups.groups], show)
        show(f"{100 * groups.outliers:5.1f} %  in no group")
        return
    rows = groups.summary().to_pylist()
    named = {group.id: group for group in groups.groups}
    parts = dict.fromkeys((row["kind"], row["role"]) for row in rows)
    show("Shares are of the conversations in which the role speaks")
    for kind, role in parts:
        own = [row for row in rows if (row["kind"], row["role"]) == (kind, role)]
        if kind == "no request":
            show(f"{100 * own[0]['share']:5.1f} %  of {role}'s conversations in no group of requests")
            continue
        if len(parts) > 1:
            show(f"{role or 'several roles'}, {kind}:")
        _print_part([(row["share"], named[row["group"]]) for row in own], show)
    if all(kind != "no request" for kind, _ in parts):
        show(f"{100 * groups.outliers:5.1f} %  of messages in no group")


def _print_part(groups: Sequence[tuple[float, Group]], show: Show) -> None:
    for share, group in groups[:_SHOWN]:
        further = [phrase for phrase in group.phrases if phrase not in group.name.split(" · ")]
        keywords = f" – {', '.join(further[:3])}" if further else ""
        show(f"{100 * share:5.1f} %  {group.name}{' (new)' if group.new else ''}{keywords}")
    if len(groups) > _SHOWN:
        show(f"         and {len(groups) - _SHOWN} more")


@reads_conversations
def label(
    data: list[Path],
    groups: Annotated[Path, typer.Option("--groups")],
    output: Output,
    reading: Reading,
    model: StoreModel = None,
    seed: int = 0,
    own_label: OwnLabel = None,
    force: bool = False,
) -> None:
    """Give messages the groups that `turnlens cluster` or `turnlens explore` has found in other conversations.

    The columns are id, turn, role, text, group, group_name, coarse_group, coarse_group_name and confidence: the
    probability that the message belongs to the group that is most like it. If it is below 0.5, the message belongs to
    none of these, and its group is empty.

    Example: `turnlens label new.jsonl --groups chats.store --output labels.parquet`

    Options:
        groups: Folder of the store that has the groups, or a groups.safetensors from such a folder.
        output: The .parquet, .csv, .xlsx or .jsonl file to write; - writes JSON lines to the standard output.
    """
    from turnlens.report.tables import check_table, write_table

    check_table(output, force)
    reading.check(data, output)
    leave_out_pandas()
    use_one_thread()
    from turnlens.report import label as label_messages

    # with a label, all is read before anything is embedded, which tells what labels there are
    conversations: Any = reading.rows(data) if own_label is None else reading.read(data)
    if own_label is not None and own_label not in (names := labels_of(conversations)):
        raise absent_label(own_label, names)
    with only_writer(output):
        table = label_messages(iter(conversations), groups=groups, encoder=model, seed=seed)
        write_table(table, output)
    with_text = [id for id, text in zip(table["group"].to_pylist(), table["text"].to_pylist()) if text.strip()]
    none = 100 * with_text.count(None) / max(len(with_text), 1)
    note(f"Wrote the groups of {len(table):,} messages to {output}; {none:.1f} % of all texts belong to none of these")
    if own_label is not None:
        from turnlens.evaluation.clustering_metrics import labelled, labelled_conversations

        values = [message.get(own_label) for row in conversations for message in row["messages"]]
        if not (rows := labelled(values)):
            values = [row.get(own_label) for row in conversations for _ in row["messages"]]
            rows = labelled_conversations(table, values)
        _print_agreement(table, values, rows, own_label, names, partial(show, apart=is_standard(output)))


def _compare_with_labels(groups: Groups, label: str, show: Show) -> None:
    from turnlens.evaluation.clustering_metrics import labelled, labelled_conversations
    from turnlens.report.tables import label_column
    from turnlens.report.unhappiness import UNHAPPY

    table, report = groups.to_arrow(), groups.report
    start = table.column_names.index("coarse_group_name") + 1
    own = [name for name in table.column_names[start:] if name != UNHAPPY]
    column = label_column(label, table.column_names[:start])
    values = table[column].to_pylist() if column in own else [None] * len(table)

    def places(those: BoolArray) -> set[tuple[str, int]]:
        conversations, turns = (report.messages[name][those].tolist() for name in ("conversation", "turn"))
        return {(report.ids[place], turn) for place, turn in zip(conversations, turns)}

    if groups.level == "conversation":
        rows = labelled(values)
    elif label in report.message_labels:  # not those of messages that only have it from their conversation
        own_places = places(report.message_labels[label].codes >= 0)
        of_rows = zip(table["id"].to_pylist(), table["turn"].to_pylist())
        rows = [row for row, place in enumerate(of_rows) if place in own_places]
    else:
        rows = labelled_conversations(table, values, places(report.messages["request"]))
    _print_agreement(table, values, rows, label, own, show)


def _print_agreement(
    table: pa.Table, labels: list[Any], rows: Sequence[int], label: str, names: Collection[str], show: Show
) -> None:
    """Print how far the groups of some rows of a table agree with a label."""
    from turnlens.evaluation.clustering_metrics import label_agreement

    if not rows:
        raise absent_label(label, names)
    chosen = table.take(rows)
    confidence = chosen["confidence"].to_numpy() if "confidence" in table.column_names else None
    figures = label_agreement(chosen["group_name"].to_pylist(), [str(labels[row]) for row in rows], confidence)
    show(
        f"Of {figures['items']:,} with one of {figures['labels']:,} values of {label}, "
        f"groups tell {100 * figures['accuracy']:.1f} % right (F1, mean over the values: {100 * figures['f1']:.1f} %). "
        "A group stands for the value that has its name, or else for the one that most of its others have."
    )
    if shares := figures.get("calibration"):
        told = ", ".join(f"{100 * right:.0f} % at {100 * sure:.0f} %" for sure, right in shares)
        show(f"Calibration, of those in a group: right {told} confidence.")


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
