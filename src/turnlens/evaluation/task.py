"""Evaluation tasks as data, and the levels at which they embed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from turnlens._utils.registries import TASKS, LevelName, check_task
from turnlens.data.messages import Conversations
from turnlens.encoders.encoder import Encoder, as_conversational
from turnlens.evaluation.conversation_labels import EmbeddedConversations, build_conversations, embed_labelled

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.evaluation.conversation_labels import EncodeConversations
    from turnlens.evaluation.scoring import Encode

RANK, RANK_OVER_LENGTHS = "average_rank", "average_rank_over_lengths"
TRUE, RANDOM, DIFFERENCE = "true", "random", "difference"

LOWER_IS_BETTER = (RANK, RANK_OVER_LENGTHS, "adjusted_alignment", "alignment", "uniformity")
# Ranks, distances and cosines; all others are shares or correlations.
NOT_IN_PERCENT = (*LOWER_IS_BETTER, TRUE, RANDOM, DIFFERENCE)


@dataclass(frozen=True)
class LoadSettings:
    """Settings by which a task is made from data.

    Args:
        label: Message field with the intent, for tasks on messages built from conversations.
        max_queries: Use at most this many random queries; None for all.
        seed: Seed of the sample.
        conversation_label: Column with the label of a whole conversation; None to let ``labelled_conversations`` find
            it.
    """

    label: str = "intent"
    max_queries: int | None = None
    seed: int = 0
    conversation_label: str | None = None


# An encoder, or a function that embeds.
Evaluated: TypeAlias = "Encoder | SentenceTransformer | Encode | EncodeConversations"


def is_encoder(encoder: object) -> bool:
    """Return whether this is an encoder, and not a function that embeds."""
    return isinstance(encoder, Encoder) or hasattr(encoder, "named_children")


@dataclass(frozen=True)
class Level:
    """The common part of tasks that embed the same things.

    Args:
        name: Its name.
        embed: ``embed(encoder, data, pooling)`` gives the arguments of ``measure`` before the seed. ``data`` is from
            ``load_task``; ``pooling`` says how whole conversations are embedded, see `turnlens.ConversationEncoder`.
        shares_data: Whether all its tasks are made from the same data, so that one embedding serves them all.
        takes_functions: Whether a function that embeds may be used in place of an encoder.
    """

    name: LevelName
    embed: Callable[[Any, Any, str], tuple[Any, ...]]
    shares_data: bool
    takes_functions: bool


def _with_texts(encoder: Any, data: Any, pooling: str) -> tuple[Any, Any]:
    """Tasks on messages embed their texts themselves."""
    if is_encoder(encoder):
        encoder = partial(as_conversational(encoder).encode_messages, show_progress_bar=True)
    return encoder, data


def _with_conversations(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedConversations]:
    if is_encoder(encoder):
        of_encoder = as_conversational(encoder).encode_conversations
        encoder = partial(of_encoder, pooling=pooling, show_progress_bar=True)
    return (embed_labelled(encoder, data),)


MESSAGE = Level("message", _with_texts, shares_data=False, takes_functions=True)
CONVERSATION = Level("conversation", _with_conversations, shares_data=True, takes_functions=True)


class Result(Protocol):
    """The figures of a task, which scoring returns. Values of single queries are attributes of their own."""

    def summary(self) -> dict[str, object]:
        """The figures, ready for JSON."""
        ...


@dataclass(frozen=True)
class Task:
    """One evaluation task.

    Args:
        name: Its name, words joined by hyphens.
        level: What it embeds: messages, or whole conversations (its data is then ``LabelledConversations``).
        metric: The main one among the figures it reports.
        description: What it asks of an encoder.
        citation: The address, or BibTeX, of the paper that defines it.
        measure: Scores: ``measure(encode, data, seed)`` on messages, ``measure(embedded, seed)`` on the others.
        build: Builds the data from conversations; None where people must annotate it.
    """

    name: str
    level: Level
    metric: str
    description: str
    citation: str
    measure: Callable[..., Result]
    build: Callable[[Conversations, LoadSettings], Any] | None = None

    @property
    def key(self) -> str:
        """The name as a Python and JSON key."""
        return self.name.replace("-", "_")

    @property
    def data_key(self) -> str:
        """A key that is the same for all tasks that share their data and its embedding."""
        return self.level.name if self.level.shares_data else self.name

    @property
    def greater_is_better(self) -> bool:
        """True if a higher main figure is better."""
        return self.metric not in LOWER_IS_BETTER

    def score(self, encoder: Encoder, data: Any, seed: int = 0, pooling: str = "mean") -> Result:
        """Embed and score.

        Args:
            encoder: See ``evaluate``.
            data: From ``load_task``.
            seed: Seed of the bootstrap, of clusterings and of candidates.
            pooling: See ``evaluate``.
        """
        return self.measure(*self.level.embed(encoder, data, pooling), seed)


# A task on whole conversations with one label each.
conversation_task = partial(Task, level=CONVERSATION, build=build_conversations)

__all__ = ["TASKS", "find_task"]


def find_task(task: str | Task) -> Task:
    """The task of that name, with hyphens or underscores; a task as it is.

    Raises:
        ValueError: There is no such task; the message lists all tasks.
    """
    found: Task = TASKS[check_task(task)] if isinstance(task, str) else task
    return found
