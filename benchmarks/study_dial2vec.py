"""Which settings of dial2vec help? Trains variants on SGD or self-dialogue and scores them on the development set.

The encoder runs in bfloat16. One row a variant and step, and for weights a quarter, half and all of the way from the
untouched to the trained ones, each with separators between turns, as in training, and as plain text: purity, Spearman
and MAP of whole dialogues with 95 % bootstrap intervals, MAP over the labels that the training data does not have
("unseen"), alignment and uniformity, and the p-value of a paired bootstrap of MAP against the untouched encoder.
Results go to a JSON file; a second run continues where it stopped.

Run: python benchmarks/study_dial2vec.py --corpus sgd --out runs/study_dial2vec.json [--variants …] [--seeds 0]
Data: $TURNWISE_DATA/sgd or $TURNWISE_DATA/self_dialogue (train.jsonl.gz, dev.jsonl.gz).
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import get_linear_schedule_with_warmup

import turnwise
from quick import add_quick, data_folder, results_file
from turnwise._utils.files import atomic_path
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.encoders.rendering import make_conversational
from turnwise.evaluation import TASKS, load_task
from turnwise.evaluation.conversations.labelled import EmbeddedConversations, embed_labelled
from turnwise.evaluation.metrics import paired_bootstrap_p
from turnwise.papers.dial2vec.recipe import Dial2vec
from turnwise.papers.utterance_pool import UtterancePool
from turnwise.training.freezing import frozen_lower_layers, no_attention_dropout
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.recipes import get_recipe

DATA = data_folder()
FIGURES = ("domain-categorization", "semantic-relatedness", "conversation-retrieval", "alignment-uniformity")


@dataclass(frozen=True)
class Variant:
    """What differs from the paper's recipe."""

    learning_rate: float = 1e-5
    separate_turns: bool = True
    temperature: float = 0.2
    frozen_layers: int = 3
    window: float = 10
    turn_inputs: bool = False
    same_domain: bool = False  # mixed dialogues are filled with utterances of dialogues that share a domain


VARIANTS = {
    "paper": Variant(),
    "lr1e-4": Variant(1e-4),
    "lr1e-4 tau1": Variant(1e-4, temperature=1.0),
    "lr1e-4 frozen5": Variant(1e-4, frozen_layers=5),
    "lr1e-4 same-domain": Variant(1e-4, same_domain=True),
    "lr3e-5 tau0.02": Variant(3e-5, temperature=0.02),
    "lr3e-5 tau0.01": Variant(3e-5, temperature=0.01),
    "lr1e-4 tau0.02": Variant(1e-4, temperature=0.02),
    "lr1e-4 tau0.02 frozen5": Variant(1e-4, temperature=0.02, frozen_layers=5),
    "plain lr1e-4": Variant(1e-4, separate_turns=False),
    "plain lr3e-5 tau0.05": Variant(3e-5, separate_turns=False, temperature=0.05),
    "plain lr1e-4 turn-inputs": Variant(1e-4, separate_turns=False, turn_inputs=True),
}


class SameDomainPool(UtterancePool):
    """Draws from conversations that share the first domain or topic of the one to mix."""

    def __init__(self, conversations: Dataset) -> None:
        self.domain = {row["id"]: first_domain(row) for row in conversations}
        self.pools = {
            domain: UtterancePool(conversations.filter(lambda row, domain=domain: first_domain(row) == domain))
            for domain in set(self.domain.values())
            if sum(other == domain for other in self.domain.values()) > 1
        }
        self.everything = UtterancePool(conversations)

    def draw(self, role: str, conversation: str, generator: random.Random) -> str:
        pool = self.pools.get(self.domain[conversation], self.everything)
        return pool.draw(role, conversation, generator)


def first_domain(row: dict[str, Any]) -> str:
    return str(row.get("topic") or row["domains"][0].split("_")[0])


def training(
    variant: Variant, conversations: Dataset, steps: int, seed: int
) -> Iterator[tuple[int, float, SentenceTransformer]]:
    """Train, and yield the step, the mean loss so far and the encoder after every step."""
    torch.manual_seed(seed)
    encoder = turnwise.load_encoder(BASE_ENCODER, device="cpu")
    settings = {
        "seed": seed,
        **{name: value for name, value in vars(variant).items() if name not in ("same_domain",)},
    }
    recipe = get_recipe("dial2vec", settings=settings)
    assert isinstance(recipe, Dial2vec)
    recipe.prepare(encoder)
    inputs = recipe.inputs(encoder, conversations)
    collator, loss = inputs["data_collator"], inputs["loss"]
    if variant.same_domain:
        collator.pool = SameDomainPool(conversations)  # type: ignore[attr-defined]
    rows = recipe.gradient_accumulation_steps
    order = random.Random(seed).sample(range(len(conversations)), steps * rows)
    with frozen_lower_layers(encoder, variant.frozen_layers), no_attention_dropout(encoder):
        optimizer = torch.optim.AdamW([p for p in loss.parameters() if p.requires_grad], recipe.learning_rate)
        schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
        total = 0.0
        for step in range(steps):
            loss.train()
            for row in order[step * rows : (step + 1) * rows]:
                batch = collator([conversations[row]])
                with torch.autocast("cpu", torch.bfloat16):
                    value = loss([{name.removeprefix("messages_"): tensor for name, tensor in batch.items()}])
                (value / rows).backward()
                total += value.item() / rows
            torch.nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            yield step + 1, total / (step + 1), encoder


def figures(embedded: EmbeddedConversations, known: set[str], untouched: np.ndarray | None) -> dict[str, Any]:
    """The figures of one encoder, and how its MAP compares with the untouched one's."""
    found: dict[str, Any] = {}
    for name in FIGURES:
        found[name] = TASKS[name].measure(embedded, 0).summary()
    precision = embedded.ranking.average_precision
    labels = embedded.conversations.labels
    codes = embedded.conversations.codes[embedded.conversations.queries]
    unseen = np.array([labels[code] not in known for code in codes])
    found["map unseen"] = 100 * float(precision[unseen].mean()) if unseen.any() else None
    found["p"] = None if untouched is None else paired_bootstrap_p(precision, untouched)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=["sgd", "self_dialogue"], default="sgd")
    parser.add_argument("--out", type=Path, default=Path("runs/study_dial2vec.json"))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=20, help="steps between two evaluations")
    parser.add_argument("--queries", type=int, default=1000)
    add_quick(parser, out=results_file, variants=["lr1e-4 same-domain"], steps=1, every=1, queries=20)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = json.loads(options.out.read_text()) if options.out.is_file() else {}
    folder = DATA / options.corpus
    dialogues = load_task("conversation-retrieval", folder / "dev.jsonl.gz", max_queries=options.queries)
    conversations = turnwise.read_conversations(folder / "train.jsonl.gz")
    known = {label for row in conversations for label in row.get("domains") or [row["topic"]]}

    def record(row: str, encoder: SentenceTransformer, loss: float | None, untouched: np.ndarray | None) -> np.ndarray:
        with torch.autocast("cpu", torch.bfloat16):
            embedded = embed_labelled(lambda some: encoder.encode_conversations(some), dialogues)
        done[row] = {**figures(embedded, known, untouched), "loss": loss}
        with atomic_path(options.out) as temporary:
            temporary.write_text(json.dumps(done, indent=2))
        print(line(row, done[row]), flush=True)
        return embedded.ranking.average_precision

    start = turnwise.load_encoder(BASE_ENCODER, device="cpu")
    untouched = record(f"{options.corpus} untouched", start, None, None)
    for seed in options.seeds:
        for name in options.variants:
            row = f"{options.corpus} {name} seed {seed} of {options.steps}"
            if f"{row} share 1.0" in done:
                continue
            for step, loss, encoder in training(VARIANTS[name], conversations, options.steps, seed):
                if step % options.every == 0 and step < options.steps:
                    record(f"{row} step {step}", encoder, loss, untouched)
            for share in (0.25, 0.5, 1.0):
                between = interpolated(encoder, start.state_dict(), share)
                if VARIANTS[name].separate_turns:
                    plain = make_conversational(copy.deepcopy(between), separate_turns=False)
                    record(f"{row} share {share} as plain text", plain, loss, untouched)
                record(f"{row} share {share}", between, loss, untouched)


def interpolated(trained: SentenceTransformer, start: dict[str, torch.Tensor], share: float) -> SentenceTransformer:
    """A copy with weights between those at the start (0) and the trained encoder's (1)."""
    between = copy.deepcopy(trained)
    interpolate_weights(between, start, share)
    return between


def line(row: str, found: dict[str, Any]) -> str:
    purity, spearman, retrieval, alignment = (found[name] for name in FIGURES)
    unseen = "" if found["map unseen"] is None else f" unseen {found['map unseen']:.1f}"
    return (
        f"{row:55} purity {purity['purity']:.1f} spearman {spearman['spearman']:.1f} MAP {retrieval['map']:.1f}{unseen}"
        f" p {found['p']} adjusted alignment {alignment['adjusted_alignment']:.3f} uniformity "
        f"{alignment['uniformity']:.3f} loss {found['loss']}"
    )


if __name__ == "__main__":
    main()
