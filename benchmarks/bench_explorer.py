"""The cost of a report of a store, in CPU seconds of all threads and in passes of the encoder over the same messages.

Prints what making a report costs (`build_report`: reading, groups, map), making it again when nothing has changed, or
after an edit of the groups (`former`), and writing its files; the size of these and the peak memory; for a quarter and
all of the messages, each in a process of its own. The vectors are random, in clusters, as in bench_store.py; the pass
of the encoder is measured on sample conversations and scaled. Then what `turnlens.cluster` costs beside `encode`.

Run: python benchmarks/bench_explorer.py [--messages 100000]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

import turnlens
from bench_store import RandomVectors, Vectors, conversations, cpu
from quick import add_quick, is_quick, output_of
from turnlens.page import write_report
from turnlens.report import Report, build_report
from turnlens.report import group_edits as edits
from turnlens.store import ConversationStore

ENCODED = 50 if is_quick() else 1000  # texts that the encoder is timed on


def measure(messages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = ConversationStore.open(Path(folder) / "store", encoder=RandomVectors(Vectors(20_000)))
        store.add(conversations(0, messages))
        one_pass = encoder_pass(messages)
        before = peak()
        reports: list[Report] = []
        print(f"{messages:,} messages; one pass of the encoder over as many: {one_pass:.0f} s; {before:,.0f} MB so far")

        def told(what: str, seconds: float) -> None:
            print(f"{what:28} {seconds:7.1f} s {seconds / one_pass:7.3f} passes", flush=True)

        told("groups alone (page=False)", cpu(lambda: build_report(store, page=False)))
        told("build_report, the rest", cpu(lambda: reports.append(build_report(store))))
        told("again, unchanged", cpu(lambda: build_report(store)))
        group = reports[0].groups["message"][-1].id
        edits.rename(store.path, "message", group, "renamed")
        told("after an edit (former)", cpu(lambda: build_report(store, former=reports[0])))
        told("write_report", cpu(lambda: write_report(reports[0], Path(folder) / "report")))
        size = sum(file.stat().st_size for file in (Path(folder) / "report").rglob("*") if file.is_file())
        print(f"files {size / 1e6:.1f} MB; peak memory {peak():,.0f} MB", flush=True)


def encoder_pass(messages: int) -> float:
    """CPU seconds of embedding so many messages like those of the sample conversations."""
    texts = [message["content"] for row in turnlens.sample_conversations(400) for message in row["messages"]]
    distinct = list(dict.fromkeys(texts))[:ENCODED]
    encoder = turnlens.load_encoder()
    encoder.encode_messages(distinct[:50])
    return cpu(lambda: encoder.encode_messages(distinct)) * messages / len(distinct)


def cluster_ratio(count: int) -> None:
    """The cost of `turnlens.cluster` of conversations, embedding included, beside embedding their distinct messages."""
    rows = [
        {
            "id": row["id"],
            "messages": [{**message, "content": " ".join([message["content"]] * 5)} for message in row["messages"]],
        }
        for row in turnlens.sample_conversations(count)
    ]
    texts = list(dict.fromkeys(message["content"] for row in rows for message in row["messages"]))
    stock, encoder = turnlens.load_encoder(device="cpu"), turnlens.load_encoder()
    stock.encode(texts[:50])
    encode = cpu(lambda: stock.encode(texts))
    cluster = cpu(lambda: turnlens.cluster(rows, encoder=encoder))
    print(
        f"cluster of {count:,} conversations with long turns: {cluster:.1f} s; encode of their {len(texts):,} distinct "
        f"messages: {encode:.1f} s; ratio {cluster / encode:.2f}"
    )


def peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--conversations", type=int, default=300, help="for what cluster costs")
    add_quick(parser, messages=800, conversations=8)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.messages)
        return
    for messages in (arguments.messages // 4, arguments.messages):
        print(output_of(__file__, "--one", "--messages", str(messages), quick=arguments.quick), end="", flush=True)
    cluster_ratio(arguments.conversations)


if __name__ == "__main__":
    main()
