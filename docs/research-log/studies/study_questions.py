"""The gain of ten questions, "are these two the same request?", answered from labels.

Sets are those of study_groups.py, and HWU64 and SNIPS. For each: the accuracy of groups matched one to one with labels
as they are chosen, after ten questions, and at the best number, chosen with labels among all merges (or the chosen one,
if that is better). With --untouched, sets are the boards of study_number.py, but for exports. A side
is of the label that most of its texts have, or of the three that are shown; without any that half of them have, the
answer is that one cannot say, which counts as a question. The share of the way is that of the sums over all sets.

Run: python docs/research-log/studies/study_questions.py [--seeds 3] [--encoder FOLDER] [--untouched FOLDER]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from unittest import mock

import numpy as np

import study_groups
import study_number
from quick import add_quick
from study_groups import Case, cases, distinct, messages_of
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.groups import fitting
from turnlens.groups.communities import merged, neighbour_graph
from turnlens.groups.fitting import fit_groups, small_communities, sums_of
from turnlens.groups.group_settings import GroupSettings, neighbours_among
from turnlens.groups.merge_tree import MergeTree, merge_tree
from turnlens.groups.neighbours import nearest

QUESTIONS = 10
SHOWN = 3
AROUND = 6  # numbers tried for each doubling


def accuracy(groups: np.ndarray, labels: np.ndarray) -> float:
    return 100 * discovery_figures(groups, labels)["accuracy"]


def answer(tree: MergeTree, merge: int, case: Case, shown: bool) -> bool | None:
    said = []
    for side in tree.sides[merge]:
        rows = np.flatnonzero(side[tree.piece])
        if shown:
            likeness = case.vectors[rows] @ case.vectors[rows].sum(0)
            rows = rows[np.argsort(-likeness, kind="stable")[:SHOWN]]
        label, count = Counter(case.labels[rows].tolist()).most_common(1)[0]
        if 2 * count < len(rows):
            return None
        said.append(label)
    return said[0] == said[1]


def after(tree: MergeTree, case: Case, shown: bool) -> float:
    answers: dict[int, bool] = {}
    asked: set[int] = set()
    for _ in range(QUESTIONS):
        merge = tree.question(answers, asked)
        if merge is None:
            break
        asked.add(merge)
        same = answer(tree, merge, case, shown)
        if same is not None:
            answers[merge] = same
    return accuracy(np.unique(tree.regrouped(case.vectors, answers), return_inverse=True)[1], case.labels)


def measured(case: Case, seed: int) -> dict[str, tuple[float, float, float, float]]:
    """For groups of messages and of requests: chosen, best, after ten by the texts shown, and by all texts."""
    near = nearest(case.vectors, case.vectors, neighbours_among(len(case.vectors)))
    small = small_communities(neighbour_graph(near.rows), seed)
    levels = merged(sums_of(case.vectors, small))
    found = {}
    with mock.patch.multiple(fitting, small_communities=lambda *_: small, merged=lambda _: levels):
        steps = range(AROUND, int(AROUND * np.log2(min(len(levels), 3 * case.intents + 20))) + 1)
        numbers = sorted({round(2 ** (step / AROUND)) for step in steps})
        fits = [fit_groups(case.vectors, near, GroupSettings(granularity=number, seed=seed)) for number in numbers]
        best = max(accuracy(fit.fine, case.labels) for fit in fits)
        for requests in (False, True):
            fine = fit_groups(case.vectors, near, GroupSettings(seed=seed), requests=requests).fine
            chosen = accuracy(fine, case.labels)
            tree = merge_tree(case.vectors, fine, small, np.zeros(int(fine.max()) + 1, bool))
            told = [after(tree, case, shown) for shown in (True, False)]
            found["requests" if requests else "messages"] = (chosen, max(best, chosen), *told)
    return found


def more_sets(quick: bool) -> dict[str, list[study_groups.Labelled]]:
    further = {} if quick else {"hwu64": ("hwu64/test", "hwu64/train"), "snips": ("snips/test", "snips/train")}
    return {**SETS(quick), **{name: distinct(messages_of(*files)) for name, files in further.items()}}


SETS = study_groups.sets


def boards(untouched: str) -> Iterator[Case]:
    for board in study_number.cases(untouched, None, ""):
        labels = np.unique(board.labels, return_inverse=True)[1]
        yield Case(f"{board.kind}: {board.name}", board.vectors, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", help="its folder; by default the one that turnlens uses")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--untouched", help="the folder of the untouched encoder, for other boards")
    add_quick(parser, seeds=1)
    arguments = parser.parse_args()
    every: Iterable[Case]
    if arguments.untouched:
        every = boards(arguments.untouched)
    else:
        with mock.patch.object(study_groups, "sets", more_sets):
            every = cases(arguments.encoder, bool(arguments.quick))
    print("| groups of | set | chosen | best | after ten, texts shown | after ten, all texts |\n" + "|---" * 6 + "|")
    figures = defaultdict(list)
    for case in every:
        for seed in range(arguments.seeds):
            for kind, row in measured(case, seed).items():
                figures[kind, case.name].append(row)
        for kind in ("messages", "requests"):
            means = np.mean(figures[kind, case.name], 0)
            print(f"| {kind} | {case.name} | " + " | ".join(f"{mean:.1f}" for mean in means) + " |", flush=True)
    for kind in ("messages", "requests"):
        table = np.asarray([rows for (own, _), rows in figures.items() if own == kind])  # (sets, seeds, 4)
        way = (table[..., 1] - table[..., 0]).sum(0)
        for column, name in ((2, "texts shown"), (3, "all texts")):
            gain = (table[..., column] - table[..., 0]).sum(0)
            seeds = " ".join(f"{100 * share:.0f}" for share in gain / np.maximum(way, 1e-9))
            print(f"{kind}, {name}: {100 * gain.sum() / max(way.sum(), 1e-9):.0f} % of the way (seeds: {seeds})")


if __name__ == "__main__":
    main()
