"""What does an encoder forget for what it learns? DialogueCSE and its variants, gain against forgetting.

Conversations of some domains of Schema-Guided Dialogue are left out of training (`UNSEEN`). Gain is MAP of intents of
the other domains on the development set. What may be forgotten: MAP of intents of the domains left out; topics of small
talk (Self-dialogue: MAP, and NMI of k-means, of dialogues as means of their first messages); and the cosines of texts
of other corpora (correlation with the untouched encoder's: Taskmaster-4, DailyDialog). Each trained encoder is also
measured at some shares of the way from its untouched weights. Intervals and p-values are of the difference from the
untouched encoder, over the same queries. Results go to a JSON file by variant, trained weights to a folder beside it; a
second run continues where it stopped.

The frozen lower layers are run once for each text, so all variants share them. The encoder runs in bfloat16.

Run: python benchmarks/study_forgetting.py --out runs/forgetting.json [--variants …] [--seeds 0] [--steps 30]
     python benchmarks/study_forgetting.py --out runs/forgetting.json --plot forgetting.png
Data: $TURNWISE_DATA (sgd/train, sgd/dev, self_dialogue/dev, taskmaster4/train, dailydialog/dev; .jsonl.gz each).
"""

from __future__ import annotations

import argparse
import copy
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from torch import Tensor, nn

import turnwise
from forgetting_objectives import Objective, Remembered, StudyRecipe
from quick import add_quick, data_folder, results_file
from turnwise._utils.files import atomic_path
from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.encoders.messages import encode_messages
from turnwise.encoders.transformer import transformer_layers, transformer_of, use_mean_pooling
from turnwise.evaluation import evaluate_retrieval, load_task
from turnwise.evaluation.agreement import agreement
from turnwise.evaluation.conversations.ranking import rank_conversations
from turnwise.evaluation.metrics import bootstrap_interval, paired_bootstrap_p
from turnwise.training.interpolation import interpolate_weights

DATA = data_folder()
UNSEEN = ("Alarm", "Banks", "Flights", "Homes", "RentalCars", "Weather")
LOWER = 3


@dataclass(frozen=True)
class Variant:
    """An objective, what else differs from the recipe, and the shares of the way to its weights that are measured."""

    objective: Objective = field(default_factory=Objective)
    settings: dict[str, Any] = field(default_factory=dict)
    shares: tuple[float, ...] = (1.0,)


VARIANTS = {
    "plain": Variant(shares=(0.25, 0.5, 0.75, 1.0)),
    "anchor 0.1": Variant(Objective(anchor=0.1)),
    "anchor 1": Variant(Objective(anchor=1.0)),
    "contextual only": Variant(Objective(contextual=1.0, contrast=0.0)),
    "soft 1": Variant(Objective(soft=1.0)),
    "soft contexts 0.5": Variant(Objective(soft=0.5, soft_by="contexts", soft_temperature=0.05)),
    "hardness": Variant(Objective(hardness=True)),
    "agreeing 0.3": Variant(Objective(agreeing=0.3)),
}


class KeptLayers(nn.Module):
    """The embeddings and lower layers of a transformer, in place of its embeddings; the result for a text is kept."""

    def __init__(self, transformer: nn.Module, layers: int) -> None:
        super().__init__()
        lower = copy.deepcopy(transformer).eval().requires_grad_(False)
        lower.encoder.layer, lower.pooler = lower.encoder.layer[:layers], None
        self.lower, self.padding = (lower,), transformer.config.pad_token_id
        self.word_embeddings, self.kept = lower.embeddings.word_embeddings, dict[bytes, Tensor]()

    def forward(self, input_ids: Tensor, **_: Any) -> Tensor:
        lengths = (input_ids != self.padding).sum(1).tolist()
        keys = [row[:length].numpy().tobytes() for row, length in zip(input_ids, lengths)]
        new = [row for row, key in enumerate(keys) if key not in self.kept]
        if new:
            ids = input_ids[new]
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                hidden = self.lower[0](ids, attention_mask=(ids != self.padding).long()).last_hidden_state
            self.kept.update({keys[row]: one[: lengths[row]].bfloat16().clone() for row, one in zip(new, hidden)})
        rows = [self.kept[key] for key in keys]
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True).float()
        return nn.functional.pad(padded, (0, 0, 0, input_ids.shape[1] - padded.shape[1]))


@cache
def kept_layers() -> KeptLayers:
    return KeptLayers(transformer_of(turnwise.load_encoder(BASE_ENCODER, device="cpu")), LOWER)


def upper_encoder() -> SentenceTransformer:
    """The default encoder, whose lower layers are shared with all others."""
    encoder = use_mean_pooling(turnwise.load_encoder(BASE_ENCODER, device="cpu"))
    transformer = transformer_of(encoder)
    transformer.embeddings = kept_layers()
    transformer.encoder.layer = transformer_layers(encoder)[LOWER:]
    return encoder


class Study:
    """The data, and the untouched encoder's figures."""

    def __init__(self, queries: int) -> None:
        self.task = load_task("semantic_retrieval", DATA / "sgd/dev.jsonl.gz", max_queries=queries, seed=0)
        rows = turnwise.read_conversations(DATA / "sgd/dev.jsonl.gz")
        domain = {m["content"]: (m.get("intent") or "").split("_")[0] for row in rows for m in row["messages"]}
        self.unseen = np.array([domain[self.task.texts[query]] in UNSEEN for query in self.task.queries])
        talks = [row for row in turnwise.read_conversations(DATA / "self_dialogue/dev.jsonl.gz") if row["topic"]][:300]
        self.talks = [[message["content"] for message in row["messages"][:6]] for row in talks]
        _, self.topics = np.unique([row["topic"] for row in talks], return_inverse=True)
        self.several = np.flatnonzero(np.bincount(self.topics)[self.topics] > 1)
        self.others = {name: texts_of(DATA / name / file) for name, file in OTHERS.items()}
        self.untouched = Remembered(upper_encoder())
        self.before = self.measure(self.untouched.encoder)

    def measure(self, encoder: SentenceTransformer) -> dict[str, Any]:
        """Average precision of each query, vectors of other texts, and NMI."""

        def embed(texts: list[str]) -> np.ndarray:
            return encode_messages(encoder, texts, dtype="bfloat16")

        intents = evaluate_retrieval(embed, self.task)
        messages = embed([text for talk in self.talks for text in talk])
        ends = np.cumsum([len(talk) for talk in self.talks])
        talks = unit_vectors(np.stack([part.mean(0) for part in np.split(messages, ends[:-1])]))
        clusters = len(set(self.topics.tolist()))
        nmi = [
            normalized_mutual_info_score(self.topics, KMeans(clusters, random_state=seed, n_init=1).fit_predict(talks))
            for seed in range(10)
        ]
        topics = rank_conversations(talks.astype(np.float32), self.topics, self.several).average_precision
        return {
            "seen": intents.average_precision[~self.unseen],
            "unseen": intents.average_precision[self.unseen],
            "all": intents.average_precision,
            "topics": topics,
            "nmi": 100 * float(np.mean(nmi)),
            "mrr": intents.summary()["mrr"],
            "others": {name: embed(texts) for name, texts in self.others.items()},
        }

    def figures(self, encoder: SentenceTransformer | None) -> dict[str, Any]:
        """Everything of an encoder that goes into the results, ready for JSON."""
        found = self.before if encoder is None else self.measure(encoder)
        row: dict[str, Any] = {"nmi": found["nmi"], "mrr": found["mrr"]}
        for name in ("seen", "unseen", "all", "topics"):
            difference = 100 * (found[name] - self.before[name])
            row[name] = 100 * float(found[name].mean())
            row[f"{name} gain"] = [float(difference.mean()), *bootstrap_interval(difference)]
            row[f"{name} p"] = paired_bootstrap_p(found[name], self.before[name])
        for name, vectors in found["others"].items():
            row[name] = agreement(vectors, self.before["others"][name])["cosine_correlation"]
        return row


OTHERS = {"taskmaster4": "train.jsonl.gz", "dailydialog": "dev.jsonl.gz"}


def texts_of(path: Path, count: int = 700) -> list[str]:
    """Some distinct messages of a corpus."""
    texts = dict.fromkeys(m["content"] for row in turnwise.read_conversations(path) for m in row["messages"])
    return [str(text) for text in np.random.default_rng(0).permutation(list(texts))[:count]]


def without_unseen(conversations: Dataset) -> Dataset:
    """The conversations without a domain that is left out."""
    kept = [
        number
        for number, domains in enumerate(conversations["domains"])
        if not any(domain.split("_")[0] in UNSEEN for domain in domains)
    ]
    return conversations.select(kept)


def trained(
    variant: Variant, conversations: Dataset, steps: int, seed: int, untouched: Remembered, weights: Path
) -> SentenceTransformer:
    """Train, or take the weights of an earlier run."""
    encoder = upper_encoder()
    if not weights.is_file():
        settings = {"max_steps": steps, "seed": seed, "bf16": True, "frozen_layers": 0, **variant.settings}
        recipe = StudyRecipe(objective=variant.objective, untouched=untouched, **settings)
        turnwise.train(conversations, method=recipe, encoder=encoder)
        weights.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(weights) as temporary:
            save_file({name: one.contiguous() for name, one in upper_weights(encoder).items()}, temporary)
    encoder.load_state_dict(load_file(weights), strict=False)
    return encoder


def upper_weights(encoder: SentenceTransformer) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in encoder.state_dict().items() if "embeddings" not in name}


def table(done: dict[str, Any]) -> str:
    """One row a variant and share."""
    lines = [
        f"{'variant':34} {'seen':>22} {'unseen':>22} {'all':>6} {'MRR':>6} {'topics':>6} {'NMI':>6} {'cosines':>13}"
    ]
    for name, row in done.items():
        gains = [
            "{:.1f} {:+.2f} [{:+.1f}, {:+.1f}]".format(row[part], *row[f"{part} gain"]) for part in ("seen", "unseen")
        ]
        cosines = " ".join(f"{row[other]:.1f}" for other in OTHERS)
        rest = f"{row['all']:6.2f} {row['mrr']:6.2f} {row['topics']:6.2f} {row['nmi']:6.2f} {cosines:>13}"
        lines.append(f"{name:34} {gains[0]:>22} {gains[1]:>22} {rest}")
    return "\n".join(lines)


def plot(done: dict[str, Any], path: Path) -> None:
    """Gain against what is kept of the cosines of other texts; shares of one variant are joined by a line."""
    import matplotlib.pyplot as plt

    lines: dict[str, list[tuple[float, float]]] = {}
    for name, row in done.items():
        point = float(np.mean([row[other] for other in OTHERS])), row["seen gain"][0]
        lines.setdefault(name.partition(" × ")[0], []).append(point)
    figure, axes = plt.subplots(figsize=(8, 6))
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points)), marker="o", label=name)
    axes.set(
        xlabel="correlation of cosines of other texts with the untouched encoder's", ylabel="gain in MAP of intents"
    )
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/forgetting.json"))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--plot", type=Path, help="draw what is in --out, and train nothing")
    add_quick(parser, out=results_file, variants=["anchor 0.1"], steps=1, queries=40)
    options = parser.parse_args()
    done = json.loads(options.out.read_text()) if options.out.is_file() else {}
    if options.plot is not None:
        return plot(done, options.plot)
    study = Study(options.queries)
    conversations = without_unseen(turnwise.read_conversations(DATA / "sgd/train.jsonl.gz"))
    done["untouched"] = study.figures(None)
    for seed in options.seeds:
        for name in options.variants:
            variant = VARIANTS[name]
            rows = {share: f"{name} seed {seed} × {share}" for share in variant.shares}
            if all(row in done for row in rows.values()):
                continue
            weights = options.out.with_suffix("") / f"{name} {seed}.safetensors"
            encoder = trained(variant, conversations, options.steps, seed, study.untouched, weights)
            for share, row in rows.items():
                encoder.load_state_dict(load_file(weights), strict=False)
                interpolate_weights(encoder, upper_weights(study.untouched.encoder), share)
                done[row] = study.figures(encoder)
                with atomic_path(options.out) as temporary:
                    temporary.write_text(json.dumps(done, indent=2))
                print(table({row: done[row]}).splitlines()[1], flush=True)
    print(table(done))


if __name__ == "__main__":
    main()
