"""The worth of each rule and each number by which groups come about: without it, and with half and twice the number.

Boards are labelled requests by themselves (customers alone), requests within conversations (both sides), and untidy
exports of a help desk, each a folder with tickets.csv and truth.json below --exports. The encoder has not learned from
the source of a board: it is the untouched one, where the one that ships has. The figure of an export is the mean of
precision and recall of its list of requests; of all others, the accuracy of groups matched one to one with labels.
The table has the change of the mean of each kind of board, and of the mean of all sources, in points.

Run: python docs/research-log/studies/study_rules.py --untouched FOLDER --exports FOLDER [--only TEXT] [--seeds 1]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import turnlens
from quick import add_quick, data_folder
from turnlens.encoders import context_projection
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.groups import answer_guess, canned_replies, communities, fitting, group_settings, neighbours, pipeline
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.pipeline import Grouping
from turnlens.report import analysis, boilerplate, building, corpus, find_requests
from turnlens.report.speakers import speakers_of

LEAST = 5  # requests of a label
LEARNED = ("multidogo", "clinc", "star", "sgd")  # sources that the encoder that ships has learned from
REAL = 0.6  # of the tickets of a listed request must be of one kind
PARTS = ("dev", "test", "train")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Board:
    name: str
    kind: str  # alone, both, export
    rows: Sequence[Row]
    labels: Mapping[str, str]  # of each conversation

    @property
    def source(self) -> str:
        return self.name.split()[0].split("-")[0]


def conversations(*files: str) -> list[Row]:
    return [row for file in files for row in turnlens.read_conversations(data_folder() / f"{file}.jsonl.gz")]


def alone(name: str, pairs: Sequence[tuple[str, str]], most: int) -> Board:
    """Requests by themselves, each text once, without rare labels."""
    distinct = sorted(dict(pairs).items())
    random.Random(0).shuffle(distinct)
    sizes = Counter(label for _, label in distinct[:most])
    kept = [(text, label) for text, label in distinct[:most] if sizes[label] >= LEAST]
    rows = [
        {"id": str(number), "messages": [{"role": "user", "content": text}]} for number, (text, _) in enumerate(kept)
    ]
    return Board(name, "alone", rows, {str(number): label for number, (_, label) in enumerate(kept)})


def both(name: str, rows: Sequence[Row], label: str, most: int) -> Board:
    """Whole conversations, each with the task that it is about."""
    of = {row["id"]: row[label] for row in rows if isinstance(row.get(label), str)}
    ids = sorted(of)
    random.Random(0).shuffle(ids)
    chosen = set(ids[: most // 3])
    kept = [{"id": row["id"], "messages": row["messages"]} for row in rows if row["id"] in chosen]
    return Board(name, "both", kept, {id: of[id] for id in chosen})


def export(folder: Path) -> Board:
    with (folder / "tickets.csv").open(encoding="cp1252", newline="") as file:
        turns: dict[str, list[dict[str, str]]] = defaultdict(list)
        for row in csv.DictReader(file):
            if row["Ticket ID"] and row["Comment"]:
                turns[row["Ticket ID"]].append({"role": row["Author Type"], "content": row["Comment"]})
    truth = json.loads((folder / "truth.json").read_text())["tickets"]
    rows = [{"id": id, "messages": messages} for id, messages in turns.items()]
    return Board(folder.name, "export", rows, {id: truth[id]["kind"] for id in turns})


def boards(exports: Path | None, most: int, quick: bool) -> list[Board]:
    if quick:
        sample = list(turnlens.sample_conversations(60))
        return [both("sample", sample, "domain", most)]

    def labelled(*files: str) -> list[tuple[str, str]]:
        said = [message for row in conversations(*files) for message in row["messages"]]
        return [(one["content"], one["intent"]) for one in said if one.get("intent") and " " not in str(one["intent"])]

    clinc = labelled("clinc150/dev", "clinc150/test")
    intents = sorted({intent for _, intent in clinc})
    random.Random(0).shuffle(intents)
    star, sgd = conversations("star/dev", "star/test"), conversations("sgd/dev")
    tasks = []
    for row in star:
        said = next((one["content"] for one in row["messages"] if one["role"] == "user"), None)
        tasks += [(said, row["task"])] if said and row["task"] else []
    services = []
    for row in sgd:
        asked = {one["intent"] for one in row["messages"] if one.get("intent")}
        services += [{**row, "task": asked.pop()}] if len(asked) == 1 else []
    return [
        alone("dstc11", labelled("dstc11_dev/insurance"), most),
        *(alone(f"multidogo {name}", labelled(f"multidogo/{name}/train"), most) for name in DOMAINS),
        alone("clinc 30", [one for one in clinc if one[1] in intents[:30]], most),
        alone("clinc 75", [one for one in clinc if one[1] in intents[30:105]], most),
        alone("hwu", labelled("hwu64/test", "hwu64/train"), most),
        alone("snips", labelled("snips/test", "snips/train"), most),
        alone("sgd", labelled("sgd/dev"), most),
        alone("star", tasks, most),
        both("star talks", star, "task", most),
        both("sgd talks", services, "task", most),
        *(export(folder) for folder in sorted(exports.iterdir() if exports else ())),
    ]


DOMAINS = ("airline", "fastfood", "insurance", "software")


class Judge:
    """Measures boards, each embedded once."""

    def __init__(self, every: Sequence[Board], untouched: str | None) -> None:
        self.boards, self._folder = every, Path(tempfile.mkdtemp(prefix="turnlens-boards-"))
        self._corpora: dict[str, corpus.Corpus] = {}
        embedded = corpus.store_encoder
        with mock.patch.object(corpus, "store_encoder", lambda *given: embedded(*given).with_cache()):
            for number, board in enumerate(every):
                folder = self._folder / str(number)
                folder.mkdir()
                encoder = untouched if board.source in LEARNED else None
                self._corpora[board.name] = corpus.embedded_corpus(list(board.rows), encoder, folder)

    def figure(self, board: Board, seed: int) -> tuple[float, int]:
        """The figure of a board in per cent, and the number of groups that are listed."""
        own, found = self._corpora[board.name], []

        def keep(told: corpus.Corpus, speakers: Any, groupings: Any, naming: Any) -> tuple[Any, Any]:
            found.append((told, speakers, groupings["message"].groups))
            return {}, {"message": groupings["message"].model}

        grouped = analysis._grouped

        def only_messages(told: Any, vectors: Any, kind: str, *rest: Any) -> Grouping:
            if kind == "message":
                return grouped(told, vectors, kind, *rest)
            return pipeline.group_vectors(vectors, [""] * len(told.ids), GroupSettings())

        spans = building.find_boilerplate(own.texts, own.conversation, own.role, own.vectors)
        with (
            mock.patch.object(analysis, "named_groups", keep),
            mock.patch.object(analysis, "_grouped", only_messages),
            mock.patch.object(analysis, "unhappiness", lambda told, *_: np.full(len(told.texts), np.nan)),
        ):
            analysis.analyse(own, spans, speakers_of(own), GroupSettings(seed=seed), {})
        told, speakers, groups = found[0]
        asked = speakers.part == (speakers.requests if speakers.requests is not None else speakers.parts.index)
        moves = find_requests.moves_among(groups, told, speakers)
        listed = [id for id in np.unique(groups[asked & (groups >= 0)]).tolist() if id not in moves]
        if board.kind == "export":
            return list_figure(board, told, groups, listed), len(listed)
        rows = np.flatnonzero(asked)
        first = rows[np.unique(told.conversation[rows], return_index=True)[1]]
        of = dict(zip(told.conversation[first].tolist(), groups[first].tolist()))
        pairs = [(of.get(number, -1), board.labels[id]) for number, id in enumerate(told.ids)]
        own_groups = [group if group in listed else -1 for group, _ in pairs]
        return 100 * discovery_figures(own_groups, [label for _, label in pairs])["accuracy"], len(listed)

    def measure(self, seeds: int) -> dict[str, tuple[float, float]]:
        figures = {}
        for board in self.boards:
            runs = [self.figure(board, seed) for seed in range(seeds)]
            figures[board.name] = tuple(np.mean(runs, axis=0).tolist())
        return figures


def list_figure(board: Board, told: corpus.Corpus, groups: np.ndarray, listed: Sequence[int]) -> float:
    """The mean of precision and recall of a list of requests."""
    found: set[str] = set()
    for id in listed:
        kinds = Counter(board.labels[told.ids[place]] for place in np.unique(told.conversation[groups == id]))
        kind, count = kinds.most_common(1)[0]
        found |= {kind} if count >= REAL * kinds.total() else set()
    return 50 * (len(found) / max(1, len(listed)) + len(found) / len(set(board.labels.values())))


def _nowhere(texts: Sequence[str], *_: Any) -> list[tuple[Any, ...]]:
    return [() for _ in texts]


def _as_it_is(labels: Any, *_: Any) -> Any:
    return labels


# A rule, and what leaves it out: modules, names, and what stands in their place.
RULES: dict[str, list[tuple[Any, str, Any]]] = {
    "one price": [
        (fitting, "_PRICE_OF_REQUESTS", 1.0),
        (fitting, "_ALIKE", 1e9),
    ],
    "price of requests": [(fitting, "_PRICE_OF_REQUESTS", 1.0)],
    "alike requests joined": [(fitting, "_ALIKE", 1e9)],
    "bound of requests": [(fitting, "_MORE", 1e9)],
    "settling": [(fitting, "_ROUNDS", 0)],
    "outliers": [(pipeline, "outlier_cosine", lambda *_: -1.0)],
    "a third of the votes": [(neighbours, "LEAST_SHARE", 0.0)],
    "courtesies: short": [(find_requests, "_SHORTER", 0.0)],
    "courtesies: words": [
        (find_requests, "is_courtesy", lambda _: False),
        (find_requests, "courtesy_name", lambda _: ""),
    ],
    "canned texts of the asker": [(find_requests, "split_from_canned", _as_it_is)],
    "boilerplate": [(building, "find_boilerplate", _nowhere)],
    "sentences that decide the answer": [(boilerplate, "decisive", lambda *_: set())],
    "context": [(analysis, "fit_context_projection", lambda *_: None)],
    "answers": [(analysis, "fit_answer_guess", lambda *_: None)],
    "canned texts": [(analysis, "canned_texts", lambda texts, *_: np.full(len(texts), -1))],
}
MODULES = (fitting, communities, neighbours, group_settings, canned_replies, answer_guess, context_projection)
MODULES += (find_requests, boilerplate)
TECHNICAL = {"_SCORES_AT_ONCE", "_ROWS_AT_ONCE", "_PARTS", "_SAME_TEXT", "_ITERATIONS", "_SWEEPS", "MOST_TAUGHT"}


def variants(only: str) -> list[tuple[str, list[tuple[Any, str, Any]]]]:
    found: list[tuple[str, list[tuple[Any, str, Any]]]] = []
    for name, changes in RULES.items():
        if all(hasattr(module, attribute) for module, attribute, _ in changes):
            found.append((f"without {name}", changes))
    for module in MODULES:
        for name, value in vars(module).items():
            is_number = name.isupper() and isinstance(value, int | float) and name not in TECHNICAL
            for times in (0.5, 2) if is_number else ():
                changed = type(value)(max(1, round(value * times)) if isinstance(value, int) else value * times)
                called = f"{module.__name__.rpartition('.')[2]}.{name} {value:g} → {changed:g}"
                found.append((called, [(module, name, changed)]))
    return [one for one in found if any(part in one[0] for part in only.split(";"))]


def print_row(name: str, figures: Mapping[str, tuple[float, float]], base: Mapping[str, Any], every: Any) -> None:
    """Print the figures as differences from the base, by kind of board, and by source."""
    kinds, sources = defaultdict(list), defaultdict(list)
    for board in every:
        change = figures[board.name][0] - (base[board.name][0] if base else 0)
        kinds[board.kind].append(change)
        sources[board.source].append(change)
    mean = np.mean([np.mean(values) for values in sources.values()])
    cells = [f"{np.mean(kinds[kind]):+.1f}" if kind in kinds else "" for kind in ("alone", "both", "export")]
    by_source = "; ".join(f"{source} {np.mean(values):+.1f}" for source, values in sources.items())
    print(f"| {name} | {mean:+.1f} | " + " | ".join(cells) + f" | {by_source} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--untouched", help="the folder of the untouched encoder")
    parser.add_argument("--exports", type=Path, help="the folder of untidy exports")
    parser.add_argument("--only", default="", help="variants whose name has one of these; 'nothing' for the base")
    parser.add_argument("--boards", default="", help="boards whose name or kind has this")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--most", type=int, default=1000, help="messages or thrice the conversations of a board")
    add_quick(parser, only="without boilerplate")
    arguments = parser.parse_args()
    every = boards(arguments.exports, arguments.most, bool(arguments.quick))
    every = [one for one in every if arguments.boards in one.name + one.kind]
    start = time.process_time()
    judge = Judge(every, arguments.untouched)
    print(f"embedded in {time.process_time() - start:.0f} CPU s", flush=True)
    start = time.process_time()
    base = judge.measure(arguments.seeds)
    print(f"measured in {time.process_time() - start:.0f} CPU s\n\n| board | figure | listed |\n|---|---|---|")
    for name, (figure, listed) in base.items():
        print(f"| {name} | {figure:.1f} | {listed:.0f} |")
    print("\n| | all sources | alone | both | export | by source |\n|---|---|---|---|---|---|")
    print_row("as it is", base, {}, every)
    for name, changes in variants(arguments.only):
        with ExitStack() as stack:
            for module, attribute, instead in changes:
                stack.enter_context(mock.patch.object(module, attribute, instead))
            print_row(name, judge.measure(arguments.seeds), base, every)


if __name__ == "__main__":
    main()
