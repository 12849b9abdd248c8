"""Rows of baselines, which say what the registry says."""

from __future__ import annotations

import pytest

from turnlens.evaluation import load_task
from turnlens.papers.baselines import BASELINES
from turnlens.papers.experiments.baseline_row import baseline_row
from turnlens.papers.experiments.method import ScoringInputs, Stage
from turnlens.papers.experiments.scoring import one_interlocutor


@pytest.mark.parametrize("name", BASELINES)
def test_a_row_needs_and_learns_what_its_baseline_does(name: str) -> None:
    entry = BASELINES[name]
    for level in entry.levels:
        row = baseline_row(name, level, "A title")
        assert (row.name, row.title, row.needs, row.learns) == (name, "A title", entry.needs, entry.learns)
        assert row.needs_seeds == (entry.learns == "randomly")
        assert row.needs_conversations == (entry.learns != "nothing")
        assert (row.tasks is None) == (entry.gives == "embeddings") and not row.proposed


def test_rankings_and_clusters_serve_some_tasks_only() -> None:
    assert baseline_row("bm25", "message", "BM25").tasks == ("semantic-retrieval",)
    assert baseline_row("bm25", "conversation", "BM25").tasks == ("conversation-retrieval",)
    assert baseline_row("lda", "conversation", "LDA").tasks == ("domain-categorization",)


def test_a_row_after_a_training_has_a_name_of_its_own() -> None:
    row = baseline_row("cls", "message", "adapted", name="cls-adapted", stages=(Stage("adapt"),))
    assert row.name == "cls-adapted" and row.needs_seeds and row.needs_conversations


def test_one_speaker_in_one_dialogue_does_not_fail_a_row(tiny_encoder) -> None:
    rows = [
        {"messages": [{"role": role, "content": text} for role in roles], "domain": text}
        for text, roles in (("pizza", "ab"), ("pizza", "ba"), ("card", "a"), ("card", "ab"))
    ]
    inputs = ScoringInputs(tiny_encoder, None, 0, None)
    tasks = {"conversation-retrieval": load_task("conversation-retrieval", rows)}
    for first in (True, False):
        figures = one_interlocutor(first)(inputs, tasks)["conversation-retrieval"].summary
        assert figures["queries"] == 4
