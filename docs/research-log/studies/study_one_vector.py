"""One vector a message for every task, against an encoder and a pass over the corpus for each of them.

(a) Tokens through the encoder and seconds, on a sample, of what utterances, whole dialogues and next replies need: each
message once and algebra, against each message as it is (utterances), each dialogue as one text, of which the encoder
reads what fits (dialogues), and each message in the five views of a triple-encoder (next replies). Equal texts go
through once either way. For a million messages by **extrapolation**: the sample's tokens and seconds a message.
(b) Training a reply head on stored vectors: random ones, which take as long as others.
(c) A further turn of a running conversation: encoding it, and the new query, whatever came before.
(d) Messages with what was said before: a sum of vectors that are there, against a pass over whole conversations.

Run: python docs/research-log/studies/study_one_vector.py [--conversations 200] [--messages 223756]
Data: $TURNLENS_DATA/sgd/train.jsonl.gz if there, else generated conversations; --data takes another file. Seconds are
those of the processor, of all threads together, so that a busy machine does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from quick import add_quick, data_folder, is_quick
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.history import add_history
from turnlens.encoders.messages import message_tokens, pool_messages
from turnlens.encoders.reply_head import ReplyHead
from turnlens.papers.triple_encoders.views import View, add_views, encode_view
from turnlens.training.recipes import ReplyHeadRecipe
from turnlens.training.reply_head import fit_reply_head

DATA = data_folder() / "sgd" / "train.jsonl.gz"
DIM, MILLION = 32 if is_quick() else 384, 1_000_000
TURNS = 18  # of a conversation of random vectors, as in SGD
VIEWS: tuple[tuple[View, bool], ...] = (
    ("before1", True),
    ("before1", False),
    ("before2", True),
    ("before2", False),
    ("after", True),
)


@contextmanager
def counted_tokens(encoder: SentenceTransformer) -> Iterator[list[int]]:
    """Inside the block, the tokens of each forward pass, without padding, are added to the list."""
    found: list[int] = []

    def count(module: Any, inputs: tuple[dict[str, torch.Tensor]]) -> None:
        found.append(int(inputs[0]["attention_mask"].sum()))

    handle = encoder[0].register_forward_pre_hook(count)
    yield found
    handle.remove()


def cost(encoder: SentenceTransformer, work: Callable[[], object]) -> tuple[int, float]:
    """Tokens through the encoder, and seconds."""
    with counted_tokens(encoder) as tokens:
        start = time.process_time()
        work()
        return sum(tokens), time.process_time() - start


def passes(conversations: Dataset) -> None:
    """(a) One pass and algebra, and a pass for each task and view."""
    encoder, views = turnlens.load_encoder(device="cpu"), add_views(turnlens.load_encoder(device="cpu"), "c3l")
    dialogues = [row["messages"] for row in conversations]
    texts = [message["content"] for messages in dialogues for message in messages]
    starts = np.cumsum([0, *map(len, dialogues)])[:-1]
    head = ReplyHead(DIM)

    def once() -> None:
        vectors = encoder.encode_messages(texts)
        pool_messages(vectors, message_tokens(encoder, texts), starts)
        head.arrays().map_candidates(vectors)

    once()  # the first run of a model is slower
    work: dict[str, tuple[SentenceTransformer, Callable[[], object]]] = {
        "one pass for all": (encoder, once),
        "utterances": (encoder, lambda: encoder.encode_messages(texts)),
        "dialogues": (encoder, lambda: encoder.encode_conversations(dialogues)),
        "five views": (views, lambda: [encode_view(views, texts, view, same) for view, same in VIEWS]),
    }
    costs = {name: cost(*of) for name, of in work.items()}
    ours = costs.pop("one pass for all")
    tokens, seconds = (sum(one[place] for one in costs.values()) for place in (0, 1))
    print(f"(a) {len(dialogues):,} conversations, {len(texts):,} messages, {len(set(texts)):,} different ones")
    for name, of in ({"one pass for all": ours} | costs | {"all three": (tokens, seconds)}).items():
        per_message = [value * MILLION / len(texts) for value in of]
        print(
            f"    {name:17} {of[0]:9,} tokens {of[1]:7.1f} s; a million messages, extrapolated: "
            f"{per_message[0] / 1e6:6.1f} million tokens, {per_message[1] / 3600:5.2f} hours"
        )
    print(
        f"    one pass against a pass for each: tokens 1 : {tokens / ours[0]:.1f}, seconds 1 : {seconds / ours[1]:.1f}"
    )


def random_messages(count: int) -> pa.Table:
    """Embedded messages of conversations of two speakers, as ``turnlens embed`` writes them; directions are random."""
    vectors = unit_vectors(np.random.default_rng(0).standard_normal((count, DIM), dtype=np.float32))
    numbers = np.arange(count)
    return pa.table(
        {
            "id": pa.array(numbers // TURNS).cast(pa.string()),
            "role": pa.array(np.where(numbers % 2, "assistant", "user")),
            "text": pa.array(numbers).cast(pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), DIM),
        }
    )


def training(count: int) -> None:
    """(b) A head from stored vectors."""
    recipe, table = ReplyHeadRecipe(), random_messages(count)
    start, started = time.process_time(), time.perf_counter()
    fit_reply_head(table, recipe)
    seconds, elapsed = time.process_time() - start, time.perf_counter() - started
    print(
        f"(b) a reply head from {count:,} stored vectors, {recipe.epochs:g} epochs: {seconds:.0f} s "
        f"({elapsed:.0f} s on the clock), {recipe.epochs * count / seconds:,.0f} messages a second"
    )


def further_turn() -> float:
    """(c) Microseconds that the query takes once the turn is encoded."""
    encoder, head = turnlens.load_encoder(device="cpu"), ReplyHead(DIM)
    vectors = [*np.random.default_rng(1).random((head.turns, DIM)).astype(np.float32)]
    torch.nn.init.normal_(head.context, std=0.01)
    arrays, same = head.arrays(), np.arange(head.turns)[None] % 2 == 0

    def update() -> None:
        arrays.queries(unit_vectors(np.stack(vectors))[None], same, np.ones_like(same))

    def encode() -> None:
        encoder.encode_messages(["Yes please, the one that arrives on Friday morning."])

    query, encoding = shortest(update), shortest(encode)
    print(
        f"(c) a further turn: encoding it {1e3 * encoding:.1f} ms, then the query {1e6 * query:.0f} µs (target: at "
        f"most 100 µs), ratio {encoding / query:.0f}"
    )
    return 1e6 * query


def history(conversations: Dataset) -> None:
    """(d) What was said before, from the vectors of messages, and from a pass of the encoder."""
    encoder, dialogues = turnlens.load_encoder(device="cpu"), conversations["messages"][:]
    turns = [len(messages) for messages in dialogues]
    vectors = encoder.encode_messages([message["content"] for talk in dialogues for message in talk])
    added = shortest(lambda: add_history(vectors, turns))
    _, read = cost(encoder, lambda: encoder.encode_messages(dialogues, context="conversation"))
    print(
        f"(d) {len(vectors):,} messages with what was said before: {1e6 * added / len(vectors):.1f} µs a message from "
        f"their vectors, {1e3 * read / len(vectors):.2f} ms by a pass over conversations, ratio {read / added:,.0f}"
    )


def shortest(work: Callable[[], object]) -> float:
    """The least seconds of many runs."""
    times = []
    for _ in range(3 if is_quick() else 50):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument(
        "--messages", type=int, default=223_756, help="stored vectors to train on (SGD's training part)"
    )
    add_quick(parser, conversations=5, messages=400)
    options = parser.parse_args()
    rows = turnlens.read_conversations(options.data) if options.data.is_file() else turnlens.sample_conversations(1000)
    sample = rows.shuffle(seed=0).select(range(min(options.conversations, len(rows))))
    passes(sample)
    history(sample)
    training(options.messages)
    return int(further_turn() > 100 and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
