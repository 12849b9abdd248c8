"""The main job from end to end on the sample corpus: read, train without labels, evaluate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens._utils.files import atomic_path, check_file, check_folder
from turnlens._utils.registries import DEFAULT_METHOD
from turnlens.data.conversations import read_conversations
from turnlens.data.dataset_operations import split_conversations
from turnlens.data.messages import texts_of
from turnlens.data.sample_corpus import sample_conversations
from turnlens.encoders.loading import load_encoder
from turnlens.encoders.messages import encode_messages
from turnlens.evaluation import RetrievalResult, compare_results, evaluate_retrieval, load_task
from turnlens.training.recipes import get_recipe
from turnlens.training.train import train


def run_demo(
    output: str | os.PathLike[str], conversations: int = 300, max_steps: int = 8, seed: int = 0, force: bool = False
) -> tuple[RetrievalResult, RetrievalResult, float]:
    """Fit an encoder to a generated corpus and compare it with the encoder it started from.

    Args:
        output: A folder, to which ``conversations.jsonl`` and ``model`` are written.
        conversations: Size of the corpus; a fifth of it is held out for the evaluation.
        max_steps: Training steps.
        seed: Seed of the corpus, the training and the evaluation.
        force: Overwrite an earlier demo.

    Returns:
        Intent retrieval on the held-out conversations, of those messages that do not occur in training as they are, by
        the untouched and by the trained encoder, and the p-value of their difference (paired bootstrap over queries).
    """
    output = Path(output)
    check_folder(output / "model", force)
    corpus = check_file(output / "conversations.jsonl", force)
    with atomic_path(corpus) as temporary:
        sample_conversations(conversations, seed=seed).to_json(str(temporary), force_ascii=False)
    parts = split_conversations(read_conversations(corpus), train=0.8, dev=0.0, test=0.2)
    task = load_task("semantic-retrieval", _unseen(parts), seed=seed, max_queries=300)
    encoder = load_encoder()
    untouched = evaluate_retrieval(lambda texts: encode_messages(encoder, texts), task, seed)
    recipe = get_recipe(DEFAULT_METHOD, settings={"max_steps": max_steps, "seed": seed})
    # Training sees only the messages; the intents are used for the evaluation alone.
    trained = train(
        parts["train"].select_columns(["id", "messages"]),
        method=recipe,
        encoder=encoder,
        output=output / "model",
        force=force,
    )
    result = evaluate_retrieval(lambda texts: encode_messages(trained, texts), task, seed)
    return untouched, result, compare_results(untouched, result, seed)


def _unseen(parts: dict[str, Dataset]) -> list[dict[str, Any]]:
    """The held-out conversations without the messages that are in training, and only those that have others.

    The generator repeats itself: three quarters of the held-out messages are in training as they are.
    """
    seen = set(texts_of(row["messages"] for row in parts["train"]))
    left = ([message for message in row["messages"] if message["content"] not in seen] for row in parts["test"])
    return [{"messages": messages} for messages in left if messages]
