"""Component analysis: next utterance with parts of a triple-encoder only (triple-encoders, ACL 2024, appendix D)."""

from __future__ import annotations

from turnlens.evaluation.task import Task
from turnlens.papers.citations import TRIPLE_ENCODERS
from turnlens.papers.next_message.next_message import NextMessageResult, evaluate_next_message
from turnlens.papers.next_message.sequences import REPLY, EmbeddedSequences, build_task_sequences
from turnlens.papers.triple_encoders.embedded_views import EmbeddedViews
from turnlens.papers.triple_encoders.modes import COMPONENTS


def evaluate_components(embedded: EmbeddedSequences, seed: int = 0) -> NextMessageResult:
    """As ``evaluate_next_message``, with parts of a triple-encoder only: the modes are ``COMPONENTS``.

    Raises:
        ValueError: The encoder is not a triple-encoder.
    """
    if not EmbeddedViews(embedded).triple:
        raise ValueError("component-analysis takes a triple-encoder apart: the model must be trained with c3l")
    return evaluate_next_message(embedded, seed, tuple(COMPONENTS))


COMPONENT_ANALYSIS = Task(
    name="component-analysis",
    level=REPLY,
    metric="average_rank",
    description="Next utterance with parts of a triple-encoder only: which of them matter?",
    citation=TRIPLE_ENCODERS,
    measure=evaluate_components,
    build=build_task_sequences,
)
