"""Which vectors of messages make the best vectors of dialogues, and what do centring and stretching do to them?

No training. Messages alone, messages in context, weighted sums of both, and the joined text: as they are, with the
centre of training conversations, with that of the very dialogues ("own"), and stretched. MAP and Spearman of whole
dialogues, and where messages have an intent, MAP and accuracy of the nearest neighbour among the messages of other
dialogues, also of messages with what was said before them. The encoder runs in bfloat16.

Run: python benchmarks/study_conversation_vectors.py --corpus self_dialogue [--dialogues 1000] [--model MODEL] [--out
    FILE]
Data: $TURNWISE_DATA/<corpus>, dev.jsonl.gz and train.jsonl.gz (of DailyDialog, train_part.jsonl.gz).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

import turnwise
from quick import add_quick, data_folder
from turnwise._utils.vectors import FloatArray, IntArray, unit_vectors
from turnwise.data.drawing import draw_conversations
from turnwise.encoders.centre import Centre
from turnwise.encoders.history import add_history
from turnwise.encoders.in_context import sums_in_context
from turnwise.encoders.message_pooling import message_tokens
from turnwise.evaluation.conversations.labelled import labelled_conversations
from turnwise.evaluation.conversations.ranking import rank_conversations
from turnwise.evaluation.metrics import bootstrap_interval
from turnwise.evaluation.metrics.ranking import average_precision

DATA = data_folder()
SHARES = (0.1, 0.3, 0.5, 0.7)  # of messages alone, in the sums
STRETCHES = (-0.1, 0.1, 0.2)
HISTORIES = ((0.5, 0.5), (1.0, 0.5), (1.0, 0.7))  # share and decay of what was said before


class Vectors:
    """The vectors of messages of some conversations, alone and in context, of length 1."""

    def __init__(self, encoder: Any, conversations: Any) -> None:
        texts = [message["content"] for messages in conversations for message in messages]
        self.starts = np.cumsum([0, *map(len, conversations)])[:-1]
        self.alone = unit_vectors(encoder.encode_messages(texts, dtype="bfloat16"))
        self.tokens = np.maximum(message_tokens(encoder, texts), 1)
        self.sums, self.counts = sums_in_context(encoder, conversations, dtype="bfloat16")
        self.in_context = unit_vectors(self.sums)

    def dialogues(self) -> dict[str, FloatArray]:
        """For each way, the dialogue vectors (dialogues, dim)."""

        def pooled(vectors: FloatArray) -> FloatArray:
            return unit_vectors(np.add.reduceat(vectors, self.starts))

        alone = pooled(self.alone * self.tokens[:, None])
        in_context = pooled(self.in_context * self.counts[:, None])
        found = {"joined text": pooled(self.sums), "messages": alone, "messages in context": in_context}
        for share in SHARES:
            found[f"{share} of messages, the rest in context"] = unit_vectors(share * alone + (1 - share) * in_context)
        return found


def figures(vectors: FloatArray, codes: IntArray, queries: IntArray) -> str:
    ranking = rank_conversations(unit_vectors(vectors).astype(np.float32), codes, queries)
    precision = 100 * ranking.average_precision
    low, high = bootstrap_interval(precision)
    return f"{precision.mean():.1f} [{low:.1f}, {high:.1f}] / {100 * ranking.spearman.mean():.1f}"


def intents(vectors: FloatArray, names: list[Any], owners: IntArray, count: int = 800) -> str:
    """MAP and accuracy of the nearest neighbour of random labelled messages among those of other dialogues."""
    labelled = np.flatnonzero([isinstance(name, str) for name in names])
    _, codes = np.unique([names[row] for row in labelled], return_inverse=True)
    units, owners = unit_vectors(vectors[labelled]), owners[labelled]
    precisions, hits = [], []
    for query in np.random.default_rng(0).permutation(len(labelled))[:count]:
        others = np.flatnonzero(owners != owners[query])
        products, relevant = units[others] @ units[query], codes[others] == codes[query]
        if relevant.any():
            precisions.append(average_precision(products, relevant))
            hits.append(relevant[products.argmax()])
    return f"{100 * np.mean(precisions):.1f} / {100 * np.mean(hits):.1f}"


def messages_of(rows: Dataset) -> list[Any]:
    return [[{name: m[name] for name in ("role", "content")} for m in messages] for messages in rows["messages"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="sgd")
    parser.add_argument("--dialogues", type=int, default=1000, help="at most, of the development set")
    parser.add_argument("--centred-on", type=int, default=1000, help="training conversations")
    parser.add_argument("--model", help="by default the encoder that ships")
    parser.add_argument("--out", type=Path)
    add_quick(parser, dialogues=40, centred_on=40)
    options = parser.parse_args()
    folder = DATA / options.corpus
    development = turnwise.read_conversations(folder / "dev.jsonl.gz")
    train_file = next(folder / name for name in ("train.jsonl.gz", "train_part.jsonl.gz") if (folder / name).is_file())
    labels = labelled_conversations(development)
    drawn = np.sort(np.random.default_rng(0).permutation(len(labels.codes))[: options.dialogues])
    codes = labels.codes[drawn]
    queries = np.flatnonzero(np.bincount(codes)[codes] > 1)
    train = draw_conversations(turnwise.read_conversations(train_file), options.centred_on, seed=0)
    encoder = turnwise.load_encoder(options.model)
    found = Vectors(encoder, [labels.conversations[row] for row in drawn])
    learned = Vectors(encoder, messages_of(train)).dialogues()
    table: dict[str, dict[str, str]] = {}
    for way, vectors in found.dialogues().items():
        row = table[way] = {"as they are": figures(vectors, codes, queries)}
        row["centred"] = figures(Centre.fit(learned[way], 0).apply(vectors), codes, queries)
        for power in STRETCHES:
            row[f"stretched {power}"] = figures(Centre.fit(learned[way], power).apply(vectors), codes, queries)
        row["own, stretched 0.1"] = figures(Centre.fit(vectors, 0.1).apply(vectors), codes, queries)
        print(way, row, flush=True)
    messages_by_id = dict(zip(development["id"], development["messages"]))
    talks = [messages_by_id[labels.ids[row]] for row in drawn]
    names = [message.get("intent") for messages in talks for message in messages]
    if any(isinstance(name, str) for name in names):
        turns = [len(messages) for messages in talks]
        owners = np.repeat(np.arange(len(talks)), turns)
        ways = {"messages": found.alone, "messages in context": found.in_context}
        ways |= {f"history {how}": add_history(found.alone, turns, *how) for how in HISTORIES}
        ways |= {f"{share} of messages": share * found.alone + (1 - share) * found.in_context for share in SHARES}
        table["intents of messages"] = {way: intents(vectors, names, owners) for way, vectors in ways.items()}
        print(table["intents of messages"], flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(table, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
