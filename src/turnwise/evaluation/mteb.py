"""A user's conversations as MTEB tasks, for any model that MTEB can run (needs the extra ``mteb``).

A model trained here needs nothing to run on MTEB's own tasks: it is a stock ``SentenceTransformer``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict

from turnwise._utils.optional import require
from turnwise.data.messages import document
from turnwise.data.reading.given import Given
from turnwise.evaluation.conversations.labelled import LabelledConversations
from turnwise.evaluation.loading import load_task
from turnwise.evaluation.messages.semantic_retrieval import RetrievalTask
from turnwise.evaluation.tasks import TASKS

_SPLIT = "test"
_NAMES = ("messages", "conversations", "clusters")

# Of the task domain-categorization, which clusters the same conversations.
_CLUSTERS = {
    "description": "Do clusters of whole conversations agree with their labels?",
    "bibtex_citation": "https://aclanthology.org/2022.emnlp-main.490",
}


def mteb_tasks(
    data: Given,
    *,
    tasks: str | Sequence[str] = _NAMES,
    name: str = "Turnwise",
    language: str = "eng-Latn",
    seed: int = 0,
    max_queries: int | None = None,
    label: str = "intent",
    conversation_label: str | None = None,
) -> list[Any]:
    """Make MTEB tasks of conversations.

    Run them with ``mteb.evaluate(model, mteb_tasks("test.jsonl"), cache=None)``.

    Args:
        data: Conversations, or a file of them, as for ``turnwise.evaluate``.
        tasks: ``"messages"``: rerank the candidates of ``semantic-retrieval``, main score MAP; ``"conversations"``:
            find the conversations of the same label as in ``conversation-retrieval``, main score MAP; ``"clusters"``:
            MTEB's own clustering of the conversations of ``domain-categorization``, main score V-measure.
        name: Name of the corpus; the names of the tasks start with it.
        language: Its language and script, such as ``"zho-Hans"``.
        seed: Seed of the samples.
        max_queries: Evaluate at most this many random queries; by default all. MTEB keeps the score of every query
            and conversation in a dictionary: about 100 bytes each.
        label: Message field with the intent, for ``"messages"``.
        conversation_label: Column with the label of whole conversations, see ``labelled_conversations``.

    Raises:
        ImportError: mteb is not installed.
        ValueError: A task is unknown.
        ConversationError: A task cannot be made from the data.
    """
    require("mteb", "mteb")
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    if not names or not set(names) <= set(_NAMES):
        raise ValueError(f"tasks must be among {', '.join(_NAMES)}, got {', '.join(names) or 'none'}")
    settings: dict[str, Any] = {
        "seed": seed,
        "max_queries": max_queries,
        "label": label,
        "conversation_label": conversation_label,
    }
    made: list[Any] = []
    if "messages" in names:
        made.append(_messages(load_task("semantic-retrieval", data, **settings), name, language))
    if {"conversations", "clusters"} & set(names):
        conversations = load_task("conversation-retrieval", data, **settings)
        texts = [document(messages) for messages in conversations.conversations]
        made += [_CONVERSATIONS[kind](conversations, texts, name, language) for kind in names if kind in _CONVERSATIONS]
    return made


def _messages(task: RetrievalTask, name: str, language: str) -> Any:
    """A corpus of texts in which each query has candidates of its own."""
    ranked = {
        str(query): [*map(str, positives.tolist()), *map(str, negatives.tolist())]
        for query, positives, negatives in zip(task.queries, task.positives, task.negatives)
    }
    relevant = {
        str(query): dict.fromkeys(map(str, positives.tolist()), 1)
        for query, positives in zip(task.queries, task.positives)
    }
    corpus = {str(index): text for index, text in enumerate(task.texts)}
    metadata = {"type": "Reranking", **_told("semantic-retrieval")}
    return _retrieval(f"{name}MessageReranking", language, metadata, corpus, relevant, ranked)


def _conversations(conversations: LabelledConversations, texts: list[str], name: str, language: str) -> Any:
    """Each conversation as a query in the corpus of all others: equal ids are ignored."""
    members = [np.flatnonzero(conversations.codes == code).tolist() for code in range(len(conversations.labels))]
    relevant = {
        str(query): {str(other): 1 for other in members[conversations.codes[query]] if other != query}
        for query in conversations.queries.tolist()
    }
    corpus = {str(index): text for index, text in enumerate(texts)}
    metadata = {"type": "Retrieval", **_told("conversation-retrieval")}
    return _retrieval(f"{name}ConversationRetrieval", language, metadata, corpus, relevant, None)


def _clusters(conversations: LabelledConversations, texts: list[str], name: str, language: str) -> Any:
    from mteb.abstasks.clustering import AbsTaskClustering

    labels = [conversations.labels[code] for code in conversations.codes]
    metadata = {"type": "Clustering", **_CLUSTERS}
    rows = Dataset.from_dict({"sentences": texts, "labels": labels})
    members = {
        "max_fraction_of_documents_to_embed": None,
        "max_documents_per_cluster": len(texts),  # drawn with replacement for each of ten runs
    }
    content = repr((texts, labels))
    return _task(
        AbsTaskClustering,
        f"{name}ConversationClustering",
        language,
        {**metadata, "main_score": "v_measure", "category": "t2c"},
        members,
        content,
        lambda: DatasetDict({_SPLIT: rows}),
    )


_CONVERSATIONS: dict[str, Callable[[LabelledConversations, list[str], str, str], Any]] = {
    "conversations": _conversations,
    "clusters": _clusters,
}


def _told(task: str) -> dict[str, str]:
    return {"bibtex_citation": TASKS[task].citation, "description": TASKS[task].description}


def _retrieval(
    name: str,
    language: str,
    metadata: dict[str, str],
    corpus: dict[str, str],
    relevant: dict[str, dict[str, int]],
    ranked: dict[str, list[str]] | None,
) -> Any:
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData

    every = len(corpus)  # a cut-off that no ranking reaches: MAP and MRR over all of it, as in turnwise
    members = {"k_values": (1, 5, 10, every), "ignore_identical_ids": True}
    queries = {query: corpus[query] for query in relevant}

    def load() -> dict[str, dict[str, Any]]:
        texts, asked = (
            Dataset.from_dict({"id": list(by_id), "text": list(by_id.values())}) for by_id in (corpus, queries)
        )
        split = RetrievalSplitData(corpus=texts, queries=asked, relevant_docs=relevant, top_ranked=ranked)
        return {"default": {_SPLIT: split}}

    content = repr((corpus, relevant, ranked))
    metadata = {**metadata, "main_score": f"map_at_{every}", "category": "t2t"}
    return _task(AbsTaskRetrieval, name, language, metadata, members, content, load)


def _task(
    base: type,
    name: str,
    language: str,
    metadata: dict[str, str],
    members: dict[str, Any],
    content: str,
    load: Callable[[], Any],
) -> Any:
    """An instance of a new task class with its data. Its revision is a hash of the data, by which MTEB caches."""
    from mteb.abstasks.task_metadata import TaskMetadata

    def load_data(self: Any, *args: Any, **kwargs: Any) -> None:
        self.dataset, self.data_loaded = load(), True

    dataset = {"path": "turnwise", "revision": sha256(content.encode()).hexdigest()}
    described = TaskMetadata(
        name=name, dataset=dataset, eval_splits=[_SPLIT], eval_langs=[language], reference=None, **metadata
    )
    return type(name, (base,), {**members, "metadata": described, "load_data": load_data})()
