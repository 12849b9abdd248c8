"""Which settings of DialogueCSE help on Schema-Guided Dialogue? Trains and scores variants on the development set.

One row a variant: MAP and MRR of intent retrieval with 95 % bootstrap intervals over queries, and the p-value of a
paired bootstrap against the untouched encoder. Results go to a JSON file; a second run continues where it stopped.

Run: python benchmarks/study_dialogue_cse.py --out runs/study.json [--variants base tau0.05 …] [--seeds 0] [--steps 150]
Data: $TURNWISE_DATA/sgd (train.jsonl.gz, dev.jsonl.gz).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import get_linear_schedule_with_warmup

import turnwise
from quick import add_quick, data_folder, results_file
from turnwise._utils.files import atomic_path
from turnwise.collators import texts as collators
from turnwise.encoders.forward import encode_sliced, sliced_means
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.encoders.messages import encode_messages
from turnwise.evaluation import compare_results, evaluate_retrieval, load_task
from turnwise.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings
from turnwise.training.freezing import frozen_lower_layers

SGD = data_folder() / "sgd"


@dataclass(frozen=True)
class Variant:
    """What differs from the plain recipe."""

    loss: DialogueCSESettings = field(default_factory=DialogueCSESettings)
    learning_rate: float = 5e-5
    frozen: int = 3
    conversations: int = 8
    steps: int | None = None
    max_length: int = 64
    near_duplicates: bool = False  # texts that differ in case, digits and punctuation only are no negatives
    similar: float | None = None  # no negatives: responses whose untouched embeddings are at least so similar
    rare_responses: bool = False  # only texts that occur once in the training data serve as positives
    one_domain: bool = False  # all conversations of a batch share their first domain


FAST = Variant(learning_rate=3e-4)
VARIANTS = {
    "base": Variant(),
    "tau0.05": Variant(DialogueCSESettings(temperature=0.05)),
    "tau0.2": Variant(DialogueCSESettings(temperature=0.2)),
    "lr1e-5": Variant(learning_rate=1e-5),
    "lr1e-4": Variant(learning_rate=1e-4),
    "lr3e-4": FAST,
    "frozen0": Variant(frozen=0),
    # The learning rate matters most, so the rest is tried with the better one.
    "lr1e-3": Variant(learning_rate=1e-3),
    "fast tau0.2": replace(FAST, loss=DialogueCSESettings(temperature=0.2)),
    "fast frozen0": replace(FAST, frozen=0),
    "fast one-domain": replace(FAST, one_domain=True),
    "fast similar0.7": replace(FAST, similar=0.7),
    "fast near-duplicates": replace(FAST, near_duplicates=True),
    "fast rare-responses": replace(FAST, rare_responses=True),
    "fast batch24": replace(FAST, conversations=24),
    "fast attention": replace(FAST, loss=DialogueCSESettings(aggregation="attention")),
    "fast negatives9": replace(FAST, loss=DialogueCSESettings(negatives=9)),
    "fast turns1": replace(FAST, loss=DialogueCSESettings(context_turns=1)),
    "fast turns5": replace(FAST, loss=DialogueCSESettings(context_turns=5)),
    "fast frozen5": replace(FAST, frozen=5),
    "fast steps400": replace(FAST, steps=400),
}


class StudyLoss(DialogueCSELoss):
    """The loss with further responses left out, as positives or as negatives."""

    rare_keys: set[int] | None = None
    similar: float | None = None
    untouched: tuple[SentenceTransformer, ...] = ()  # in a tuple, so that it is not trained along

    def compute_loss(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        self.text_key = features["text_key"]
        if self.similar is not None:
            with torch.no_grad():
                means = sliced_means(
                    encode_sliced(self.untouched[0], features["input_ids"], features["attention_mask"])
                )
            means = torch.nn.functional.normalize(means, dim=1)[features["turn_text"]]
            self.too_similar = means @ means.T >= self.similar
        return super().compute_loss(features)

    def contrast(self, logits: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
        # In one process, the column of a response is the number of its turn.
        if self.similar is not None:
            excluded = self.too_similar[positive].scatter(1, positive[:, None], False)
            logits = logits.masked_fill(excluded, float("-inf"))
        losses = super().contrast(logits, positive)
        if self.rare_keys is None:
            return losses
        rare = torch.tensor([key in self.rare_keys for key in self.text_key[positive].tolist()])
        return losses[rare] / rare.float().mean()  # the mean over all responses is then that over these


def plain_form(text: str) -> str:
    return re.sub(r"[\W\d_]+", " ", text.casefold()).strip()


def batches(conversations: Dataset, variant: Variant, steps: int, seed: int) -> list[list[int]]:
    generator = random.Random(seed)
    groups: dict[str, list[int]] = {}
    for number, domains in enumerate(conversations["domains"]):
        groups.setdefault(domains[0].split("_")[0] if variant.one_domain else "", []).append(number)
    names = sorted(groups)
    weights = [len(groups[name]) for name in names]
    return [generator.sample(groups[generator.choices(names, weights)[0]], variant.conversations) for _ in range(steps)]


def train(variant: Variant, conversations: Dataset, steps: int, seed: int) -> SentenceTransformer:
    torch.manual_seed(seed)
    encoder = turnwise.load_encoder(BASE_ENCODER, device="cpu")

    def key(text: str) -> int:
        return plain_key(plain_form(text) if variant.near_duplicates else text)

    collators.text_key = key
    loss = StudyLoss(encoder, variant.loss)
    loss.similar = variant.similar
    if variant.similar is not None:
        loss.untouched = (turnwise.load_encoder(BASE_ENCODER, device="cpu").eval(),)
    if variant.rare_responses:
        counts = Counter(plain_form(m["content"]) for row in conversations for m in row["messages"])
        loss.rare_keys = {
            key(m["content"]) for row in conversations for m in row["messages"] if counts[plain_form(m["content"])] == 1
        }
    collator = collators.TextCollator(encoder, max_length=variant.max_length)
    with frozen_lower_layers(encoder, variant.frozen):
        optimizer = torch.optim.AdamW([p for p in loss.parameters() if p.requires_grad], variant.learning_rate)
        schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
        loss.train()
        for rows in batches(conversations, variant, steps, seed):
            batch = collator([conversations[row] for row in rows])
            value = loss([{name.removeprefix("messages_"): tensor for name, tensor in batch.items()}])
            value.backward()
            torch.nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return encoder.eval()


plain_key = collators.text_key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/study.json"))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--queries", type=int, default=600)
    add_quick(parser, out=results_file, variants=list(VARIANTS)[:1], steps=1, queries=20)
    options = parser.parse_args()
    task = load_task("semantic_retrieval", SGD / "dev.jsonl.gz", max_queries=options.queries, seed=0)
    conversations = turnwise.read_conversations(SGD / "train.jsonl.gz")
    untouched = turnwise.load_encoder(BASE_ENCODER, device="cpu")
    reference = evaluate_retrieval(lambda texts: encode_messages(untouched, texts), task)
    done = json.loads(options.out.read_text()) if options.out.is_file() else {}
    done["untouched"] = reference.summary()
    print("untouched", done["untouched"], flush=True)
    for seed in options.seeds:
        for name in options.variants:
            row = f"{name} seed {seed}"
            if row not in done:
                variant = VARIANTS[name]
                encoder = train(variant, conversations, variant.steps or options.steps, seed)
                result = evaluate_retrieval(lambda texts: encode_messages(encoder, texts), task)  # noqa: B023
                done[row] = {**result.summary(), "p": compare_results(reference, result)}
                with atomic_path(options.out) as temporary:
                    temporary.write_text(json.dumps(done, indent=2))
            figures = done[row]
            print(f"{row:28} MAP {figures['map']:.2f} MRR {figures['mrr']:.2f} p {figures['p']:.4f}", flush=True)
    means: dict[str, list[float]] = {}
    for row, figures in done.items():
        means.setdefault(row.rpartition(" seed ")[0] or row, []).append(figures["map"])
    for name, values in means.items():
        print(f"{name:28} MAP {np.mean(values):.2f} over {len(values)} runs")


if __name__ == "__main__":
    main()
