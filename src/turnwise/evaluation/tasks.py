"""The table of evaluation tasks, and running them by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sentence_transformers import SentenceTransformer

from turnwise._utils.citations import DIAL2VEC, DIALOGUE_CSE, TRIPLE_ENCODERS
from turnwise._utils.levels import LevelName
from turnwise.data.conversations import read_conversations
from turnwise.data.messages import Conversations
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.utterances import encode_utterances
from turnwise.errors import ConversationError
from turnwise.evaluation.dialogues.alignment_uniformity import evaluate_alignment_uniformity
from turnwise.evaluation.dialogues.dialogue_retrieval import evaluate_dialogue_retrieval
from turnwise.evaluation.dialogues.domain_categorization import evaluate_categorization
from turnwise.evaluation.dialogues.labelled import (
    EncodeConversations,
    LabelledDialogues,
    embed_dialogues,
    labelled_dialogues,
)
from turnwise.evaluation.dialogues.semantic_relatedness import evaluate_relatedness
from turnwise.evaluation.scoring import Encode
from turnwise.evaluation.turn_order.additivity import evaluate_additivity
from turnwise.evaluation.turn_order.next_utterance import evaluate_components, evaluate_next_utterance
from turnwise.evaluation.turn_order.sequences import EmbeddedSequences, Sequences, build_sequences
from turnwise.evaluation.turn_order.short_term_planning import evaluate_short_term_planning
from turnwise.evaluation.utterances.dialogue_sts import evaluate_sts, read_sts_task
from turnwise.evaluation.utterances.semantic_retrieval import (
    build_retrieval_task,
    evaluate_retrieval,
    read_retrieval_task,
)

Encoder = SentenceTransformer | Encode | EncodeConversations


class Result(Protocol):
    """What every task's score returns: its figures; per-query values are attributes of its own."""

    def summary(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class LoadSettings:
    """How a task is made from the data.

    Args:
        label: Message field with the intent, for tasks on utterances built from conversations.
        max_queries: The most queries, a random sample; None: all.
        seed: Seed of the sample.
        dialogue_label: Column with the label of a whole dialogue; None: found by ``labelled_dialogues``.
    """

    label: str = "intent"
    max_queries: int | None = None
    seed: int = 0
    dialogue_label: str | None = None


@dataclass(frozen=True)
class Task:
    """One evaluation task, as data.

    Args:
        name: Its name, words joined by hyphens.
        metric: The main one among the figures it reports.
        description: What it asks of an encoder.
        citation: BibTeX of the paper that defines it.
        measure: Scores: ``measure(encode, task, seed)`` on utterances, ``measure(embedded, seed)`` on the others.
        level: What it embeds: utterances, whole dialogues (``task`` is then a ``LabelledDialogues``), or utterances of
            sequences in the views of the encoder (``Sequences``).
        released_file: Name of the file in which the paper's authors published it; "" if they did not.
        read: Reads that file.
        build: Builds the task from conversations; None where people must annotate it.
    """

    name: str
    metric: str
    description: str
    citation: str
    measure: Callable[..., Result]
    level: LevelName = "utterance"
    released_file: str = ""
    read: Callable[[Path, LoadSettings], Any] | None = None
    build: Callable[[Conversations, LoadSettings], Any] | None = None

    @property
    def key(self) -> str:
        """The name as a Python and JSON key."""
        return self.name.replace("-", "_")

    def score(self, encoder: Encoder, task: Any, seed: int = 0, pooling: str = "mean") -> Result:
        """Embed and score what ``load_task`` returned.

        Args:
            encoder: See ``evaluate``.
            task: From ``load_task``.
            seed: Seed of the bootstrap, of clusterings and of candidates.
            pooling: See ``evaluate``.
        """
        return self.measure(*_embedded(self.level, encoder, task, pooling), seed)


def _embedded(level: LevelName, encoder: Encoder, task: Any, pooling: str) -> tuple[Any, ...]:
    """What tasks of a level measure, before the seed; those of dialogues and of sequences share it."""
    encode: Any = encoder
    if isinstance(encoder, SentenceTransformer) and level == "utterance":
        encode = partial(encode_utterances, encoder, show_progress_bar=True)
    if isinstance(encoder, SentenceTransformer) and level == "dialogue":
        encode = partial(encode_conversations, encoder, pooling=pooling, show_progress_bar=True)
    if level == "utterance":
        return encode, task
    return ((embed_dialogues if level == "dialogue" else EmbeddedSequences)(encode, task),)


def _build_dialogues(rows: Conversations, how: LoadSettings) -> LabelledDialogues:
    return labelled_dialogues(rows, how.dialogue_label, how.max_queries, how.seed)


def _build_sequences(rows: Conversations, how: LoadSettings) -> Sequences:
    return build_sequences(rows, how.max_queries, how.seed)


TASKS = {
    task.name: task
    for task in (
        Task(
            name="semantic-retrieval",
            metric="map",
            description="Rank 100 BM25 candidates of an utterance: do those of the same intent come first?",
            citation=DIALOGUE_CSE,
            measure=evaluate_retrieval,
            released_file="select.txt",
            read=lambda path, how: read_retrieval_task(path, how.max_queries, how.seed),
            build=lambda rows, how: build_retrieval_task(rows, how.label, max_queries=how.max_queries, seed=how.seed),
        ),
        Task(
            name="dialogue-sts",
            metric="spearman",
            description="Does the cosine of two utterances follow the similarity people gave them?",
            citation=DIALOGUE_CSE,
            measure=evaluate_sts,
            released_file="sts.txt",
            read=lambda path, how: read_sts_task(path),
        ),
        Task(
            name="domain-categorization",
            metric="purity",
            description="Do clusters of whole dialogues agree with their labels?",
            citation=DIAL2VEC,
            measure=evaluate_categorization,
            level="dialogue",
            build=_build_dialogues,
        ),
        Task(
            name="semantic-relatedness",
            metric="spearman",
            description="Is the cosine of two dialogues higher when they share their label?",
            citation=DIAL2VEC,
            measure=evaluate_relatedness,
            level="dialogue",
            build=_build_dialogues,
        ),
        Task(
            name="dialogue-retrieval",
            metric="map",
            description="Rank all other dialogues: do those of the same label come first?",
            citation=DIAL2VEC,
            measure=evaluate_dialogue_retrieval,
            level="dialogue",
            build=_build_dialogues,
        ),
        Task(
            name="alignment-uniformity",
            metric="adjusted_alignment",
            description="Are dialogues of one label close, and all of them spread out? Lower is better.",
            citation=DIAL2VEC,
            measure=evaluate_alignment_uniformity,
            level="dialogue",
            build=_build_dialogues,
        ),
        Task(
            name="next-utterance",
            metric="average_rank",
            description="Rank all utterances at one depth: does the one that was said come first?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_next_utterance,
            level="turn-order",
            build=_build_sequences,
        ),
        Task(
            name="component-analysis",
            metric="average_rank",
            description="Next utterance with parts of a triple-encoder only: which of them matter?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_components,
            level="turn-order",
            build=_build_sequences,
        ),
        Task(
            name="short-term-planning",
            metric="average_rank",
            description="Rank utterances by how well they lead to a goal: does the one that did come first?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_short_term_planning,
            level="turn-order",
            build=_build_sequences,
        ),
        Task(
            name="additivity",
            metric="difference",
            description="Are contexts closer to the true next utterance than to others, and which turns make them so?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_additivity,
            level="turn-order",
            build=_build_sequences,
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of that name, hyphens or underscores.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    try:
        return TASKS[name.replace("_", "-")]
    except KeyError:
        raise ValueError(f"unknown task {name!r}: expected one of {', '.join(TASKS)}") from None


def load_task(
    name: str,
    data: str | os.PathLike[str] | Conversations,
    *,
    seed: int = 0,
    max_queries: int | None = None,
    label: str = "intent",
    dialogue_label: str | None = None,
) -> Any:
    """Read or build a task once, to score any number of encoders on it: ``TASKS[name].score(encoder, task)``.

    Args:
        name: Name of the task.
        data: A ``datasets.Dataset`` of conversations, or a path: a released file (``select.txt``, ``sts.txt`` or a
            name ending so), a folder that holds one, or anything ``read_conversations`` reads.
            A task that cannot be built from conversations reads any file in its released form, whatever its name.
        seed: Seed of the samples taken.
        max_queries: The most queries; by default all.
        label: Message field with the intent, for tasks on utterances built from conversations.
        dialogue_label: Column with the label of whole dialogues, see ``labelled_dialogues``.

    Raises:
        ValueError: There is no such task.
        ConversationError: The data does not serve it.
    """
    task = find_task(name)
    settings = LoadSettings(label, max_queries, seed, dialogue_label)
    if not isinstance(data, (str, os.PathLike)):
        if task.build is None:
            raise ConversationError("conversations", _not_served(task))
        return task.build(data, settings)
    path = Path(data)
    released = _released_file(task, path)
    if released is not None and task.read is not None:
        return task.read(released, settings)
    if task.build is None:
        raise ConversationError(str(path), _not_served(task))
    try:
        return task.build(read_conversations(path), settings)
    except ConversationError as error:
        if error.where != "conversations":
            raise
        raise ConversationError(str(path), error.problem) from error


def evaluate(
    encoder: Encoder,
    data: str | os.PathLike[str] | Conversations,
    tasks: str | Sequence[str],
    *,
    pooling: str = "mean",
    seed: int = 0,
    max_queries: int | None = None,
    label: str = "intent",
    dialogue_label: str | None = None,
) -> dict[str, dict[str, object]]:
    """Run evaluation tasks on an encoder. Tasks on whole dialogues share one embedding of each, those on sequences too.

    Args:
        encoder: An encoder, with views or without. For tasks on utterances any function will do that embeds a list of
            texts, (texts,) -> (texts, dim); for tasks on whole dialogues one that embeds a list of conversations, each
            a list of messages ``{"role", "content"}``, (conversations,) -> (conversations, dim).
        data: See ``load_task``.
        tasks: Names of tasks, see ``TASKS``; a single one may be given as it is.
        pooling: How an encoder embeds whole dialogues, see ``turnwise.encode_conversations``.
        seed: Seed of the samples, of clusterings, of candidates and of the bootstrap.
        max_queries: The most queries of a task that has queries; by default all. Of a task on sequences the most
            conversations whose utterances are asked for.
        label: Message field with the intent, for tasks on utterances built from conversations.
        dialogue_label: Column with the label of whole dialogues, see ``labelled_dialogues``.

    Returns:
        For each task, under its name with underscores, the figures, in percent where they are shares or correlations,
        with 95 % intervals and the number of queries or pairs:
        ``{"semantic_retrieval": {"map": 58.3, "map_interval": [56.1, 60.4], …}}``. A task on sequences has such figures
        for each way of scoring: ``{"next_utterance": {"bi": {"average_rank": 15.2, …}, "bm25": …}}``.

    Raises:
        ValueError: A task is unknown, or the encoder does not serve it.
        ConversationError: The data does not serve a task.
    """
    chosen = [find_task(name) for name in ([tasks] if isinstance(tasks, str) else tasks)]
    if not chosen:
        raise ValueError(f"no task given: expected one or more of {', '.join(TASKS)}")
    chosen = list(dict.fromkeys(chosen))
    levels = {task.level for task in chosen}
    if not isinstance(encoder, SentenceTransformer) and (len(levels) > 1 or "turn-order" in levels):
        names = ", ".join(task.name for task in chosen)
        raise ValueError(
            f"a function serves tasks on utterances or tasks on dialogues, got {names}: give the encoder itself"
        )
    # All are loaded before the first is scored, so that bad data is reported before minutes of embedding. Those of
    # dialogues and those of sequences are all built the same way, so the first one's data serves all.
    how: dict[str, Any] = {"seed": seed, "max_queries": max_queries, "label": label, "dialogue_label": dialogue_label}
    keys = {task: task.name if task.level == "utterance" else task.level for task in chosen}
    loaded: dict[str, Any] = {}
    for task, key in keys.items():
        if key not in loaded:
            loaded[key] = load_task(task.name, data, **how)
    embedded: dict[str, tuple[Any, ...]] = {}
    for task, key in keys.items():
        if key not in embedded:
            embedded[key] = _embedded(task.level, encoder, loaded[key], pooling)
    return {task.key: task.measure(*embedded[key], seed).summary() for task, key in keys.items()}


def _released_file(task: Task, path: Path) -> Path | None:
    """The file at ``path`` in the task's released form, if that is what the path leads to."""
    released = {other.released_file: other.name for other in TASKS.values() if other.released_file}
    if path.is_dir():
        present = [name for name in released if (path / name).is_file()]
        if task.released_file in present:
            return path / task.released_file
        if present:
            problem = f"the folder holds {', '.join(present)} but no {task.released_file or 'data'} for {task.name}"
            raise ConversationError(str(path), problem)
        return None
    for name, owner in released.items():
        if re.search(rf"(^|[-_.]){re.escape(name)}$", path.name):
            if owner == task.name:
                return path
            raise ConversationError(str(path), f"this is a file of the task {owner}, not of {task.name}")
    return path if task.build is None else None


def _not_served(task: Task) -> str:
    return (
        f"{task.name} cannot be built from conversations, it needs annotated data: "
        f"a file {task.released_file} or a folder with one"
    )
