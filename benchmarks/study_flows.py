"""Flows between the groups found, against those between labels that no group has seen.

Groups are matched to labels by majority, among labelled messages. Flows go from one labelled message of a conversation
to its next. First all groups are matched; then only those in which half of the messages have the commonest label, and
messages of others, such as "yes, please", which is said under any label, are passed over. Prints the correlation of the
shares over all pairs of labels whose source was left at least 50 times, with and without a label that follows itself,
and the ten commonest transitions to another label of both, side by side.

Run: python benchmarks/study_flows.py sgd.store --label intent [--history]
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

import turnwise
from quick import add_quick, data_folder, scratch
from turnwise.explorer import GroupSettings, build_report
from turnwise.store import ConversationStore

LEAST = 50  # messages that follow a label
SHOWN = 10


def sample_store() -> Path:
    """A store of generated conversations."""
    folder = scratch() / "store"
    ConversationStore.open(folder).add(turnwise.read_conversations(data_folder() / "sgd" / "test.jsonl.gz"))
    return folder


def majority(groups: np.ndarray, labels: np.ndarray, least: float) -> np.ndarray:
    """The commonest label of each message's group, -1 for those in none and where it has too small a share."""
    found = np.full(len(groups), -1)
    for group in np.unique(groups[groups >= 0]):
        counts = np.bincount(labels[groups == group])
        if counts.max() >= least * counts.sum():
            found[groups == group] = counts.argmax()
    return found


def shares(labels: np.ndarray, conversation: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and shares of transitions between labels within conversations (count, count)."""
    follows = (conversation[1:] == conversation[:-1]) & (labels[1:] >= 0) & (labels[:-1] >= 0)
    counts = np.zeros((count, count))
    np.add.at(counts, (labels[:-1][follows], labels[1:][follows]), 1)
    return counts, counts / np.maximum(counts.sum(1, keepdims=True), 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", nargs="?")
    parser.add_argument("--label", default="intent")
    parser.add_argument("--history", action="store_true", help="group messages with what was said before them")
    add_quick(parser, store=sample_store)
    arguments = parser.parse_args()
    if arguments.store is None:
        parser.error("give the folder of a store")
    store = ConversationStore.open(arguments.store, read_only=True)
    report = build_report(store, settings=GroupSettings(history=arguments.history))
    label = report.message_labels[arguments.label]
    rows = np.flatnonzero(label.codes >= 0)
    conversation, groups = report.messages["conversation"][rows].astype(int), report.messages["group"][rows]
    print(f"{len(rows):,} labelled messages, {100 * np.mean(groups < 0):.1f} % in no group; {len(label.values)} labels")
    for least in (0.0, 0.5):
        print(f"\ngroups whose commonest label has a share of {least} or more:")
        compare(label.codes[rows], majority(groups, label.codes[rows], least), conversation, label.values)


def compare(true: np.ndarray, found: np.ndarray, conversation: np.ndarray, names: tuple[str, ...]) -> None:
    kept = found >= 0
    print(
        f"{100 * kept.mean():.1f} % of the messages are in these, {100 * np.mean((found == true)[kept]):.1f} % of which"
    )
    print(f"have the label of their group; {len(set(found[kept].tolist()))} labels are the commonest of a group")
    true_counts, true_shares = shares(true, conversation, len(names))
    found_counts, found_shares = shares(found[kept], conversation[kept], len(names))
    sources = (true_counts.sum(1) >= LEAST) & (found_counts.sum(1) >= LEAST)
    pairs = np.broadcast_to(sources[:, None], true_counts.shape)
    other = pairs & ~np.eye(len(names), dtype=bool)
    for name, where in (("all pairs", pairs), ("another label follows", other)):
        correlation = np.corrcoef(true_shares[where], found_shares[where])[0, 1]
        print(f"correlation of shares from {int(sources.sum())} labels, {name}: {correlation:.3f}")
    best = [top(counts * other, names) for counts in (true_counts, found_counts)]
    print(f"of the ten commonest transitions to another label, {len(best[0].keys() & best[1].keys())} are in both:")
    print("| labels | | groups | |\n|---|---|---|---|")
    for (name, number), (other_name, other_number) in zip(best[0].items(), best[1].items()):
        print(f"| {name} | {number} | {other_name} | {other_number} |")


def top(counts: np.ndarray, names: tuple[str, ...]) -> Counter[str]:
    """The commonest transitions."""
    order = np.argsort(-counts, axis=None, kind="stable")[:SHOWN]
    pairs = [np.unravel_index(place, counts.shape) for place in order]
    return Counter({f"{names[a]} → {names[b]}": int(counts[a, b]) for a, b in pairs})


if __name__ == "__main__":
    main()
