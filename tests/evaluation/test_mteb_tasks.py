"""Conversations as MTEB tasks: MTEB's figures are ours where the definition is the same."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from turnwise import evaluate, sample_conversations
from turnwise.evaluation.mteb import mteb_tasks


def test_mteb_and_turnwise_agree_on_map_and_mrr(tiny_encoder: SentenceTransformer) -> None:
    mteb = pytest.importorskip("mteb", reason="mteb is not installed: pip install 'turnwise[mteb]'")
    conversations = sample_conversations(30)

    def joined(some: list[list[dict[str, str]]]) -> np.ndarray:
        return tiny_encoder.encode([" ".join(message["content"] for message in messages) for messages in some])

    ours = {
        **evaluate(conversations, encoder=tiny_encoder, tasks="semantic-retrieval", max_queries=25),
        **evaluate(conversations, encoder=joined, tasks="conversation-retrieval", max_queries=25),
    }
    tasks = mteb_tasks(conversations, name="Sample", max_queries=25)
    results = mteb.evaluate(tiny_encoder, tasks, cache=None, show_progress_bar=False).task_results
    scores = {result.task_name: result.scores["test"][0] for result in results}
    for name, key in (
        ("SampleMessageReranking", "semantic_retrieval"),
        ("SampleConversationRetrieval", "conversation_retrieval"),
    ):
        every = max(int(figure.removeprefix("map_at_")) for figure in scores[name] if figure.startswith("map_at_"))
        assert 100 * scores[name]["main_score"] == pytest.approx(ours[key]["map"], abs=0.001)
        assert 100 * scores[name][f"mrr_at_{every}"] == pytest.approx(ours[key]["mrr"], abs=0.001)
    assert 0 < scores["SampleConversationClustering"]["main_score"] < 1


def test_the_revision_follows_the_data() -> None:
    pytest.importorskip("mteb", reason="mteb is not installed: pip install 'turnwise[mteb]'")

    def revision(count: int) -> str:
        (task,) = mteb_tasks(sample_conversations(count), tasks="clusters")
        return task.metadata.dataset["revision"]

    assert revision(30) == revision(30) != revision(31)


def test_unknown_tasks_and_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match=r"turnwise\[mteb\]"):
        monkeypatch.setitem(sys.modules, "mteb", None)
        mteb_tasks(sample_conversations(30))
    monkeypatch.undo()
    pytest.importorskip("mteb", reason="mteb is not installed: pip install 'turnwise[mteb]'")
    with pytest.raises(ValueError, match="tasks must be among messages, conversations, clusters, got sts"):
        mteb_tasks(sample_conversations(30), tasks="sts")
