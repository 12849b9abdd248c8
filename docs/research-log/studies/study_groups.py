"""The agreement of groups with intents that no way of grouping has seen, and the number of groups that each way finds.

Twelve sets of labelled messages, each text once: of $TURNLENS_DATA the development part of DSTC 11 track 2, customers'
messages of MultiDoGO's four domains, CLINC150 (all, 50 of its intents, and two domains of 15), SGD's development part,
first messages of STAR by task; and generated conversations. For each way: accuracy with groups and intents matched one
to one (what is left out counts as wrong), NMI and ARI with what is left out as a group, purity of what is in a group,
share left out, on how many sets the number of groups is within a factor of 1.5 of the number of intents, agreement
(ARI) of 90 % subsamples, and CPU seconds; then the accuracy and the number of groups of each set.

Run: python docs/research-log/studies/study_groups.py [--encoder FOLDER] [--seeds 5]
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from unittest import mock

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, silhouette_score

import turnlens
from quick import add_quick, data_folder
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_messages
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.groups import neighbours as assigning
from turnlens.groups.communities import communities, neighbour_graph
from turnlens.groups.fitting import fit_groups
from turnlens.groups.group_settings import Granularity, GroupSettings, neighbours_among
from turnlens.groups.neighbours import nearest, outlier_cosine, vote

MOST = 3000  # texts of a set, but for CLINC150 as a whole
LEAST = 5  # texts of an intent
DOMAINS = {
    "kitchen": "recipe restaurant_reviews calories nutrition_info restaurant_suggestion ingredients_list "
    "ingredient_substitution cook_time food_last meal_suggestion restaurant_reservation confirm_reservation how_busy "
    "cancel_reservation accept_reservations",
    "banking": "transfer transactions balance freeze_account pay_bill bill_balance bill_due interest_rate routing "
    "min_payment order_checks pin_change report_fraud account_blocked spending_history",
}
Labelled = tuple[str, str]  # a text and its intent
Way = Callable[[np.ndarray, int, int], np.ndarray]  # vectors (n, dim), true number, seed -> groups (n,), -1 for none


@dataclass(frozen=True)
class Case:
    name: str
    vectors: np.ndarray  # (n, dim)
    labels: np.ndarray  # (n,)

    @property
    def intents(self) -> int:
        return int(self.labels.max()) + 1


def turnlens_groups(
    vectors: np.ndarray, true: int, seed: int, granularity: Granularity | int | None = "medium"
) -> np.ndarray:
    settings = GroupSettings(seed=seed, granularity=true if granularity is None else granularity)
    near = nearest(vectors, vectors, neighbours_among(len(vectors)))
    return vote(near, fit_groups(vectors, near, settings).fine, outlier_cosine(near.cosines[:, 0]))


def leiden(vectors: np.ndarray, true: int, seed: int, neighbours: int) -> np.ndarray:
    return communities(neighbour_graph(nearest(vectors, vectors, neighbours).rows), 1.0, seed)


def nine_tenths(vectors: np.ndarray, true: int, seed: int) -> np.ndarray:
    """The highest resolution at which nine tenths of the links stay within groups."""
    near = nearest(vectors, vectors, 15)
    graph = neighbour_graph(near.rows)
    links = graph.tocoo()
    for resolution in (4, 2, 1, 0.5, 0.25):
        groups = communities(graph, resolution, seed)
        if links.data[groups[links.row] == groups[links.col]].sum() >= 0.9 * links.data.sum():
            break
    large = np.where(np.bincount(groups)[groups] >= 7.5, groups, -1)
    with mock.patch.object(assigning, "LEAST_SHARE", 0.5):
        outvoted = replace(near, copy_of=np.full(len(vectors), -1))  # each text's neighbours decided on its group
        return vote(outvoted, large, outlier_cosine(near.cosines[:, 0]))


def k_means(vectors: np.ndarray, true: int, seed: int) -> np.ndarray:
    return KMeans(true, random_state=seed, n_init=3).fit_predict(vectors)


def k_means_chosen(vectors: np.ndarray, true: int, seed: int) -> np.ndarray:
    """The number with the best silhouette of 5, 10, 20, 40, 80 and 160."""
    tried = [
        KMeans(k, random_state=seed, n_init=1).fit_predict(vectors)
        for k in (5, 10, 20, 40, 80, 160)
        if k < len(vectors)
    ]
    size = min(2000, len(vectors))
    return max(tried, key=lambda groups: silhouette_score(vectors, groups, sample_size=size, random_state=seed))


def bertopic(vectors: np.ndarray, true: int, seed: int) -> np.ndarray:
    """The steps of BERTopic 0.17 with its defaults; needs `pip install bertopic`."""
    from hdbscan import HDBSCAN as TheirHDBSCAN
    from umap import UMAP

    reduced = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    return TheirHDBSCAN(min_cluster_size=10).fit_predict(reduced.fit_transform(vectors))


def hdbscan(vectors: np.ndarray, true: int, seed: int) -> np.ndarray:
    """As in BERTopic, on principal components instead of UMAP's, which needs a package that is not among ours."""
    reduced = PCA(10, random_state=seed).fit_transform(vectors)
    return HDBSCAN(min_cluster_size=10, copy=True).fit_predict(reduced)


WAYS: dict[str, Way] = {
    "turnlens": turnlens_groups,
    "turnlens, coarse": partial(turnlens_groups, granularity="coarse"),
    "turnlens, fine": partial(turnlens_groups, granularity="fine"),
    "turnlens, true number": partial(turnlens_groups, granularity=None),
    "nine tenths of the links": nine_tenths,
    "Leiden, 10 neighbours, resolution 1": partial(leiden, neighbours=10),
    "Leiden, 15 neighbours, resolution 1": partial(leiden, neighbours=15),
    "k-means, silhouette": k_means_chosen,
    "HDBSCAN, 10 components": hdbscan,
    "k-means, true number": k_means,
}
FURTHER_WAYS: dict[str, Way] = {"BERTopic": bertopic}


def measured(way: Way, case: Case, seeds: int) -> dict[str, float]:
    results = defaultdict(list)
    for seed in range(seeds):
        start = time.process_time()
        groups = way(case.vectors, case.intents, seed)
        results["CPU s"].append(time.process_time() - start)
        figures = discovery_figures(groups, case.labels)
        figures["purity"] = figures["precision"] / max(1 - figures["left_out"], 1e-9)
        for name, figure in (("NMI", "nmi"), ("ARI", "ari"), ("left out", "left_out")):
            figures[name] = figures.pop(figure)
        for name, figure in figures.items():
            results[name].append(100 * figure)
        results["groups"].append(len(np.unique(groups[groups >= 0])))
    return {name: float(np.mean(values)) for name, values in results.items()} | {"stable": stability(way, case)}


def stability(way: Way, case: Case) -> float:
    """The mean adjusted Rand index of three 90 % subsamples, over what two of them have."""
    runs = []
    for seed in range(3):
        rows = np.sort(np.random.default_rng(seed).permutation(len(case.vectors))[: int(0.9 * len(case.vectors))])
        groups = np.full(len(case.vectors), -2)
        groups[rows] = way(case.vectors[rows], case.intents, 0)
        runs.append(groups)
    scores = []
    for first, second in combinations(runs, 2):
        both = (first > -2) & (second > -2)
        scores.append(adjusted_rand_score(first[both], second[both]))
    return 100 * float(np.mean(scores))


def messages_of(*files: str) -> list[Labelled]:
    """The messages with an intent; those that were given slots in its place are left out."""
    messages = [
        (message["content"], message.get("intent") or "")
        for file in files
        for row in turnlens.read_conversations(data_folder() / f"{file}.jsonl.gz")
        for message in row["messages"]
    ]
    return [(text, intent) for text, intent in messages if intent and " " not in intent]


def first_messages_of(*files: str) -> list[Labelled]:
    """The first message of the user in each conversation, with the conversation's task."""
    pairs = []
    for file in files:
        for row in turnlens.read_conversations(data_folder() / f"{file}.jsonl.gz"):
            said = next((message["content"] for message in row["messages"] if message["role"] == "user"), None)
            if said and row["task"]:
                pairs.append((said, row["task"]))
    return pairs


def distinct(messages: Iterable[Labelled], most: int = MOST) -> list[Labelled]:
    """Each text once with its commonest intent, at most so many in random order, without rare intents."""
    intents: dict[str, Counter[str]] = defaultdict(Counter)
    for text, intent in messages:
        intents[" ".join(text.split())][intent] += 1
    items = [(text, counts.most_common(1)[0][0]) for text, counts in intents.items() if text]
    random.Random(0).shuffle(items)
    sizes = Counter(intent for _, intent in items[:most])
    return [(text, intent) for text, intent in items[:most] if sizes[intent] >= LEAST]


def sets(quick: bool) -> dict[str, list[Labelled]]:
    generated = turnlens.sample_conversations(100 if quick else 2000)
    sample = [(one["content"], one["intent"] or "") for row in generated for one in row["messages"]]
    found = {"sample": distinct((text, intent) for text, intent in sample if intent)}
    if quick:
        return found
    clinc = messages_of("clinc150/dev", "clinc150/test")
    intents = sorted({intent for _, intent in clinc})
    random.Random(0).shuffle(intents)
    parts = {"clinc 50": set(intents[:50])} | {f"clinc {name}": set(text.split()) for name, text in DOMAINS.items()}
    multidogo = ("airline", "fastfood", "insurance", "software")
    return {
        "dstc 11": distinct(messages_of("dstc11_dev/insurance")),
        **{name: distinct(messages_of(*(f"multidogo/{name}/{part}" for part in PARTS))) for name in multidogo},
        "clinc 150": distinct(clinc, len(clinc)),
        **{name: distinct(one for one in clinc if one[1] in chosen) for name, chosen in parts.items()},
        "sgd": distinct(messages_of("sgd/dev")),
        "star": distinct(first_messages_of(*(f"star/{part}" for part in PARTS))),
        **found,
    }


PARTS = ("dev", "test", "train")


def cases(encoder: str | None, quick: bool) -> list[Case]:
    model = turnlens.load_encoder(encoder) if encoder else turnlens.load_encoder()
    found = []
    for name, messages in sets(quick).items():
        vectors = unit_vectors(encode_messages(model, [text for text, _ in messages]))
        _, labels = np.unique([intent for _, intent in messages], return_inverse=True)
        found.append(Case(name, np.asarray(vectors, np.float32), labels))
    return found


def print_tables(every: Sequence[Case], ways: Sequence[str], seeds: int) -> None:
    columns = ["accuracy", "NMI", "ARI", "purity", "left out", "stable", "CPU s"]
    print("| | " + " | ".join(columns) + " | within 1.5 |\n" + "|---" * (len(columns) + 2) + "|", flush=True)
    rows = []
    for name in ways:
        results = [measured((WAYS | FURTHER_WAYS)[name], case, seeds) for case in every]
        near = sum(1 / 1.5 <= one["groups"] / case.intents <= 1.5 for one, case in zip(results, every))
        means = [f"{np.mean([one[column] for one in results]):.1f}" for column in columns]
        print(f"| {name} | " + " | ".join(means) + f" | {near} of {len(every)} |", flush=True)
        rows.append((name, [f"{one['accuracy']:.0f} ({one['groups']:.0f})" for one in results]))
    print("\n| accuracy (groups) | " + " | ".join(f"{case.name} ({case.intents})" for case in every) + " |")
    print("|---" * (len(every) + 1) + "|")
    for name, shown in rows:
        print(f"| {name} | " + " | ".join(shown) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", help="its folder; by default the one that turnlens uses")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ways", default=";".join(WAYS), help="separated by semicolons; also: BERTopic")
    add_quick(parser, seeds=1, ways="turnlens;k-means, true number")
    arguments = parser.parse_args()
    print_tables(cases(arguments.encoder, bool(arguments.quick)), arguments.ways.split(";"), arguments.seeds)


if __name__ == "__main__":
    main()
