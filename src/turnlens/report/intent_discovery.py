"""Intent discovery: do groups agree with labels? (DSTC 11, track 2; Perkins and Yang, EMNLP 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.data.messages import Conversations, document, labelled_messages
from turnlens.errors import ConversationError
from turnlens.evaluation.clustering_metrics import discovery_figures
from turnlens.evaluation.conversation_labels import LabelledConversations, build_conversations
from turnlens.evaluation.scoring import percent, sample_queries, unit_embeddings, warn_of_alike, warn_of_left_out
from turnlens.evaluation.task import CONVERSATION, MESSAGE, Level, LoadSettings, Task
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.pipeline import group_vectors

RUNS = 5


@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts that have exactly one label each.

    Args:
        texts: (n,) the messages, or the conversations as one text each.
        codes: (n,) the label of each, an index of ``labels``.
        labels: The distinct labels, sorted.
        left_out: Number of labelled messages with several labels, or of conversations without exactly one.
        conversations: The conversations, unless the texts are messages.
    """

    texts: tuple[str, ...]
    codes: IntArray
    labels: tuple[str, ...]
    left_out: int
    conversations: LabelledConversations | None = None


@dataclass(frozen=True, eq=False)
class DiscoveryResult:
    """Agreement of groups and labels in every run; the figures are means and standard deviations over runs.

    Args:
        labelled: The texts that were grouped.
        figures: Those of `discovery_figures`, (runs,) each.
        groups: (runs, n) the group of each text, -1 for none.
    """

    labelled: Labelled
    figures: dict[str, FloatArray]
    groups: NDArray[np.int64]

    def summary(self) -> dict[str, object]:
        """The figures in percent and the numbers of groups, ready for JSON."""
        figures: dict[str, object] = {}
        for name, values in self.figures.items():
            figures[name] = percent(float(values.mean()))
            figures[f"{name}_std"] = percent(float(values.std(ddof=1)))
        numbers = [len(np.unique(groups[groups >= 0])) for groups in self.groups]
        counted = "messages" if self.labelled.conversations is None else "conversations"
        return {
            **figures,
            "groups": float(np.mean(numbers)),
            "groups_std": float(np.std(numbers, ddof=1)),
            "labels": len(self.labelled.labels),
            counted: len(self.labelled.codes),
            "dropped": self.labelled.left_out,
            "runs": len(self.groups),
        }


def evaluate_discovery(vectors: FloatArray, labelled: Labelled, seed: int = 0) -> DiscoveryResult:
    """Group texts as `turnlens.cluster` does, by seeds from the given one on, and compare groups and labels."""
    groups = np.zeros((RUNS, len(labelled.texts)), np.int64)
    with progress_bar() as bar:
        for run in bar.track(range(RUNS), description="finding groups"):
            groups[run] = group_vectors(vectors, labelled.texts, GroupSettings(seed=seed + run)).groups
    runs = [discovery_figures(ids, labelled.codes) for ids in groups]
    return DiscoveryResult(labelled, {name: np.array([run[name] for run in runs]) for name in runs[0]}, groups)


def _build(rows: Conversations, settings: LoadSettings) -> Labelled:
    if settings.conversation_label is not None:
        whole = build_conversations(rows, settings)
        texts = tuple(document(messages) for messages in whole.conversations)
        return Labelled(texts, whole.codes, whole.labels, whole.left_out, whole)
    messages = labelled_messages(rows, settings.label)
    kept = [(text, label) for text, label in messages if label is not None]
    warn_of_alike(frozenset(label for _, label in kept))
    warn_of_left_out(len(messages) - len(kept), len(messages), "messages with several labels")
    chosen = [kept[row] for row in sample_queries(len(kept), settings.max_queries, settings.seed)]
    labels, codes = np.unique([label for _, label in chosen], return_inverse=True)
    if len(labels) < 2:
        problem = f"messages with at least 2 different labels {settings.label!r} are needed, got {len(labels)}"
        raise ConversationError("conversations", problem)
    texts = tuple(text for text, _ in chosen)
    return Labelled(texts, codes.astype(np.int64), tuple(labels.tolist()), len(messages) - len(kept))


def _embed(encoder: Any, labelled: Labelled, pooling: str) -> tuple[FloatArray, Labelled]:
    if labelled.conversations is None:
        encode, _ = MESSAGE.embed(encoder, labelled, pooling)
        return unit_embeddings(encode, labelled.texts).astype(np.float32), labelled
    (embedded,) = CONVERSATION.embed(encoder, labelled.conversations, pooling)
    return embedded.units, labelled


INTENT_DISCOVERY = Task(
    name="intent-discovery",
    level=Level("message", _embed, shares_data=False, takes_functions=True),
    metric="accuracy",
    description="Do groups of messages, however many are found, agree with the messages' intents?",
    citation="https://aclanthology.org/D19-1413",
    measure=evaluate_discovery,
    build=_build,
)
