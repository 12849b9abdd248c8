"""Ways to choose the number of groups, on one tree of merges for each board, beside k-means that is told the number.

Boards are vectors as `fit_groups` gets them: up to 800 texts of each of the sets of `study_groups`; draws of DSTC 11,
HWU64 and SNIPS; imbalanced draws, in which three intents are a third; draws whose texts are repeated; requests of
conversations of STAR and SGD, with answers; and those of untidy exports. Encoders have not learned from the source of
a board, unless its kind says "ships". Accuracy matches groups and labels one to one. With --subsamples, 80 % of 400
texts of each of six boards is grouped so many times, and those times are counted in which there are fewer groups than
two thirds of the median, or more than twice as many.

Run: python docs/research-log/studies/study_number.py --untouched FOLDER [--exports FOLDER] [--subsamples 170]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import log, log2
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_mutual_info_score

import turnlens
from study_groups import Labelled, k_means, k_means_chosen, sets
from study_rules import LEAST, PARTS, Board, conversations, export
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.vector_cache import VectorCache
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.groups import fitting, model_updates, pipeline
from turnlens.groups.communities import by_size, joined, merged, neighbour_graph
from turnlens.groups.group_settings import GroupSettings, neighbours_among
from turnlens.groups.neighbours import nearest
from turnlens.report import analysis, building, corpus
from turnlens.report.speakers import speakers_of

STEPS = 6  # numbers that are tried for each doubling
LEAST_ANSWERS = 60
SUBSAMPLED = {
    "calls": "DSTC 11 0",
    "HWU64": "HWU64 0",
    "imbalanced": "CLINC150 0",
    "sets": "airline",
    "talks": "STAR 0",
}
SUBSAMPLED |= {"exports, ships": "multidogo-a1"}
REMARKS = (
    "I write from the train.",
    "It rained all week here.",
    "I hope you are well.",
    "My husband says I worry too much.",
    "The bus only runs every two hours.",
    "I do night shifts at the moment.",
    "Thank you for the lovely card.",
)
SMOOTHING = (1, 3, 10, 30, 100, 300, 1000, 3000)  # words of all texts that each group has besides its own
SHRINKING = (0.3, 1, 3, 10, 30, 100)  # answers at the middle of all that each group has besides its own
SHARPNESS = 2.0 ** np.arange(0, 12, 0.5)  # of a mixture


@dataclass(frozen=True)
class Case:
    """A board: vectors (n, dim), their labels and texts (n), and the vectors of answers, NaN for none (n, dim)."""

    name: str
    kind: str
    vectors: np.ndarray
    labels: Sequence[str]
    texts: Sequence[str]
    answers: np.ndarray | None = None


class Tree:
    """The groups of vectors (n, dim) at any number."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors, self.centred = vectors, unit_vectors(vectors - vectors.mean(0))
        self.rows = nearest(vectors, vectors, neighbours_among(len(vectors))).rows
        self.nearest = self.rows[:, : max(1, round(fitting._COPIES * self.rows.shape[1]))]
        self.parts = fitting.small_communities(neighbour_graph(self.rows), 0)
        self.levels = merged(fitting.sums_of(vectors, self.parts))
        self._found: dict[int, np.ndarray] = {}

    def at(self, number: int) -> np.ndarray:
        number = min(number, len(self.levels))
        if number not in self._found:
            labels = self.levels[number - 1][self.parts]
            large = by_size(np.where(np.bincount(labels)[labels] >= self.rows.shape[1] / 2, labels, -1))
            self._found[number] = fitting.settled(self.vectors, large)
        return self._found[number]

    def near(self, number: float) -> np.ndarray:
        sizes = np.bincount(self.parts)
        large = [int((np.bincount(level, weights=sizes) >= self.rows.shape[1] / 2).sum()) for level in self.levels]
        return self.at(int(np.abs(np.asarray(large) - number).argmin()) + 1)

    def leaving_out(self, few: int) -> Tree:
        """The same, if so many neighbours do not count for closeness."""
        other = copy(self)
        other.nearest = self.rows[:, :few]
        return other

    @cached_property
    def numbers(self) -> list[int]:
        steps = range(STEPS, int(STEPS * log2(len(self.levels))) + 1)
        numbers = {max(2, round(2 ** (step / STEPS))) for step in steps}
        return sorted(number for number in numbers if self.at(number).max() >= 0)

    def priced(self, price: float) -> np.ndarray:
        return fitting._best_at(self.vectors, self.nearest, lambda level: self.at(level + 1), len(self.levels))(price)

    def joined(self, labels: np.ndarray) -> np.ndarray:
        return by_size(joined(fitting.sums_of(self.vectors, labels), np.bincount(labels), fitting._ALIKE)[labels])


def two_prices(tree: Tree, more: float, else_usual: bool = False) -> np.ndarray:
    """The groups of the lower price, or `more` times as many as at the usual one, or just these; joined."""
    fine, finer = tree.priced(fitting._PRICE), tree.priced(fitting._PRICE_OF_REQUESTS)
    most = more * (fine.max() + 1)
    return tree.joined(finer if finer.max() + 1 <= most else fine if else_usual else tree.near(most))


def entropy_score(labels: np.ndarray, tree: Tree) -> float:
    """The score at a price of 1.0, with the bits of the best code for groups of unequal sizes."""
    shares = np.bincount(labels) / len(labels)
    entropy = -(shares * np.log(np.maximum(shares, 1e-12))).sum()
    return log(max(fitting.closeness(tree.centred, labels, tree.nearest), 1e-4)) - float(entropy) / log(len(labels))


def word_bits(labels: np.ndarray, words: Any) -> np.ndarray:
    """The bits of the group of each text, and of its words, given all others of the group (n,)."""
    every, own, sizes = np.asarray(words.sum(0)).ravel(), np.asarray(words.sum(1)).ravel(), np.bincount(labels)
    members = sparse.csr_matrix((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    grouped, pairs = (members @ words).toarray(), words.tocoo()
    usual = (every[pairs.col] - pairs.data + 1) / (every.sum() - own[pairs.row] + len(every))
    counts, totals = grouped[labels[pairs.row], pairs.col] - pairs.data, grouped.sum(1)[labels] - own
    shares = ((counts + prior * usual) / (totals[pairs.row] + prior) for prior in SMOOTHING)
    bits = [np.bincount(pairs.row, -pairs.data * np.log2(share), minlength=len(labels)) for share in shares]
    return min(bits, key=np.mean) - np.log2((sizes[labels] - 0.5) / (len(labels) - 1 + len(sizes) / 2))


def answer_errors(labels: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The squared distance of each answer from the mean of the others in its group (n,)."""
    sums, sizes = np.zeros((labels.max() + 1, answers.shape[1])), np.bincount(labels)
    np.add.at(sums, labels, answers)
    means = ((sums[labels] - answers) / (sizes[labels] - 1 + prior)[:, None] for prior in SHRINKING)
    return min((((answers - mean) ** 2).sum(1) for mean in means), key=np.mean)


def mixture_costs(first: Tree, second: Tree, number: int, dimensions: float) -> np.ndarray:
    """The code lengths of the vectors of one half, by a mixture around the groups of the other (n,)."""
    labels = first.at(number)
    sizes = np.bincount(labels) + 0.5
    means = unit_vectors(fitting.sums_of(first.centred, labels))
    away = unit_vectors(second.vectors - first.vectors.mean(0)) @ means.T - 1
    shares = np.log(sizes / sizes.sum())
    costs = [-logsumexp(shares + sharp * away, axis=1) - dimensions / 2 * log(sharp) for sharp in SHARPNESS]
    return min(costs, key=np.mean)


def agreement(first: Tree, second: Tree, number: int) -> float:
    """The agreement of the groups of one half with the nearest groups of the other."""
    means = unit_vectors(fitting.sums_of(first.vectors, first.at(number)))
    return float(adjusted_mutual_info_score(second.at(number), (second.vectors @ means.T).argmax(1)))


def planted(labels: np.ndarray, tree: Tree) -> float:
    """The evidence of a planted partition of the graph of neighbours (Zhang and Peixoto 2020), a logarithm."""
    nodes, near = tree.rows.shape
    ends = np.arange(0, nodes * near + 1, near)
    links = sparse.csr_matrix((np.ones(nodes * near), tree.rows.ravel(), ends), shape=(nodes, nodes))
    members = sparse.csr_matrix((np.ones(nodes), (np.arange(nodes), labels)))
    between = (members.T @ links.maximum(links.T) @ members).toarray()
    sizes, groups, degrees = np.bincount(labels), labels.max() + 1, between.sum(1)
    inside = np.trace(between) / 2
    outside = degrees.sum() / 2 - inside
    evidence = gammaln(inside + 1) + gammaln(outside + 1) - inside * log(groups / 2) - log(inside + outside + 1)
    evidence -= outside * log(groups * (groups - 1) / 2) if groups > 1 else 0
    evidence += (gammaln(sizes) - gammaln(degrees + sizes) + gammaln(sizes + 1)).sum()
    return float(evidence + gammaln(groups) + gammaln(nodes - groups + 1) - gammaln(nodes))


def smallest(costs: Sequence[np.ndarray]) -> int:
    """The first whose cost is within a standard error of the least."""
    least = min(costs, key=np.mean)
    more = [cost - least for cost in costs]
    return next(place for place, one in enumerate(more) if one.mean() <= one.std() / len(one) ** 0.5)


def prices(tree: Tree) -> dict[str, np.ndarray]:
    """The groups by prices."""
    found = {f"1.0 and 0.7, at most {more} times, joining": two_prices(tree, more) for more in (1.25, 1.4, 1.6)}
    found["1.0 and 0.7, unless 1.6 times, joining"] = two_prices(tree, 1.6, else_usual=True)
    for few in (0, 1, 2, len(tree.rows[0]) // 2):
        found[f"{few} neighbours left out, else as today"] = two_prices(tree.leaving_out(few), 1.25)
    for price in (0.85, 0.9, 1.0):
        found[f"one price, {price}"] = tree.priced(price)
        found[f"one price, {price}, joining"] = tree.joined(tree.priced(price))
    return found


def ways(case: Case, tree: Tree) -> dict[str, np.ndarray]:
    """The groups by all ways but prices."""
    labels = [tree.at(number) for number in tree.numbers]
    words = CountVectorizer(token_pattern=r"[^\W\d_]+|\d+", min_df=2).fit_transform(case.texts)
    found = {
        "k-means, told the number": k_means(case.vectors, len(set(case.labels)), 0),
        "k-means, silhouette": k_means_chosen(case.vectors, 0, 0),
        "tree, told the number": tree.at(len(set(case.labels))),
        "tree, best number": max(labels, key=lambda one: discovery_figures(one, case.labels)["accuracy"]),
        "price 1.0 of entropy": max(labels, key=lambda one: entropy_score(one, tree)),
        "bits of words and groups": labels[smallest([word_bits(one, words) for one in labels])],
        "planted partition": max(labels, key=lambda one: planted(one, tree)),
    }
    if case.answers is not None:
        rows = np.flatnonzero(np.isfinite(case.answers[:, 0]))
        answers = unit_vectors(case.answers[rows] - case.answers[rows].mean(0))
        found["answers"] = labels[smallest([answer_errors(one[rows], answers) for one in labels])]
    rows, middle = np.random.default_rng(0).permutation(len(case.vectors)), len(case.vectors) // 2
    first, second = (Tree(case.vectors[half]) for half in (rows[:middle], rows[middle:]))
    variances = np.linalg.eigvalsh(tree.centred.T @ tree.centred)
    dimensions = variances.sum() ** 2 / (variances**2).sum()  # that count
    numbers = sorted({*tree.numbers} & {*first.numbers} & {*second.numbers})
    pairs = [(first, second), (second, first)]
    costs = [np.concatenate([mixture_costs(*pair, number, dimensions) for pair in pairs]) for number in numbers]
    agreed = [np.mean([agreement(*pair, number) for pair in pairs]) for number in numbers]
    found["held-out half by a mixture"] = tree.at(numbers[smallest(costs)])
    found["agreement of halves"] = tree.at(numbers[int(np.argmax(agreed))])
    return found


def draw(said: Sequence[Labelled], most: int, seed: int) -> list[Labelled]:
    """Some texts, each once, without rare labels."""
    texts = sorted(dict(said).items())
    random.Random(seed).shuffle(texts)
    sizes = Counter(label for _, label in texts[:most])
    return [(text, label) for text, label in texts[:most] if sizes[label] >= LEAST]


def imbalanced(said: Sequence[Labelled], most: int, seed: int) -> list[Labelled]:
    """Three labels with a third of the texts, and up to 27 others of one size."""
    of: dict[str, list[Labelled]] = defaultdict(list)
    for text, label in sorted(dict(said).items()):
        of[label].append((text, label))
    dice = random.Random(seed)
    for own in of.values():
        dice.shuffle(own)
    three = dice.sample([label for label in sorted(of) if len(of[label]) >= most // 9], 3)
    rest = [label for label in sorted(of) if label not in three and len(of[label]) >= 8]
    rest = dice.sample(rest, min(27, len(rest)))
    kept = [one for label in rest for one in of[label][: max(8, round(most * 2 / 3 / len(rest)))]]
    return kept + [one for label in three for one in of[label][: len(kept) // 6]]


class _Reached(Exception):
    """The requests are known."""


def requests_of(board: Board, kind: str, encoder: str | None) -> Case:
    """The requests of conversations, as the pipeline groups them."""
    held: dict[str, Any] = {}

    def holding(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            held[name] = made(*given)
            return held[name]

        return call

    fit = model_updates.fit_parts

    def until_requests(vectors: Any, near: Any, part: Any, settings: Any, canned: Any = None, asked: Any = None) -> Any:
        if asked is None:
            return fit(vectors, near, part, settings, canned, asked)
        held["vectors"], held["rows"] = vectors[part == asked], held["sample"][part == asked]
        raise _Reached

    embedder = corpus.store_encoder
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for module, name, instead in (
            (corpus, "store_encoder", lambda *given: embedder(*given).with_cache()),
            (pipeline, "sample_rows", holding("sample", pipeline.sample_rows)),
            (analysis, "Answers", holding("answers", analysis.Answers)),
            (analysis, "without_boilerplate", holding("told", analysis.without_boilerplate)),
            (analysis, "unhappiness", lambda told, *_: np.full(len(told.texts), np.nan)),
            (model_updates, "fit_parts", until_requests),
        ):
            stack.enter_context(mock.patch.object(module, name, instead))
        own = corpus.embedded_corpus(list(board.rows), encoder, Path(folder))
        spans = building.find_boilerplate(own.texts, own.conversation, own.role, own.vectors)
        stack.enter_context(suppress(_Reached))
        analysis.analyse(own, spans, speakers_of(own), GroupSettings(), {})
    told, rows = held["told"], held["rows"]
    means, is_answered = held["answers"].means(np.asarray(told.vectors), rows)
    answers = np.full((len(rows), means.shape[1]), np.nan)
    answers[is_answered] = means
    labels = [board.labels[told.ids[told.conversation[row]]] for row in rows]
    texts = [told.texts[row] for row in rows]
    return Case(board.name, kind, held["vectors"], labels, texts, answers if len(means) >= LEAST_ANSWERS else None)


def messages(*files: str) -> list[Labelled]:
    every = [message for row in conversations(*files) for message in row["messages"]]
    return [(one["content"], one["intent"]) for one in every if one.get("intent") and " " not in one["intent"]]


def repeated(said: Sequence[Labelled], seed: int) -> list[Labelled]:
    """Fifteen texts of each of 16 labels, one to four times each, with a remark, in small letters or mistyped."""
    dice = random.Random(seed)
    of_label: dict[str, set[str]] = defaultdict(set)
    for text, label in said:
        of_label[label].add(text)
    large = sorted(label for label, texts in of_label.items() if len(texts) >= 15)
    found: dict[str, str] = {}
    for label in dice.sample(large, min(16, len(large))):
        for text in dice.sample(sorted(of_label[label]), 15):
            for _ in range(dice.randint(1, 4)):
                copied = text.lower().rstrip(".?!") if dice.random() < 0.25 else text
                if dice.random() < 0.15:
                    place = dice.randrange(len(copied))
                    copied = copied[:place] + copied[place + 1 :]
                if dice.random() < 0.3:
                    remark = dice.choice(REMARKS)
                    copied = dice.choice((f"{copied} {remark}", f"{remark} {copied}"))
                found.setdefault(copied, label)
    return list(found.items())


def texts_of_boards() -> Iterator[tuple[str, str, bool, list[Labelled]]]:
    """The kind and name of boards of single texts, whether the encoder that ships has learned from them, and these."""
    dstc, snips = messages("dstc11_dev/insurance"), messages("snips/test", "snips/train")
    hwu, clinc = messages("hwu64/train", "hwu64/test"), messages(*(f"clinc150/{part}" for part in PARTS))
    sgd, airline = messages("sgd/dev"), messages("multidogo/airline/train")
    for seed in range(3):
        yield "calls", f"DSTC 11 {seed}", True, draw(dstc, 650, seed)
        yield "HWU64", f"HWU64 {seed}", False, draw(hwu, 900, seed)
        yield "SNIPS", f"SNIPS {seed}", False, draw(snips, 900, seed)
        yield "imbalanced", f"CLINC150 {seed}", True, imbalanced(clinc, 600, seed)
        yield "imbalanced", f"HWU64 {seed}, imbalanced", False, imbalanced(hwu, 600, seed)
        yield "imbalanced", f"SGD {seed}", False, imbalanced(sgd, 600, seed)
        yield "imbalanced", f"airline {seed}", True, imbalanced(airline, 600, seed)
        yield "imbalanced", f"DSTC 11 {seed}, imbalanced", True, imbalanced(dstc, 225, seed)
        for name, learned, said in (("DSTC 11", True, dstc), ("HWU64", False, hwu), ("CLINC150", True, clinc)):
            yield "repeated", f"{name} {seed}, repeated", learned, repeated(said, seed)
        yield "repeated", f"airline {seed}, repeated", True, repeated(airline, seed)
    for name, said in sets(False).items():
        few = list(dict(said).items())[: 1500 if name == "clinc 150" else 800]
        sizes = Counter(label for _, label in few)
        yield "sets", name, True, [one for one in few if sizes[one[1]] >= LEAST]


def talks() -> Iterator[tuple[bool, Board]]:
    """Conversations of one request each, and whether the encoder that ships has learned from them."""
    services = []
    for row in conversations("sgd/dev"):
        asked = {message["intent"] for message in row["messages"] if message.get("intent")}
        services += [{**row, "task": asked.pop()}] if len(asked) == 1 else []
    tasks = [row for row in conversations("star/dev", "star/test") if isinstance(row.get("task"), str)]
    for seed in range(3):
        for name, every in (("STAR", tasks), ("SGD", services)):
            rows = list(every)
            random.Random(seed).shuffle(rows)
            rows = rows[:200]
            yield name == "STAR", Board(f"{name} {seed}", "both", rows, {row["id"]: row["task"] for row in rows})


def cases(untouched: str, exports: Path | None, wanted: str) -> Iterator[Case]:
    """All boards of the wanted kinds."""
    for kind, name, learned, said in texts_of_boards():
        texts, labels = [text for text, _ in said], [label for _, label in said]
        ships = [("calls, ships", None), ("sets, ships", None)]
        for own, encoder in (
            (kind, untouched if learned else None),
            *(one for one in ships if one[0].startswith(f"{kind},")),
        ):
            if wanted in own:
                loaded = turnlens.load_encoder(encoder) if encoder else turnlens.load_encoder()
                vectors = encode_messages(loaded, texts, cache=VectorCache(loaded))
                yield Case(name, own, unit_vectors(np.asarray(vectors, np.float32)), labels, texts)
    for learned, board in talks() if wanted in "talks" else ():
        yield requests_of(board, "talks", untouched if learned else None)
    for folder in sorted(exports.iterdir() if exports and wanted in "exports, ships" else ()):
        yield requests_of(export(folder), "exports, ships", None)


def subsampled(case: Case, runs: int) -> None:
    """Print the numbers of groups of 80 % of at most 400 texts of a board, drawn again and again."""
    every = case.vectors[np.random.default_rng(99).permutation(len(case.vectors))[:400]]
    counts = defaultdict(list)
    for seed in range(runs):
        rows = np.random.default_rng(seed).permutation(len(every))[: int(0.8 * len(every))]
        for name, groups in prices(Tree(every[np.sort(rows)])).items():
            counts[name].append(int(groups.max()) + 1)
    for name, found in counts.items():
        usual = float(np.median(found))
        fewer, more = (int(np.sum(one)) for one in (np.less(found, usual * 2 / 3), np.greater(found, usual * 2)))
        print(f"| {case.name} | {name} | {usual:.0f} | {min(found)} to {max(found)} | {fewer} | {more} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--untouched", help="the folder of the untouched encoder")
    parser.add_argument("--exports", type=Path, help="the folder of untidy exports")
    parser.add_argument("--boards", default="", help="kinds of boards that have this in their name")
    parser.add_argument("--subsamples", type=int, default=0, help="of each of six boards, in place of the table")
    arguments = parser.parse_args()
    every = cases(arguments.untouched, arguments.exports, arguments.boards)
    if arguments.subsamples:
        print("| board | way | median | range | < ⅔ | > 2 × |\n" + "|---" * 6 + "|")
        for case in every:
            if SUBSAMPLED.get(case.kind) == case.name:
                subsampled(case, arguments.subsamples)
        return
    figures: dict[str, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    for case in every:
        tree, labels = Tree(case.vectors), len(set(case.labels))
        for way, groups in (prices(tree) | ways(case, tree)).items():
            told = discovery_figures(groups, case.labels)
            figures[way][case.kind].append(
                (100 * told["accuracy"], 100 * told["nmi"], log((groups.max() + 1) / labels))
            )
        print(case.kind, case.name, len(case.texts), labels, flush=True)
    kinds = list(figures["k-means, silhouette"])
    print(
        "\n| accuracy / NMI, groups per label | mean | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 2) + "|"
    )
    for way, of_kind in figures.items():
        means = {kind: np.mean(of_kind[kind], axis=0) for kind in kinds if kind in of_kind}
        cells = [f"{a:.1f} / {n:.0f}, {np.exp(r):.2f}" for a, n, r in means.values()]
        print(f"| {way} | {np.mean([a for a, _, _ in means.values()]):.1f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
