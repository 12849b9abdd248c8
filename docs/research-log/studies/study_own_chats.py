"""The gain of `turnlens train` on one's own chats, by labels that it never sees, and which of its figures foretell it.

Of each corpus, some conversations (--learned) of the part to learn from are given to the default method and, with as
many steps, to DialogueCSE and dial2vec. All start from the encoder that ships; where the corpus is one of its
sources, from the encoder without that source, which `make encoder` leaves in its folder (--variants), or without
these from the encoder that knows no conversations. Labels of the test part judge: MAP of the messages' labels
(intents; of STAR the assistant's acts), MAP and NMI of k-means of whole conversations. For the default method they do
so at all shares of what was learned, as do figures without labels on the conversations that were held out; --foretell
tells how well the changes of these go with those of the labelled figures. They also judge what was kept once it is
projected, as the default method does last where most conversations have two sides. MultiDoGO has the customers'
messages only, from which neither paper's method can learn. The projection with which `turnlens cluster` finds groups
(context-projection) is learned from the vectors of as many conversations, other ones with each seed; beside it stands
what subtracting their mean does (centred).

What a user would write with stock trainers instead (rivals.py) starts from the same encoder and learns from the same
conversations, with --steps; beside it stands `turnlens train` as it is (train). These are judged by messages alone,
where these have labels, and training has seconds of processor and clock and the peak of memory of the process. BERTopic
with its defaults and `turnlens cluster` (cluster) group the same conversations of the test part, each with its own
encoder (needs `pip install bertopic`).

Results go to a JSON file; a second run continues where it stopped.

Run: python docs/research-log/studies/study_own_chats.py [--variants encoder] [--corpora sgd …] [--seeds 0 1 2]
     PYTHONPATH=benchmarks python docs/research-log/studies/study_own_chats.py --foretell
     PYTHONPATH=benchmarks python docs/research-log/studies/study_own_chats.py --what dse --steps 40 --corpora sgd
Data: $TURNLENS_DATA (sgd, star, multidogo, self_dialogue; .jsonl.gz each).
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
from scipy.stats import spearmanr

import turnlens
from quick import add_quick, data_folder, is_quick, results_file
from rivals import GROUPERS, RIVALS
from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import bootstrap_interval, unit_vectors
from turnlens.data.dataset_operations import draw_conversations
from turnlens.encoders.context_projection import ContextProjection, fit_context_projection
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.loading import as_sentence_transformer
from turnlens.encoders.messages import encode_messages
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.training.encoder_modes import made_for_bf16
from turnlens.training.held_out import HeldOut
from turnlens.training.recipes import Complete
from turnlens.training.recipes.complete import MOST_STEPS
from turnlens.training.run import Run, TrainingState
from turnlens.training.steps import SelectInterpolation, Shares, add_task_vectors, held_out_of

BEFORE = "before"  # none of what was learned
PAPERS = ("dialogue-cse", "dial2vec")
PROJECTIONS = ("centred", "context-projection")
STOCK = ("train", *RIVALS)
METHODS = ("untouched", "own", *PROJECTIONS, *PAPERS)
WHAT = (*METHODS, "before", *STOCK, *GROUPERS)
LABELLED = ("messages", "conversations", "groups")


@dataclass(frozen=True)
class Corpus:
    """Conversations to learn from and to be judged by.

    Attributes:
        learned: The file to learn from, in the folder of the data without the ending.
        test: The file with the labels.
        message_label: The field with the label of a message.
        label: The column with the label of whole conversations.
        without: The folder of the encoder without this source.
        role: Learn from the messages of this role alone.
    """

    learned: str
    test: str
    message_label: str | None = None
    label: str | None = None
    without: str | None = None
    role: str | None = None


CORPORA = {
    "sgd": Corpus("sgd/train", "sgd/test", "intent", "domains"),
    "star": Corpus("star/train", "star/test", "act", "task", "without-star-context"),
    **{
        f"multidogo-{domain}": Corpus(
            f"multidogo/{domain}/train",
            f"multidogo/{domain}/test",
            "intent",
            without=f"without-multidogo-{domain}",
        )
        for domain in ("airline", "fastfood", "insurance", "software")
    },
    "self_dialogue": Corpus("self_dialogue/train", "self_dialogue/dev", label="topic"),
    "generated": Corpus("", "", "intent", "domain"),
    # As if the one side had not been recorded.
    "sgd-user": Corpus("sgd/train", "sgd/test", "intent", "domains", role="user"),
    "star-assistant": Corpus("star/train", "star/test", "act", "task", "without-star-context", role="assistant"),
    "generated-user": Corpus("", "", "intent", "domain", role="user"),
}


@dataclass(frozen=True)
class Sizes:
    """The numbers of conversations learned from and judged by, and of queries."""

    learned: int = 1000
    test: int = 300
    queries: int = 300


class Judge:
    """The labels of a corpus, by which encoders are judged."""

    def __init__(self, corpus: Corpus, sizes: Sizes) -> None:
        self.corpus, self.queries = corpus, sizes.queries
        self.conversations = rows_of(corpus.test, sizes.test, seed=0)

    def labelled(
        self, encoder: ConversationEncoder, context: ContextProjection | None = None, briefly: bool = False
    ) -> dict[str, float]:
        """MAP of messages; MAP and NMI of conversations, read as one text without a centre; perhaps projected.

        Briefly, conversations are left out where messages have labels, since embedding them takes most of the time.
        """
        settings: dict[str, Any] = {"max_queries": self.queries, "conversation_label": self.corpus.label}
        figures, before = {}, encoder.centre
        encoder.centre = {}
        if self.corpus.message_label is not None:

            def embed(texts: list[str]) -> np.ndarray:
                vectors = encode_messages(encoder, texts, dtype=half())
                return vectors if context is None else context(vectors)

            settings["label"] = self.corpus.message_label
            task = "semantic-retrieval"
            (found,) = turnlens.evaluate(self.conversations, encoder=embed, tasks=task, **settings).values()
            figures["messages"] = found["map"]
        if self.corpus.label is not None and not (briefly and figures):

            def embed_whole(conversations: list[Any]) -> np.ndarray:
                vectors = encoder.encode_conversations(conversations, dtype=half())
                return vectors if context is None else replace(context, mean=vectors.mean(0))(vectors)

            tasks = ["conversation-retrieval", "domain-categorization"]
            found, groups = turnlens.evaluate(self.conversations, encoder=embed_whole, tasks=tasks, **settings).values()
            figures |= {"conversations": found["map"], "groups": groups["nmi"]}
        encoder.centre = before
        return figures


def half() -> Literal["bfloat16"] | None:
    return "bfloat16" if made_for_bf16() else None


def rows_of(part: str, count: int, seed: int) -> Any:
    """Some conversations of a file, or generated ones."""
    if not part:
        return turnlens.sample_conversations(count, seed=seed)
    return draw_conversations(turnlens.read_conversations(data_folder() / f"{part}.jsonl.gz"), count, seed)


def start_of(corpus: Corpus, variants: Path | None) -> ConversationEncoder:
    """The encoder that ships, without what it has learned from this corpus."""
    if corpus.without is None or is_quick():
        return turnlens.load_encoder(device="cpu")
    return as_sentence_transformer(BASE_ENCODER if variants is None else variants / corpus.without)


def unlabelled(held_out: HeldOut, vectors: np.ndarray) -> dict[str, float]:
    """The figures of an encoder by held-out conversations without labels, in percent."""
    figures = {name: float(values.mean()) for name, values in held_out.figures(vectors).items()}
    figures["halves"] = halves(held_out.turns, vectors)
    return {name: round(100 * value, 3) for name, value in figures.items()}


def halves(turns: np.ndarray, vectors: np.ndarray) -> float:
    """The mean reciprocal rank at which the first half of a conversation finds its second half among those of all."""
    starts = np.cumsum(turns) - turns
    units = unit_vectors(vectors)
    first, second = (
        np.stack([units[start + a * n // 2 : start + (a + 1) * n // 2].mean(0) for start, n in zip(starts, turns)])
        for a in (0, 1)
    )
    scores = unit_vectors(first - first.mean(0)) @ unit_vectors(second - second.mean(0)).T
    return float((1 / (scores >= np.diag(scores)[:, None]).sum(1)).mean())


class Judged(Exception):
    """Ends a training whose weights have been judged: head and centre, which come afterwards, do not change them."""


def own_training(rows: Any, encoder: ConversationEncoder, judge: Judge, seed: int, steps: int | None) -> dict[str, Any]:
    """The default method, judged by labels and without them at all shares that it compares, and which it keeps."""
    shares: dict[str, Any] = {}
    after: dict[str, Any] = {}
    choose = SelectInterpolation.__call__

    def watched(self: SelectInterpolation, state: TrainingState, run: Run) -> None:
        held, held_out = held_out_of(state)
        before = held_out.figures(state.vectors["alone"][: len(held_out.text)])
        for of_steps in (Shares(), *self.shares):
            encoder = add_task_vectors(state, of_steps)
            vectors = self.recipe.alone(encoder, held)
            figures = held_out.figures(vectors)
            shares[told(of_steps)] = {
                "labelled": judge.labelled(encoder),
                "held_out": unlabelled(held_out, vectors),
                "gain": {
                    name: [100 * end for end in bootstrap_interval(figures[name] - before[name])] for name in figures
                },
            }
        choose(self, state, run)
        after["kept"] = told(state.record["learned"])
        after["projected"] = judge.labelled(state.encoder, projection_of(rows, state.encoder, "context-projection"))
        raise Judged

    with mock.patch.object(SelectInterpolation, "__call__", watched), suppress(Judged):
        turnlens.train(rows, encoder=encoder, settings={"seed": seed, "max_steps": steps})
    return {"shares": shares, **after}


def told(shares: Shares) -> str:
    return " + ".join(f"{share:g} {step}" for step, share in shares.items()) or BEFORE


def measured(name: str, what: str, seed: int, variants: Path | None, sizes: Sizes, steps: int | None) -> dict[str, Any]:
    """The figures of a method on a corpus, or of the untouched encoder."""
    corpus = CORPORA[name]
    judge = Judge(corpus, sizes)
    if what in GROUPERS:
        return grouped(what, corpus, sizes, seed)
    if what == "untouched":
        return {"labelled": judge.labelled(turnlens.load_encoder(BASE_ENCODER, device="cpu"))}
    drawn = 1 + seed if what in PROJECTIONS else 1  # a projection has no seed of its own
    rows, encoder = rows_of(corpus.learned, sizes.learned, seed=drawn), start_of(corpus, variants)
    if corpus.role is not None:
        rows = rows.map(lambda row: {"messages": [turn for turn in row["messages"] if turn["role"] == corpus.role]})
    if what in PROJECTIONS:
        return {"labelled": judge.labelled(encoder, projection_of(rows, encoder, what))}
    if what == "before":
        return {"labelled": judge.labelled(encoder, briefly=True)}
    if what in STOCK:
        return stock(what, rows, encoder, judge, seed, steps)
    if what == "own":
        return own_training(rows, encoder, judge, seed, steps)
    recipe = Complete()
    learned = (1 - recipe.held_out) * sum(len(row["messages"]) for row in rows)
    settings = {
        "seed": seed,
        "max_steps": steps or recipe.steps_for(round(learned), MOST_STEPS),
        "bf16": made_for_bf16(),
    }
    encoder = turnlens.train(rows, method=what, encoder=encoder, settings=settings)
    return {"labelled": judge.labelled(encoder)}


def stock(
    what: str, rows: Any, encoder: ConversationEncoder, judge: Judge, seed: int, steps: int | None
) -> dict[str, Any]:
    """The ways that a user would write, and `turnlens train`: figures, seconds of training, and the peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        encoder.clone().float().save(folder)
        processor, clock = time.process_time(), time.monotonic()
        if what == "train":
            encoder = turnlens.train(rows, encoder=encoder, settings={"seed": seed, "max_steps": steps})
        else:
            encoder = as_sentence_transformer(RIVALS[what](Path(folder), rows, seed, steps))
        costs = {"processor": time.process_time() - processor, "clock": time.monotonic() - clock, "MB": peak()}
    return {"labelled": judge.labelled(encoder, briefly=True), "steps": steps, **costs}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grouped(what: str, corpus: Corpus, sizes: Sizes, seed: int) -> dict[str, Any]:
    """Groups of whole conversations of the test part whose label is one, by the way of a user who gives no number."""
    rows = [row for row in rows_of(corpus.test, sizes.learned, seed=0) if one_label(row, corpus.label) is not None]
    labels = [one_label(row, corpus.label) for row in rows]
    processor, clock = time.process_time(), time.monotonic()
    groups = GROUPERS[what](rows, seed)
    costs = {"processor": time.process_time() - processor, "clock": time.monotonic() - clock, "MB": peak()}
    found = {name: 100 * value for name, value in discovery_figures(groups, labels).items()}
    counts = {"groups": len(set(groups) - {-1}), "true": len(set(labels)), "conversations": len(rows)}
    return {"labelled": {name: found[name] for name in ("accuracy", "nmi", "left_out")} | counts, **costs}


def one_label(row: Any, name: str | None) -> str | None:
    value = row.get(name)
    if isinstance(value, list):
        return value[0] if len(value) == 1 else None
    return value


def projection_of(rows: Any, encoder: ConversationEncoder, what: str) -> ContextProjection:
    """The projection that some conversations teach; or one that only subtracts their mean."""
    texts = [message["content"] for row in rows for message in row["messages"]]
    conversation = np.repeat(np.arange(len(rows)), [len(row["messages"]) for row in rows])
    vectors = encode_messages(encoder, texts, dtype=half())
    context = fit_context_projection(vectors, conversation, np.ones(len(texts), bool))
    if context is None or what == "centred":
        return ContextProjection(vectors.mean(0), np.eye(vectors.shape[1], dtype=np.float32), len(texts))
    return context


def foretell(done: dict[str, Any]) -> str:
    """For each figure without labels, its rank correlation over cases with the labelled ones, and equal signs."""
    changes: list[tuple[str, dict[str, float], dict[str, float]]] = []
    for key, row in done.items():
        if "shares" in row:
            before = row["shares"][BEFORE]
            for after in (of_share for share, of_share in row["shares"].items() if share != BEFORE):
                labelled, held_out = (
                    {name: after[kind][name] - before[kind][name] for name in before[kind]}
                    for kind in ("labelled", "held_out")
                )
                labelled["mean"] = float(np.mean(list(labelled.values())))
                changes.append((key.partition(" ")[0], labelled, held_out))
    corpora = sorted({name for name, _, _ in changes})
    lines = [
        f"{len(changes)} cases of {len(corpora)} corpora",
        "| figure | labels of | cases | correlation | same sign |",
    ]
    for figure in changes[0][2]:
        for of in (*LABELLED, "mean"):
            pairs = np.array([(held[figure], labelled[of]) for _, labelled, held in changes if of in labelled])
            if len(pairs) < 3:
                continue
            correlation = spearmanr(*pairs.T).statistic
            same = (np.sign(pairs[:, 0]) == np.sign(pairs[:, 1])).sum()
            lines.append(f"| {figure} | {of} | {len(pairs)} | {correlation:.2f} | {same} |")
    return "\n".join(lines)


def shown(key: str, row: dict[str, Any]) -> str:
    """One line for each thing that was measured."""
    if "shares" not in row:
        costs = {name: row[name] for name in ("processor", "clock", "MB") if name in row}
        return f"{key:32} " + ", ".join(f"{name} {value:.1f}" for name, value in (row["labelled"] | costs).items())
    parts = [
        f"{name} " + " / ".join(f"{of_share[kind][name]:.1f}" for of_share in row["shares"].values())
        for kind in ("labelled", "held_out")
        for name in row["shares"][BEFORE][kind]
    ]
    parts += [f"{name} projected {value:.1f}" for name, value in row.get("projected", {}).items()]
    return f"{key:32} kept {row['kept']}: " + ", ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/own-chats.json"))
    parser.add_argument("--variants", type=Path, help="the folder of make encoder")
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--what", nargs="*", default=list(METHODS), choices=list(WHAT))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, help="of each method; by default what the default method takes")
    parser.add_argument("--learned", type=int, default=Sizes.learned, help="conversations to learn from")
    parser.add_argument("--test", type=int, default=Sizes.test, help="conversations of the test part")
    parser.add_argument("--queries", type=int, default=Sizes.queries)
    parser.add_argument("--foretell", action="store_true", help="only tell what foretells the labelled figures")
    add_quick(parser, output=results_file, corpora=["generated"], seeds=[0], steps=2, learned=60, test=60)
    options = parser.parse_args()
    done = json.loads(options.output.read_text(encoding="utf-8")) if options.output.is_file() else {}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(options.learned, options.test, options.queries)
    for seed in () if options.foretell else options.seeds:
        for what in options.what:
            for name in options.corpora:
                key = f"{name} {what}" if what in ("untouched", "before") else f"{name} {what} seed {seed}"
                if key in done or (what in PAPERS and name.startswith("multidogo")):
                    continue
                began = time.process_time()
                done[key] = measured(name, what, seed, options.variants, sizes, options.steps)
                done[key]["seconds"] = round(time.process_time() - began)
                with atomic_path(options.output) as temporary:
                    temporary.write_text(json.dumps(done, indent=1), encoding="utf-8")
                print(shown(key, done[key]), flush=True)
    if options.foretell:
        print("\n".join(shown(key, row) for key, row in done.items()))
        print(foretell(done))


if __name__ == "__main__":
    main()
