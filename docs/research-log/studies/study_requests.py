"""The list of requests beside the field's ways to one: how much of it is right, is missing, and is neither.

Customers' messages of MultiDoGO's four domains ($TURNLENS_DATA), of conversations that ask for one thing by their
labels, in 14 kinds of uneven size, with an agent's stock phrases, signatures, quotes and placeholders among them. An
entry of a list is right if 60 % of its conversations are of one kind that no larger entry has; a second one of the same
kind is a duplicate, any other is junk. The other ways are given the first message of more than 20 letters, so
that greetings are out of their way; BERTopic needs `pip install bertopic`. CPU seconds are after embedding.

Run: python docs/research-log/studies/study_requests.py [--seeds 3]
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import turnlens
from quick import add_quick, data_folder, is_quick
from study_groups import Way, bertopic, hdbscan, k_means_chosen
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_messages

DOMAINS = ("airline", "fastfood", "insurance", "software")
MOVES = {"openinggreeting", "closinggreeting", "thankyou", "confirmation", "rejection", "contentonly", "outofdomain"}
NO_REQUESTS = {*MOVES, "", None}
KINDS, TICKETS, LEAST = 14, 800, 1 if is_quick() else 20
PHRASES = ("Hello! How can I help you today?", "May I have your reference number?", "I have opened a case for you.")
ENDINGS = (
    "\n\nSent from my phone",
    "\n--\n[NAME]\nAccount Manager",
    "\n\n> On Monday you wrote:\n> Thank you.",
    " [PHONE]",
)
Row = Mapping[str, Any]
List = Sequence[set[int]]  # the conversations of each entry


def export(names: Sequence[str], seed: int) -> tuple[list[Row], list[str]]:
    """Conversations, and what each asks for."""
    dice = random.Random(seed)
    of_kind: dict[str, list[list[str]]] = defaultdict(list)
    for name in names:
        for row in turnlens.read_conversations(data_folder() / f"{name}.jsonl.gz"):
            asked = {message.get("intent") for message in row["messages"]} - NO_REQUESTS
            if asked and (len(asked) == 1 or is_quick()):
                of_kind[min(asked)].append([one["content"] for one in row["messages"] if one["role"] == "user"])
    largest = sorted((kind for kind in of_kind if len(of_kind[kind]) >= LEAST), key=lambda kind: -len(of_kind[kind]))
    kinds = dice.sample(largest[:KINDS], len(largest[:KINDS]))
    weights = [1 / (place + 2) for place in range(len(kinds))]
    rows = []
    for kind, weight in zip(kinds, weights):
        count = min(len(of_kind[kind]), max(15, round(TICKETS * weight / sum(weights))))
        for texts in dice.sample(of_kind[kind], count):
            said = [text + (dice.choice(ENDINGS) if dice.random() < 0.1 else "") for text in texts]
            turns = [(("user", text), ("agent", PHRASES[turn % 3])) for turn, text in enumerate(said)]
            messages = [{"role": role, "content": text} for pair in turns for role, text in pair]
            rows.append((kind, messages))
    dice.shuffle(rows)
    return [{"id": str(number), "messages": said} for number, (_, said) in enumerate(rows)], [kind for kind, _ in rows]


def listed(rows: Sequence[Row], encoder: turnlens.ConversationEncoder, seed: int) -> tuple[List, float]:
    """The list of turnlens, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        store = turnlens.ConversationStore.create(Path(folder) / "store", rows, encoder=encoder)
        start = time.process_time()
        report = turnlens.cluster(store, seed=seed).report
        seconds = time.process_time() - start
    of_messages = report.messages
    requests = [group.id for group in report.groups["message"] if group.level == 1 and group.opening and not group.move]
    numbers = np.asarray([int(id) for id in report.ids])[of_messages["conversation"]]
    return [set(numbers[of_messages["group"] == id].tolist()) for id in requests], seconds


def grouped(way: Way, vectors: np.ndarray, seed: int) -> tuple[List, float]:
    start = time.process_time()
    groups = way(vectors, 0, seed)  # none is told the true number
    seconds = time.process_time() - start
    return [set(np.flatnonzero(groups == id).tolist()) for id in np.unique(groups[groups >= 0])], seconds


def keywords(texts: Sequence[str]) -> tuple[List, float]:
    """The conversations with each of the commonest words that are no stop words: a pivot table by keyword."""
    start = time.process_time()
    words = CountVectorizer(stop_words="english", binary=True, max_features=KINDS).fit_transform(texts).tocsc()
    return [set(words[:, word].indices.tolist()) for word in range(words.shape[1])], time.process_time() - start


def judged(entries: List, kinds: Sequence[str]) -> tuple[float, float, int, int, int]:
    """Precision, recall, and how many entries are listed, duplicates and junk."""
    found: set[str] = set()
    duplicates = junk = 0
    for entry in sorted((entry for entry in entries if entry), key=len, reverse=True):
        kind, count = Counter(kinds[number] for number in entry).most_common(1)[0]
        if count < 0.6 * len(entry):
            junk += 1
        elif kind in found:
            duplicates += 1
        else:
            found.add(kind)
    total = len(found) + duplicates + junk
    return len(found) / max(total, 1), len(found) / len(set(kinds)), total, duplicates, junk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="+", default=[f"multidogo/{domain}/train" for domain in DOMAINS])
    add_quick(parser, seeds=1, data=["sgd/dev"])
    arguments = parser.parse_args()
    encoder = turnlens.load_encoder()
    on_vectors = {"k-means, number by silhouette": k_means_chosen, "HDBSCAN, 10 components": hdbscan}
    if find_spec("umap"):
        on_vectors["BERTopic's defaults"] = bertopic
    results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for seed in range(arguments.seeds):
        rows, kinds = export(arguments.data, seed)
        said = [[one["content"] for one in row["messages"] if one["role"] == "user"] for row in rows]
        texts = [next((text for text in own if len(text) > 20), own[0]) for own in said]
        sentences = [re.split(r"(?<=[.!?])\s|\n", text)[0] for text in texts]
        vectors, of_sentences = (unit_vectors(encode_messages(encoder, each)) for each in (texts, sentences))
        found = {"turnlens": listed(rows, encoder, seed)}
        found |= {name: grouped(way, vectors, seed) for name, way in on_vectors.items()}
        found["k-means of first sentences, as Kura groups summaries"] = grouped(k_means_chosen, of_sentences, seed)
        found["pivot by keyword"] = keywords(texts)
        for name, (entries, seconds) in found.items():
            results[name].append((*judged(entries, kinds), seconds))
    print("| | precision | recall | listed | duplicates | junk | CPU s |\n" + "|---" * 7 + "|")
    for name, figures in results.items():
        precision, recall, total, duplicates, junk, seconds = np.mean(figures, axis=0)
        shown = f"{precision:.0%} | {recall:.0%} | {total:.1f} | {duplicates:.1f} | {junk:.1f} | {seconds:.1f}"
        print(f"| {name} | {shown} |")


if __name__ == "__main__":
    main()
