"""Every public function that takes conversations takes them however a program holds them."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import turnwise

WORDS = ("hello", "where is it", "thanks", "a card please")


def talk(number: int) -> list[dict[str, Any]]:
    texts = [f"{WORDS[(number + turn) % 4]} {number} {turn}" for turn in range(4)]
    return [
        {"role": ("user", "agent")[turn % 2], "content": text, "intent": WORDS[turn % 2], "topic": WORDS[number % 2]}
        for turn, text in enumerate(texts)
    ]


ROWS = [{"session_id": f"s{number}", **message} for number in range(12) for message in talk(number)]
SHAPES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "a list of messages": lambda: list(ROWS),
}


def add_to_a_store(data: Any, encoder: Any, folder: Path) -> Any:
    pytest.importorskip("lancedb")
    return turnwise.ConversationStore.open(folder / "store", encoder).add(data)


def show(data: Any, encoder: Any, folder: Path) -> Any:
    for module in ("lancedb", "igraph", "fastapi", "uvicorn"):
        pytest.importorskip(module)
    explorer = turnwise.explore(data, encoder=encoder)
    explorer.stop()
    return sorted(explorer.report.ids), explorer.report.texts[:]


def tasks_of_mteb(data: Any, encoder: Any, folder: Path) -> Any:
    pytest.importorskip("mteb")
    return [task.metadata.name for task in turnwise.mteb_tasks(data, "utterances")]


def parts(data: Any, encoder: Any, folder: Path) -> Any:
    encoder.save(str(folder / "encoder"))
    return turnwise.embed_corpus(data, folder / "vectors", folder / "encoder")


def converted(data: Any, encoder: Any, folder: Path) -> Any:
    turnwise.convert_conversations(data, folder / "chats.jsonl")
    return list(map(json.loads, (folder / "chats.jsonl").read_text().splitlines()))


def weights(encoder: Any) -> np.ndarray:
    return np.asarray(encoder.encode(["hello"]))


ADAPTATION = turnwise.recipes.Adaptation(max_steps=1, batch_size=4)
HEAD = turnwise.get_recipe("reply-head", {"max_steps": 1})
CALLS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "ConversationStore": add_to_a_store,
    "adapt_encoder": lambda data, encoder, _: weights(turnwise.adapt_encoder(encoder, data, ADAPTATION)),
    "centre_encoder": lambda data, encoder, _: turnwise.centre_encoder(data, encoder).encode_conversations([talk(0)]),
    "convert_conversations": converted,
    "drop_empty_messages": lambda data, *_: turnwise.drop_empty_messages(data)[:],
    "embed_corpus": parts,
    "ConversationEncoder": lambda data, encoder, _: encoder.encode_conversations(data),
    "messages in context": lambda data, encoder, _: encoder.encode_messages(data, context="conversation"),
    "evaluate": lambda data, encoder, _: turnwise.evaluate(encoder, data, ["semantic-retrieval"]),
    "explore": show,
    "keep_long_enough": lambda data, *_: turnwise.keep_long_enough(data)[:],
    "merge_consecutive_messages": lambda data, *_: turnwise.merge_consecutive_messages(data)[:],
    "mteb_tasks": tasks_of_mteb,
    "read_conversations": lambda data, *_: turnwise.read_conversations(data)[:],
    "split_conversations": lambda data, *_: {
        name: part[:] for name, part in turnwise.split_conversations(data).items()
    },
    "train": lambda data, encoder, _: weights(
        turnwise.train(turnwise.papers.DialogueCSE(max_steps=1, batch_size=3), data, encoder)
    ),
    "train a head": lambda data, encoder, _: str(turnwise.train(HEAD, data, encoder)),
}
# What takes no conversations, or those of a cluster.
OTHERS = {
    "ConversationError", "ReplyModel", "UtteranceCollator", "VectorCache", "add_history",
    "distill_static", "embed_dataset", "get_recipe", "load_encoder", "merge_encoders", "read_dataset",
    "sample_conversations",
}  # fmt: skip


def test_every_public_function_is_tried_or_takes_no_conversations() -> None:
    stub = ast.parse((Path(turnwise.__file__).parent / "__init__.pyi").read_text())
    names = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    public = {name for name in names if not inspect.ismodule(getattr(turnwise, name))}
    assert public == (CALLS.keys() | OTHERS) - {"messages in context", "train a head"}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CALLS)
def test_it_does_what_it_does_with_what_was_read(
    name: str, shape: str, tiny_encoder_path: Path, tmp_path: Path
) -> None:
    results = []
    for number, data in enumerate((SHAPES[shape](), turnwise.read_conversations(SHAPES[shape]()))):
        (tmp_path / str(number)).mkdir()
        encoder = turnwise.load_encoder(tiny_encoder_path, device="cpu").eval()
        results.append(CALLS[name](data, encoder, tmp_path / str(number)))
    first, second = results
    # the same computation on the same conversations
    if isinstance(first, np.ndarray):
        np.testing.assert_array_equal(first, second)
    else:
        assert first == second


def test_a_store_needs_ids(tiny_encoder: Any, tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    store = turnwise.ConversationStore.open(tmp_path / "store", tiny_encoder)
    for without in ([talk(0)], pd.DataFrame({"messages": [talk(0)]}), [{"messages": talk(0)}]):
        with pytest.raises(turnwise.ConversationError, match="id"):
            store.add(without)
    assert store.add([]).added == 0


def test_others_of_a_cluster_need_files(tmp_path: Path) -> None:
    with pytest.raises(turnwise.ConversationError, match="DataFrame: expected files that all workers can read"):
        turnwise.embed_corpus(pd.DataFrame(ROWS), tmp_path / "vectors", engine="ray")
