"""Conversations out of calls to a language model, which each repeat the history.

A call is ``{"messages", …labels}`` with ``session``, ``trace`` and ``order`` (seconds), each perhaps None. Calls of one
session are one conversation, those of one trace always. A call without a session continues the only one whose history
and answer it repeats; where several end alike, nothing says which it continues, and it stays apart. One that failed is
part of the next that asks the same, if that comes soon.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any

from turnlens.formats.bad_input import OTHER_LAYOUT, BadRow, missing, parse_record
from turnlens.formats.columns import first_of
from turnlens.formats.message_layouts import parsed
from turnlens.formats.source_file import ROWS_OF_A_FILE, Source

Call = dict[str, Any]
Messages = list[dict[str, Any]]
# Fields summed over a session's calls.
SUMMED = ("calls", "branches", "errors", "input_tokens", "output_tokens", "cost", "latency")

# The calls of each session in order of time; sessions in the order of their first calls.
_BY_SESSION = """
create table traces as select trace, max(session) as session, min(number) as first from calls group by trace;
create table sessions as select coalesce(session, trace) as id, min(first) as first from traces group by id;
create table places as
    select trace, session, sessions.first from traces join sessions on id = coalesce(session, trace);
create unique index by_trace on places (trace);
"""
# A call that failed is part of the next that asks the same within ten minutes. Each that repeats the whole of only one
# other continues it: the longest such one.
_CONTINUED = """
create index by_whole on alone (whole);
create index by_asked on alone (asked, time, number);
create table parents (number integer primary key, parent integer, length integer);
insert into parents select number, retry, 0 from (
    select number, (
        select retry.number from alone retry where asked = failed.whole and retry.time <= failed.time + 600
            and (retry.time, retry.number) > (failed.time, failed.number) order by retry.time, retry.number limit 1
    ) as retry from alone failed where has_failed
) where retry is not null;
insert or ignore into parents
    select beginnings.number, only.number, max(beginnings.length) from beginnings
    join (select whole, min(number) as number from alone group by whole having count(*) = 1) only on whole = part
    group by beginnings.number;
create index by_parent on parents (parent);
"""
_CHAINS = """
with recursive chain (number, root) as (
    select number, number from alone where number not in (select number from parents)
    union all select parents.number, root from parents join chain on parent = chain.number
) select root, row from chain join alone using (number) order by root, time, number
"""


def each_call(
    source: Source, layout: str, calls_in: Callable[[dict[str, Any]], Iterable[Call]]
) -> Iterator[tuple[int, Call | BadRow]]:
    """The calls in each record of a file, numbered; of several files of one log, in each from its `ROWS_OF_A_FILE`."""
    number = 0
    for row, raw in source.records():
        number = max(number, row - row % ROWS_OF_A_FILE)
        source.tick()
        try:
            for call in calls_in(parse_record(raw)):
                number += 1
                yield number, call
        except OTHER_LAYOUT as problem:
            yield row, _bad(problem, layout)


def _bad(problem: Exception, layout: str) -> BadRow:
    return problem if isinstance(problem, BadRow) else BadRow(f"unexpected layout{missing(problem)}; expected {layout}")


def exchange(messages: Messages, answer: dict[str, Any] | None, time: str | None) -> Messages:
    """The messages of a request and its answer.

    Args:
        messages: Those of the request.
        answer: The answer, if there was one.
        time: When the call began, which becomes the time of what is new: the answer, and what follows the one before.
    """
    answered = [n for n, message in enumerate(messages, start=1) if message["role"] == "assistant"]
    old = answered[-1] if answered else 0
    new = [*messages[old:], *([answer] if answer is not None else [])]
    return messages[:old] + [
        {**message, "time": time} if time and "time" not in message else message for message in new
    ]


def conversations(
    calls: Iterable[tuple[int, Call | BadRow]], of_trace: Callable[[list[Call]], list[Call]] = list[Call]
) -> Iterator[tuple[int, Call | BadRow]]:
    """The conversations, numbered by their first calls, after the rows that are bad.

    Everything waits in a temporary file, so that memory does not grow with the number of calls.

    Args:
        calls: Numbered calls in any order.
        of_trace: From all that was recorded of a trace to its calls.
    """
    with closing(sqlite3.connect("")) as database:  # "" is a temporary file that SQLite removes
        database.execute("create table calls (trace text, session text, time real, number integer, row text)")
        for number, call in calls:
            if isinstance(call, BadRow):
                yield number, call
                continue
            trace, session, time = call.pop("trace"), call.pop("session"), call.pop("order")
            session = None if session is None else str(session)
            waiting = (str(trace or f"\0{number}"), session, time, number, json.dumps(call, default=str))
            database.execute("insert into calls values (?, ?, ?, ?, ?)", waiting)
        database.executescript(_BY_SESSION)
        database.execute(
            "create table alone (number integer primary key, whole text, asked text, has_failed, time real, row text)"
        )
        database.execute("create table beginnings (number integer, part text, length integer)")
        ordered = database.execute(
            "select first, places.session, trace, time, row from calls join places using (trace) "
            "order by first, time, number"
        )
        for (first, session), rows in groupby(ordered, lambda place: place[:2]):
            try:
                row, time = _conversation(_once(rows), of_trace)
            except OTHER_LAYOUT as problem:
                yield first, _bad(problem, "messages with a role and a content")
                continue
            if session is None:
                _keep(database, first, time, row)
            else:
                yield first, {**row, "id": session}
        database.executescript(_CONTINUED)
        for number, rows in groupby(database.execute(_CHAINS), itemgetter(0)):
            yield number, merged([json.loads(row) for _, row in rows])


def _once(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Drop records that were delivered twice: alike in everything, and with a time."""
    kept: dict[Any, tuple[Any, ...]] = {}
    for place in rows:
        _, _, trace, time, row = place
        kept.setdefault((trace if trace[0] != "\0" else None, time, row) if time else len(kept), place)
    return list(kept.values())


def _conversation(rows: list[tuple[Any, ...]], of_trace: Callable[[list[Call]], list[Call]]) -> tuple[Call, float]:
    """The conversation of a session, and when it began."""
    traces: dict[str, list[Call]] = {}
    for _, _, trace, _, row in rows:
        traces.setdefault(trace, []).append(json.loads(row))
    calls = []
    for trace, recorded in traces.items():
        for call in of_trace(recorded):
            if trace[0] != "\0" and trace != rows[0][1]:
                for message in call["messages"]:
                    message |= {"trace": trace} if message["role"] == "user" else {}
            calls.append(call)
    return merged(calls), rows[0][3]


def _keep(database: sqlite3.Connection, number: int, time: float, row: Call) -> None:
    """Store a conversation without a session under digests of its whole, its question and each answer it repeats."""
    digests: list[str | None] = [None, *beginnings(row["messages"], row.get("system") or "")]
    answers = [n for n, message in enumerate(row["messages"], start=1) if message["role"] == "assistant"]
    is_answered = len(digests) - 1 in answers
    repeated = [(number, digests[n], n) for n in answers if n < len(digests) - 1]
    database.executemany("insert into beginnings values (?, ?, ?)", repeated)
    has_failed = bool(row.get("errors")) and not is_answered
    asked = digests[-2] if is_answered else digests[-1]
    alone = (number, digests[-1], asked, has_failed, time, json.dumps(row))
    database.execute("insert into alone values (?, ?, ?, ?, ?, ?)", alone)


def beginnings(messages: Messages, system: str = "") -> list[str]:
    """A digest of each beginning of messages, the last of the whole, by which they are known where they are repeated.

    Raises:
        BadRow: As for `message_key`.
    """
    digest = blake2b(system.encode("utf-8", "replace"), digest_size=16)
    digests = []
    for message in messages:
        digest.update(message_key(message).encode("utf-8", "replace"))
        digests.append(digest.hexdigest())
    return digests


def merged(calls: list[Call]) -> Call:
    """Calls in order of time as one conversation: numbers are added up, of other labels the first is kept."""
    messages, branches = joined_calls([call["messages"] for call in calls])
    row: Call = dict.fromkeys(("id", "time", "system", "model", "error"))
    for call in calls:
        for name, value in call.items():
            if name in SUMMED:
                row[name] = row.get(name) if value is None else (row.get(name) or 0) + value
            elif value not in (None, "") and (row.get(name) is None or name.startswith("score_")):
                row[name] = value
    row["branches"] = (row.get("branches") or 0) + branches or None
    return {**row, "messages": messages}


def joined_calls(calls: list[Messages]) -> tuple[Messages, int]:
    """The messages of a session, and how often a call left the path of those before it.

    That is where something was edited, or asked for again; the longest path wins, and of equals the last.

    Args:
        calls: For each call in order of time, the history it sent and the answer.
    """
    path: Messages = []
    keys: list[str] = []
    known: set[str] = set()
    branches = 0
    for messages in calls:
        new = replay_keys(messages)
        start = start_of_new(keys, messages, new, known)
        if start is None and keys[0] != new[0]:
            start = 0  # the history begins later, or is kept by the provider
        if start is not None:
            path += messages[start:]
            keys += new[start:]
            known.update(new[start:])
            continue
        branches += 1
        if len(new) >= len(keys):
            shared = _shared(keys, new)
            path, keys, known = path[:shared] + messages[shared:], new, set(new)
    return path, branches


def start_of_new(path: list[str], messages: Messages, keys: list[str], known: Container[str] = ()) -> int | None:
    """The place from which a call's messages are new; ``None`` if its history isn't that of the path before it.

    A history may be trimmed: it repeats the path with messages left out, and goes on after its last. What tools
    returned may be cut in it, or be new where the path ends with the same call.

    Args:
        path: The keys of the messages before it, from `replay_keys`.
        messages: Those of the call.
        keys: Theirs.
        known: The keys of the path as a set, which saves time where it is long.
    """
    shared = _shared(path, keys)
    if shared in (len(path), len(keys)):
        return shared
    history = len(keys) - (messages[-1]["role"] == "assistant")  # the answer is new, even if its question is not
    for last in range(history - 1, shared - 1, -1):
        repeated = reversed(path)  # each is looked for before the one that was found
        if keys[last] == path[-1] and all(
            messages[place]["role"] == "tool" or (keys[place] in (known or path) and keys[place] in repeated)
            for place in range(last, shared - 1, -1)
        ):
            return last + 1
    goes_on = shared and messages[shared]["role"] == "tool" and keys[shared - 1] == path[-1]
    return shared if goes_on else None


def leading_to_last(calls: list[Call]) -> list[Call]:
    """The last call, and those before it of which each is gone on from by the next."""
    chosen = [calls[-1]]
    keys = replay_keys(chosen[0]["messages"])
    for call in reversed(calls[:-1]):
        own = replay_keys(call["messages"])
        start = start_of_new(own, chosen[0]["messages"], keys)
        if start is not None and (start < len(keys) or own == keys):
            chosen, keys = [call, *chosen], own
    return chosen


def _shared(path: list[str], keys: list[str]) -> int:
    """The number of messages with which both begin."""
    return next((n for n, (old, new) in enumerate(zip(path, keys)) if old != new), min(len(path), len(keys)))


def replay_keys(messages: Messages) -> list[str]:
    """The keys by which messages are known in a later call; ids of tools' calls, which may be made anew, aren't in."""
    return [message_key(_without_ids(message)) for message in messages]


def _without_ids(message: dict[str, Any]) -> dict[str, Any]:
    calls, results = message.get("tool_calls"), message.get("tool_results")
    if isinstance(calls, list):
        message = {**message, "tool_calls": [_name_and_arguments(call) for call in calls]}
    if isinstance(results, list):
        contents = [result.get("content") if isinstance(result, dict) else result for result in results]
        message = {**message, "tool_results": contents}
    return message


def _name_and_arguments(call: Any) -> Any:
    """The name and arguments of a call of a tool, in the notation of any provider."""
    if not isinstance(call, dict):
        return call
    inner = call["function"] if isinstance(call.get("function"), dict) else call
    return inner.get("name"), parsed(first_of(inner, ("arguments", "args", "input")))


def message_key(message: dict[str, Any]) -> str:
    """The key by which a repeated message is known; thoughts and times are not in it."""
    parts = [message["role"], message["content"].strip(), *map(message.get, ("tool_calls", "tool_results"))]
    try:
        return json.dumps(parts, sort_keys=True, default=str)
    except RecursionError:
        problem = "what a tool is called with, or returns, is nested too deeply; remove the innermost parts"
        raise BadRow(problem) from None


def score_labels(scores: Any) -> dict[str, Any]:
    """Labels of scores: ``{name: value}``, ``{name: {"avg": …}}`` or a list of ``{"name", "value"}``.

    >>> score_labels([{"name": "helpful", "value": True}, {"name": "tone", "value": "kind"}])
    {'score_helpful': 1.0, 'feedback_tone': 'kind'}
    """
    if isinstance(scores, list):
        named = [(score.get("name") or score.get("key"), score) for score in scores if isinstance(score, dict)]
    else:
        named = list(scores.items()) if isinstance(scores, dict) else []
    labels: dict[str, Any] = {}
    for name, score in named:
        for field in ("stringValue", "string_value", "value", "score", "avg"):
            if isinstance(score, dict) and score.get(field) is not None:
                score = score[field]
        if isinstance(score, int | float):
            labels[f"score_{name}"] = float(score)
        elif isinstance(score, str):
            labels[f"feedback_{name}"] = score
    return labels


def thumb_label(rating: Any) -> str | None:
    """Return ``positive`` or ``negative`` for a thumb up or down in any notation."""
    if isinstance(rating, str):
        rating = {"thumbsup": 1, "up": 1, "good": 1, "true": 1, "like": 1}.get(rating.lower().replace("_", ""), -1)
    return None if not isinstance(rating, int | float) else "positive" if rating > 0 else "negative"
