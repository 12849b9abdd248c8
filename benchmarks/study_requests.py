"""Does the overview list requests, rather than what else customers say? Measured with MultiDoGO's intents.

A message is a request if its intent says what somebody wants; greetings, thanks, assent, what is off the subject, and
details (MultiDoGO gives these no intent) are none. *listed* is the share of requests among the messages of the groups
that the overview lists, *kept* the share of all requests that are in them, *first five* how many of the five largest
groups listed consist mostly of requests. The rule's figure was chosen on `dev`; `test` was looked at once.

Run: python benchmarks/study_requests.py [--part test]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import turnwise
from quick import add_quick, data_folder, is_quick
from turnwise.explorer.report.report import Group

DOMAINS = ("airline", "fastfood", "insurance", "software")
COURTESIES = {"openinggreeting", "closinggreeting", "thankyou", "confirmation", "rejection"}
NO_REQUESTS = COURTESIES | {"contentonly", "outofdomain"}


def figures(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float, int]:
    """The shares *listed* and *kept*, and how many of the *first five* are requests."""
    report = turnwise.cluster(rows).report
    intents = [message.get("intent") for row in rows for message in row["messages"]]
    requests = np.asarray([bool(intent) and intent not in NO_REQUESTS for intent in intents])
    groups = report.messages["group"]

    def members(group: Group) -> np.ndarray:
        return requests[groups == group.id]

    listed = sorted(
        (group for group in report.groups["message"] if group.level == 1 and not group.move),
        key=lambda group: -group.size,
    )
    count = sum(int(members(group).sum()) for group in listed)
    shown = sum(group.size for group in listed)
    return (
        count / max(1, shown),
        count / max(1, int(requests.sum())),
        sum(members(group).mean() > 0.5 for group in listed[:5]),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    add_quick(parser)
    part = parser.parse_args().part
    for name in ("sgd",) if is_quick() else tuple(f"multidogo/{domain}" for domain in DOMAINS):
        conversations = turnwise.read_conversations(data_folder() / name / f"{part}.jsonl.gz")
        listed, kept, first = figures(conversations.select(range(min(500, len(conversations)))))
        print(f"{name:20} listed {listed:6.1%}   kept {kept:6.1%}   first five {first}", flush=True)
