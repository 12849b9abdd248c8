"""Ways to find groups in message and conversation vectors, against labels that none of them has seen.

Prints for each way: groups found, share left out, NMI and purity of what is in a group, NMI with what is left out as a
group of its own, agreement (adjusted Rand) of three seeds and of three 90 % subsamples, and CPU seconds of one run.
A way whose package is not installed is passed over: pip install umap-learn hdbscan pacmap bertopic evoc

Run: python benchmarks/study_groups.py sgd/test.jsonl.gz --message-label intent --conversation-label domains [--history]
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score

import turnwise
from quick import add_quick
from turnwise.evaluation.metrics import purity
from turnwise.explorer.corpus import Corpus, read_corpus, with_history
from turnwise.explorer.groups.assigning import lonely_below, vote
from turnwise.explorer.groups.communities import communities, neighbour_graph
from turnwise.explorer.groups.fitting import fit_groups
from turnwise.explorer.groups.neighbours import nearest
from turnwise.explorer.groups.sample import keys_of, sample_rows
from turnwise.explorer.groups.settings import GroupSettings
from turnwise.explorer.labels import Label
from turnwise.store import ConversationStore

SEEDS = (0, 1, 2)
LEAST = 10  # vectors of a group, for those who want to be told
Way = Callable[[np.ndarray, Sequence[str], int, int], np.ndarray]  # vectors, texts, true number, seed -> groups


@dataclass(frozen=True)
class Case:
    name: str
    vectors: np.ndarray
    texts: Sequence[str]
    labels: np.ndarray  # -1 for none


def turnwise_groups(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    settings = GroupSettings(seed=seed)
    near = nearest(vectors, vectors, settings.neighbours)
    return vote(near, fit_groups(near, settings).fine, lonely_below(near.cosines[:, 0]))


def leiden(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int, resolution: float) -> np.ndarray:
    return communities(neighbour_graph(nearest(vectors, vectors, 15).rows), resolution, seed)


def k_means(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    return KMeans(true, random_state=seed, n_init=3).fit_predict(vectors)


def k_means_chosen(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    """The number with the best silhouette of 10, 20, 40, 80 and 160."""
    found = [KMeans(k, random_state=seed, n_init=1).fit_predict(vectors) for k in (10, 20, 40, 80, 160)]
    size = min(2000, len(vectors))
    return max(found, key=lambda groups: silhouette_score(vectors, groups, sample_size=size, random_state=seed))


def raw_hdbscan(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int, dims: int | None) -> np.ndarray:
    reduced = vectors if dims is None else PCA(dims, random_state=seed).fit_transform(vectors)
    return HDBSCAN(min_cluster_size=LEAST, copy=True).fit_predict(reduced)


def umap_hdbscan(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    import umap

    made = umap.UMAP(n_neighbors=15, n_components=10, min_dist=0.0, metric="cosine", random_state=seed)
    return HDBSCAN(min_cluster_size=LEAST, copy=True).fit_predict(made.fit_transform(vectors))


def pacmap_hdbscan(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    import pacmap

    made = pacmap.PaCMAP(n_components=10, random_state=seed)
    return HDBSCAN(min_cluster_size=LEAST, copy=True).fit_predict(made.fit_transform(vectors))


def bertopic(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    from bertopic import BERTopic
    from umap import UMAP

    reduce = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    groups, _ = BERTopic(umap_model=reduce, min_topic_size=LEAST, verbose=False).fit_transform(list(texts), vectors)
    return np.asarray(groups)


def evoc_groups(vectors: np.ndarray, texts: Sequence[str], true: int, seed: int) -> np.ndarray:
    import evoc

    return np.asarray(evoc.EVoC(random_state=seed).fit_predict(vectors))


WAYS: dict[str, Way] = {
    "turnwise": turnwise_groups,
    "Leiden, resolution 1": partial(leiden, resolution=1.0),
    "Leiden, resolution 4": partial(leiden, resolution=4.0),
    "k-means, true number": k_means,
    "k-means, silhouette": k_means_chosen,
    "HDBSCAN, raw": partial(raw_hdbscan, dims=None),
    "HDBSCAN, 10 components": partial(raw_hdbscan, dims=10),
    "PaCMAP + HDBSCAN": pacmap_hdbscan,
    "UMAP + HDBSCAN": umap_hdbscan,
    "BERTopic": bertopic,
    "EVoC": evoc_groups,
}


def limited(way: Way, limit: int, *given: Any) -> np.ndarray:
    """A run of a way, stopped after so many seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done in {limit} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        return way(*given)
    finally:
        signal.alarm(0)


def measured(way: Way, case: Case) -> dict[str, float]:
    true = len(set(case.labels[case.labels >= 0].tolist()))
    runs, seconds = [], []
    for seed in SEEDS:
        start = time.process_time()
        runs.append(way(case.vectors, case.texts, true, seed))
        seconds.append(time.process_time() - start)
    parts = []
    for seed in SEEDS:
        rows = np.sort(np.random.default_rng(seed).permutation(len(case.vectors))[: int(0.9 * len(case.vectors))])
        groups = np.full(len(case.vectors), -2)
        groups[rows] = way(case.vectors[rows], [case.texts[row] for row in rows], true, 0)
        parts.append(groups)
    first, labelled = runs[0], case.labels >= 0
    inside = labelled & (first >= 0)
    return {
        "groups": len(set(first[first >= 0].tolist())),
        "left out": 100 * float((first < 0).mean()),
        "NMI": 100 * normalized_mutual_info_score(case.labels[inside], first[inside]),
        "purity": 100 * purity(first[inside], case.labels[inside]),
        "NMI of all": 100 * normalized_mutual_info_score(case.labels[labelled], first[labelled]),
        "seeds": 100 * agreement(runs),
        "subsamples": 100 * agreement(parts),
        "CPU s": min(seconds),  # the first of some ways compiles
    }


def agreement(runs: Sequence[np.ndarray]) -> float:
    """Mean adjusted Rand index of all pairs, over what both have; what is left out is a group."""
    scores = []
    for a, b in combinations(runs, 2):
        both = (a >= -1) & (b >= -1)
        scores.append(adjusted_rand_score(a[both], b[both]))
    return float(np.mean(scores))


def cases(corpus: Corpus, messages: int, arguments: argparse.Namespace) -> Iterator[Case]:
    usable = np.asarray([bool(text.strip()) for text in corpus.texts])
    rows = sample_rows(keys_of(corpus.texts, 0), messages, usable)
    codes = corpus.message_labels[arguments.message_label].codes
    yield Case("messages", np.array(corpus.vectors[rows]), [corpus.texts[row] for row in rows], codes[rows])
    label = corpus.conversation_labels[arguments.conversation_label]
    rows = sample_rows(keys_of(corpus.ids, 0), messages, single(label))
    starts = corpus.first[rows]
    texts = [
        "\n".join(corpus.texts[start : start + turns]) for start, turns in zip(starts, corpus.turns[rows].astype(int))
    ]
    yield Case("conversations", np.array(corpus.conversation_vectors[rows]), texts, label.codes[rows])


def single(label: Label) -> np.ndarray:
    """The rows with a single value, which lists are not."""
    one = np.asarray([", " not in value for value in label.values])
    return (label.codes >= 0) & one[label.codes]


def print_table(case: Case, ways: Sequence[str], limit: int) -> None:
    labelled = int((case.labels >= 0).sum())
    print(f"\n{len(case.vectors):,} {case.name}, {labelled:,} with a label", flush=True)
    columns = ["groups", "left out", "NMI", "purity", "NMI of all", "seeds", "subsamples", "CPU s"]
    print("| | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|", flush=True)
    for name in ways:
        try:
            values: dict[str, Any] = measured(partial(limited, WAYS[name], limit), case)
        except ImportError as error:
            print(f"| {name} | {error.name} is not installed |", flush=True)
            continue
        except Exception as error:  # a rival that fails is a result
            print(f"| {name} | fails: {type(error).__name__}: {str(error)[:100]} |", flush=True)
            continue
        shown = [f"{values[column]:.0f}" if column == "groups" else f"{values[column]:.1f}" for column in columns]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "data",
        nargs="?",
        default="sample",
        help="conversations, or the folder of a store; by default, or as 'sample', some are generated",
    )
    parser.add_argument("--message-label", default="intent")
    parser.add_argument("--conversation-label", default="domain")
    parser.add_argument("--messages", type=int, default=5000, help="of the sample, each text once")
    parser.add_argument("--history", action="store_true", help="messages with what was said before them")
    parser.add_argument("--only", choices=["messages", "conversations"])
    parser.add_argument("--seconds", type=int, default=600, help="most for one run of a way")
    parser.add_argument("--ways", default=";".join(WAYS), help="separated by semicolons")
    add_quick(parser, data="sample", messages=200, ways="turnwise;Leiden, resolution 1")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.data != "sample" and Path(arguments.data).is_dir():
            store = ConversationStore.open(arguments.data, read_only=True)
        else:
            given = arguments.data
            rows = (
                turnwise.sample_conversations(80 if arguments.quick else 2000)
                if given == "sample"
                else turnwise.read_conversations(given)
            )
            store = ConversationStore.open(Path(folder) / "store")
            store.add(rows)
        corpus = read_corpus(store.tables(), Path(folder))
        corpus = with_history(corpus, Path(folder)) if arguments.history else corpus
        for case in cases(corpus, arguments.messages, arguments):
            if arguments.only in (None, case.name):
                print_table(case, arguments.ways.split(";"), arguments.seconds)


if __name__ == "__main__":
    main()
