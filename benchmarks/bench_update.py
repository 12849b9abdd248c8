"""What the first report of a corpus costs and what adding a week to it, in CPU seconds of the whole command.

Prints, for conversations of which the last are kept back: what embedding their distinct messages takes
(`encode_messages`, its imports not counted); `turnlens explore first.jsonl --store talks --export report`; the same of
those kept back, into the same store; and once more with nothing new.

With `--static`, conversations are generated and each word has a random vector, so that what grows besides embedding is
seen at sizes that take hours to embed: `--static --conversations 9100 --kept-back 91` are 100,000 messages, 1 % of
them new.

Run: python benchmarks/bench_update.py [--kept-back 350] [--conversations 4000] [--static]
Needs $TURNLENS_DATA (Twitter support), without `--static`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import turnlens
from bench_growth import static_encoder
from bench_startup import cpu_seconds
from bench_store import cpu
from quick import add_quick, data_folder, is_quick
from turnlens.data.conversations import write_chats


def corpus(count: int, generated: bool) -> list[dict[str, Any]]:
    if generated:
        return turnlens.sample_conversations(count).to_list()
    return turnlens.read_conversations(data_folder() / "twitter_support" / "train.jsonl.gz").to_list()[:count]


def texts_of(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(message["content"] for row in rows for message in row["messages"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=4000)
    parser.add_argument("--kept-back", type=int, default=350)
    parser.add_argument("--static", action="store_true", help="random word vectors and generated conversations")
    add_quick(parser, conversations=60, kept_back=10)
    arguments = parser.parse_args()
    rows = corpus(arguments.conversations, generated=arguments.static or is_quick())
    first, new = rows[: -arguments.kept_back], rows[-arguments.kept_back :]
    encoder = static_encoder(384) if arguments.static else turnlens.load_encoder()
    parts = {"first": first, "new": new}
    encoder.encode_messages(texts_of(new)[:50])
    passes = {name: cpu(partial(encoder.encode_messages, texts_of(part))) for name, part in parts.items()}
    for name, part in parts.items():
        print(f"{name}: {len(texts_of(part)):,} distinct texts, embedded in {passes[name]:.1f} CPU s", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_chats(first, folder / "first.jsonl")
        write_chats(new, folder / "new.jsonl")
        model = ["--model", "static"] if arguments.static else []
        if model:
            encoder.save_pretrained(str(folder / "static"))
        common = ["--store", "talks", "--export", "report", "--force"]
        for file, told, options in (
            ("first", "the first report", [*common, *model]),
            ("new", "what is new", common),
            ("new", "once more, nothing new", common),
        ):
            seconds = cpu_seconds([sys.executable, "-m", "turnlens", "explore", f"{file}.jsonl", *options], folder)
            extra = seconds - passes[file]
            print(f"{told:24} {seconds:6.1f} CPU s, {extra:6.1f} s beyond embedding", flush=True)


if __name__ == "__main__":
    main()
