"""Dialogue retrieval: do dialogues of the same label come first? (dial2vec, EMNLP 2022, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from turnwise._utils.citations import DIAL2VEC
from turnwise.evaluation.dialogues.labelled import EmbeddedDialogues, LabelledDialogues, build_dialogues
from turnwise.evaluation.levels import DIALOGUE
from turnwise.evaluation.ranking_result import RankingResult
from turnwise.evaluation.task import Task


@dataclass(frozen=True, eq=False)
class DialogueRetrievalResult(RankingResult):
    """Also says what was ranked. Queries are ids of dialogues; those whose label no other dialogue has are dropped."""

    dialogues: LabelledDialogues

    @override
    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        return {**super().summary(), **self.dialogues.counts()}


def evaluate_dialogue_retrieval(embedded: EmbeddedDialogues, seed: int = 0) -> DialogueRetrievalResult:
    """Rank all other dialogues by cosine with each query; those of its label are relevant.

    Args:
        embedded: From ``embed_dialogues``.
        seed: Seed of the bootstrap.
    """
    return DialogueRetrievalResult(
        queries=embedded.dialogues.query_ids,
        average_precision=embedded.ranking.average_precision,
        reciprocal_rank=embedded.ranking.reciprocal_rank,
        dropped=embedded.dialogues.dropped,
        seed=seed,
        dialogues=embedded.dialogues,
    )


DIALOGUE_RETRIEVAL = Task(
    name="dialogue-retrieval",
    level=DIALOGUE,
    metric="map",
    description="Rank all other dialogues: do those of the same label come first?",
    citation=DIAL2VEC,
    measure=evaluate_dialogue_retrieval,
    build=build_dialogues,
)
