"""What several trainings have learned, in one encoder: gain against forgetting, by how much of it is added up.

Two models, or more, that were trained from the default encoder on Schema-Guided Dialogue, are measured on its
development set, each alone and merged with several scales (`turnwise model merge`): MAP of intents; of dialogues as
means of their messages and as joined texts, each as they are and centred on themselves; and what was not trained on:
MAP of 300 self-dialogues likewise, and the correlation of the cosines of 700 messages of Taskmaster-4 and DailyDialog
with those of the untouched encoder. The encoder runs in bfloat16. A line for each goes to the terminal, with the
interval of the difference in MAP of intents from the untouched encoder over the same queries.

Run: turnwise train $TURNWISE_DATA/sgd/train.jsonl.gz --method dialogue-cse --max-steps 100 --output cse
     turnwise train $TURNWISE_DATA/sgd/train.jsonl.gz --method in-context --max-steps 100 --output context
     python benchmarks/study_merging.py cse context [--scales 0.5 0.75 1]
Data: $TURNWISE_DATA (sgd/dev, self_dialogue/dev, taskmaster4/train, dailydialog/dev; .jsonl.gz each).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

import turnwise
from quick import add_quick, data_folder, scratch
from turnwise.encoders.centre import Centre
from turnwise.encoders.loading import BASE_ENCODER
from turnwise.encoders.messages import encode_messages
from turnwise.evaluation import RetrievalResult, evaluate_retrieval, load_task
from turnwise.evaluation.agreement import agreement, sample_texts
from turnwise.evaluation.conversations.labelled import LabelledConversations, labelled_conversations
from turnwise.evaluation.conversations.ranking import rank_conversations
from turnwise.evaluation.metrics import bootstrap_interval

DATA = data_folder()
OTHERS = ("taskmaster4/train", "dailydialog/dev")
POOLINGS = ("messages", "mean")


def embed(encoder: SentenceTransformer, texts: list[str]) -> np.ndarray:
    return encode_messages(encoder, texts, dtype="bfloat16")


def dialogues_of(name: str, most: int | None = None) -> LabelledConversations:
    rows = turnwise.read_conversations(DATA / f"{name}.jsonl.gz")
    return labelled_conversations(rows if most is None else rows.select(range(min(most, len(rows)))))


def messages_of(name: str) -> list[str]:
    rows = turnwise.read_conversations(DATA / f"{name}.jsonl.gz")
    return sample_texts([message["content"] for row in rows for message in row["messages"]], 700, seed=0)


def of_dialogues(encoder: SentenceTransformer, dialogues: LabelledConversations) -> list[str]:
    """MAP of dialogues as means of their messages and as joined texts, each as they are / centred on themselves."""
    columns = []
    for pooling in POOLINGS:
        pooled = encoder.encode_conversations(dialogues.conversations, pooling=pooling, dtype="bfloat16")
        centred = Centre.fit(pooled, stretch=0.0).apply(pooled)
        ranked = (rank_conversations(vectors, dialogues.codes, dialogues.queries) for vectors in (pooled, centred))
        columns.append(" / ".join(f"{100 * one.average_precision.mean():.1f}" for one in ranked))
    return columns


class Study:
    """The data, and the untouched encoder's figures."""

    def __init__(self, queries: int) -> None:
        self.task = load_task("semantic_retrieval", DATA / "sgd/dev.jsonl.gz", max_queries=queries, seed=0)
        self.dialogues, self.talks = dialogues_of("sgd/dev"), dialogues_of("self_dialogue/dev", 300)
        self.others = [messages_of(name) for name in OTHERS]
        untouched = turnwise.load_encoder(BASE_ENCODER, device="cpu")
        self.before = [embed(untouched, texts) for texts in self.others]
        self.precision = self._intents(untouched).average_precision
        self.show("untouched", untouched)

    def show(self, title: str, encoder: SentenceTransformer) -> None:
        """Measure an encoder and print its line."""
        intents = self._intents(encoder)
        difference = 100 * (intents.average_precision - self.precision)
        low, high = bootstrap_interval(difference)
        structure = [
            agreement(embed(encoder, texts), before)["cosine_correlation"]
            for texts, before in zip(self.others, self.before)
        ]
        columns = [
            title,
            f"{intents.summary()['map']:.1f}",
            f"{difference.mean():+.1f} [{low:.1f}, {high:.1f}]",
            *of_dialogues(encoder, self.dialogues),
            *of_dialogues(encoder, self.talks),
            " / ".join(f"{one:.1f}" for one in structure),
        ]
        print(f"| {' | '.join(columns)} |", flush=True)

    def _intents(self, encoder: SentenceTransformer) -> RetrievalResult:
        return evaluate_retrieval(lambda texts: embed(encoder, texts), self.task)


def two_models() -> list[Path]:
    """The default encoder twice, as if it had been trained."""
    folders = [scratch() / name for name in ("one", "other")]
    for folder in folders:
        turnwise.load_encoder(BASE_ENCODER, device="cpu").save(str(folder))
    return folders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--scales", nargs="+", type=float, default=[0.5, 0.75, 1.0])
    parser.add_argument("--queries", type=int, default=600)
    add_quick(parser, models=two_models, scales=[0.5], queries=20)
    given = parser.parse_args()
    if not given.models:
        parser.error("give the folders of models")
    print("| encoder | intents | gain | dialogues | joined | small talk | joined | structure |")
    study = Study(given.queries)
    for path in given.models:
        study.show(path.name, turnwise.load_encoder(path, device="cpu"))
    for scale in given.scales if len(given.models) > 1 else []:
        study.show(f"merged, scale {scale:g}", turnwise.merge(given.models, scale=scale))


if __name__ == "__main__":
    main()
