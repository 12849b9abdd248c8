"""Taking something out of a store for others: a sample with examples of each request, and the requests as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from turnlens._utils.vectors import IntArray
from turnlens.groups.sample import keys_of
from turnlens.report.report import Report
from turnlens.report.tables import groups_table, label_column
from turnlens.store.exported import GROUP, GROUP_NAME, REQUEST_TURN, SAMPLED_AS


def requests_table(report: Report, conversations: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The request of each conversation with its group, as `groups_table` has messages.

    Args:
        report: The report.
        conversations: Those of its store. Where the request's message has a ``trace``, so has the table.
    """
    rows = np.sort(request_rows(report))
    is_request = np.zeros(len(report.texts), bool)
    is_request[rows] = True
    table = groups_table(report, "message", is_request)
    turns = dict(zip(report.ids, report.messages["turn"][rows].tolist()))
    traces = {row["id"]: _message(row, turns.get(row["id"], -1)).get("trace") for row in conversations}
    if any(traces.values()):
        column = pa.array([traces.get(id) for id in table["id"].to_pylist()], pa.string())
        names = [name for name in table.column_names if name != "trace"]
        table = table.select(names).add_column(2, "trace", column)
    return table


def sampled(
    report: Report, conversations: Iterable[dict[str, Any]], failed: Iterable[str], count: int, seed: int
) -> Iterator[dict[str, Any]]:
    """A sample of conversations, each with the group and the turn of its request and with what it is an example of.

    Args:
        report: The report, with surprise where it could be measured.
        conversations: Those of its store.
        failed: The ids of those in which something failed.
        count: How many conversations to take of each request, of those at the edges of requests, of the most
            surprising, and of those that failed. One may be taken for several reasons.
        seed: Seed of what is taken of each request and of what failed.
    """
    rows = request_rows(report)
    names = {group.id: group.name for group in report.groups["message"]}
    examples = _examples(report, rows, np.isin(list(report.ids), [*failed]), count, seed)
    places = {report.ids[place]: place for place in examples}
    for conversation in conversations:
        place = places.get(conversation["id"])
        if place is None:
            continue
        row = int(rows[place])
        group = int(report.messages["group"][row])
        told = {SAMPLED_AS: examples[place], REQUEST_TURN: int(report.messages["turn"][row])}
        told |= {GROUP: group, GROUP_NAME: names[group]} if group in names else {}
        yield {**conversation, **{label_column(name, conversation): value for name, value in told.items()}}


def request_rows(report: Report) -> IntArray:
    """The message that is the request of each conversation (m,); where none is, the asker's first, else the first."""
    columns = report.messages
    asked = np.asarray([role == report.speakers.asker for role in report.roles], bool)[columns["role"]]
    rank = np.where(columns["request"], 0, np.where(asked, 1, 2))
    order = np.lexsort((np.arange(len(rank)), rank, columns["conversation"]))
    return order[np.unique(columns["conversation"][order], return_index=True)[1]]


def has_failed(conversation: Mapping[str, Any]) -> bool:
    """Whether a conversation or a message has an ``error``, or feedback that is ``negative``."""
    fields = chain.from_iterable(place.items() for place in (conversation, *conversation["messages"]))
    return any(
        (name == "error" and bool(value)) or (name.startswith("feedback") and value == "negative")
        for name, value in fields
    )


def _examples(report: Report, rows: IntArray, failed: np.ndarray, count: int, seed: int) -> dict[int, list[str]]:
    """The request that each conversation taken is an example of, by its place."""
    taken: dict[int, list[str]] = {}

    def take(reason: str, places: Iterable[int]) -> None:
        for place in list(dict.fromkeys(places))[:count]:
            taken.setdefault(int(place), []).append(reason)

    by_chance = np.argsort(keys_of(report.ids, seed), kind="stable")
    groups = report.messages["group"][rows]
    for group in np.unique(groups):
        take("request" if group >= 0 else "no request", by_chance[groups[by_chance] == group].tolist())
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    edges = [
        [place_of[row] for row in group.edge if row in place_of] for group in report.groups["message"] if group.level
    ]
    take("edge", [place for turn in zip_longest(*edges) for place in turn if place is not None])
    surprise = report.conversations.get("surprise")
    if surprise is not None:
        most = np.argsort(-surprise, kind="stable")  # those that are not known are the last
        take("surprising", most[: int((~np.isnan(surprise)).sum())].tolist())
    take("failed", by_chance[failed[by_chance]].tolist())
    return taken


def _message(conversation: Mapping[str, Any], turn: int) -> Mapping[str, Any]:
    messages = conversation["messages"]
    return messages[turn] if 0 <= turn < len(messages) else {}
