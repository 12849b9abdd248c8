"""Every public function that takes conversations takes them however a program holds them."""

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import turnlens

pl = pytest.importorskip("polars", reason="needs polars, of the extra dev")

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
    return turnlens.ConversationStore.create(folder / "store", data, encoder=encoder).stats().conversations


def show(data: Any, encoder: Any, folder: Path) -> Any:
    for module in ("lancedb", "graspologic_native", "fastapi", "uvicorn"):
        pytest.importorskip(module)
    explorer = turnlens.explore(data, encoder=encoder)
    explorer.stop()
    return sorted(explorer.report.ids), explorer.report.texts[:]


def cluster(data: Any, encoder: Any, folder: Path) -> Any:
    for module in ("lancedb", "graspologic_native"):
        pytest.importorskip(module)
    groups = turnlens.cluster(data, encoder=encoder, level="conversation")
    return groups.to_pandas()["turns"].tolist()


def parts(data: Any, encoder: Any, folder: Path) -> Any:
    encoder.save(str(folder / "encoder"))
    return turnlens.scale.embed_corpus(data, output=folder / "vectors", encoder=folder / "encoder")


def converted(data: Any, encoder: Any, folder: Path) -> Any:
    turnlens.convert_conversations(data, output=folder / "chats.jsonl")
    return list(map(json.loads, (folder / "chats.jsonl").read_text().splitlines()))


def vectors(data: Any, encoder: Any, **how: Any) -> np.ndarray:
    return np.stack(turnlens.embed(data, encoder=encoder, **how)["vector"].to_numpy())


def weights(encoder: Any) -> np.ndarray:
    return np.asarray(encoder.encode(["hello"]))


CALLS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "ConversationStore": add_to_a_store,
    "centre": lambda data, encoder, _: vectors([talk(0)], turnlens.centre(data, encoder=encoder), level="conversation"),
    "ConversationEncoder": lambda data, encoder, _: encoder.encode_conversations(data),
    "cluster": cluster,
    "convert_conversations": converted,
    "data.drop_empty_messages": lambda data, *_: turnlens.data.drop_empty_messages(data)[:],
    "embed": lambda data, encoder, _: vectors(data, encoder),
    "ray.embed_corpus": parts,
    "embed dialogues": lambda data, encoder, _: vectors(data, encoder, level="conversation"),
    "messages in context": lambda data, encoder, _: encoder.encode_messages(data, context="conversation"),
    "embed in context": lambda data, encoder, _: vectors(data, encoder, level="message-in-context"),
    "evaluate": lambda data, encoder, _: turnlens.evaluate(data, encoder=encoder, tasks=["semantic-retrieval"]),
    "explore": show,
    "data.keep_long_enough": lambda data, *_: turnlens.data.keep_long_enough(data)[:],
    "data.merge_consecutive_messages": lambda data, *_: turnlens.data.merge_consecutive_messages(data)[:],
    "read_conversations": lambda data, *_: turnlens.read_conversations(data)[:],
    "data.split_conversations": lambda data, *_: {
        name: part[:] for name, part in turnlens.data.split_conversations(data).items()
    },
    "train": lambda data, encoder, _: weights(
        turnlens.train(data, method="dialogue-cse", settings={"max_steps": 1, "batch_size": 3}, encoder=encoder)
    ),
    "train a head": lambda data, encoder, _: str(
        turnlens.train(data, method="reply-head", settings={"max_steps": 1}, encoder=encoder)
    ),
}
# What takes no conversations.
OTHERS = {"ConversationError", "ReplyModel", "load_encoder", "merge", "sample_conversations"}


def test_every_public_function_is_tried_or_takes_no_conversations() -> None:
    stub = ast.parse((Path(turnlens.__file__).parent / "__init__.pyi").read_text())
    names = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    public = {name for name in names if not inspect.ismodule(getattr(turnlens, name))}
    assert public == {name for name in CALLS if name.isidentifier()} | OTHERS


# What is a frame for one is so for all: the others take theirs when there is time.
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[] if shape == "a list of messages" else pytest.mark.slow) for shape in SHAPES]
)
@pytest.mark.parametrize("name", CALLS)
def test_it_does_what_it_does_with_what_was_read(
    name: str, shape: str, tiny_encoder_path: Path, tmp_path: Path
) -> None:
    results = []
    for number, data in enumerate((SHAPES[shape](), turnlens.read_conversations(SHAPES[shape]()))):
        (tmp_path / str(number)).mkdir()
        encoder = turnlens.load_encoder(tiny_encoder_path, device="cpu").eval()
        results.append(CALLS[name](data, encoder, tmp_path / str(number)))
    first, second = results
    # the same computation on the same conversations
    if isinstance(first, np.ndarray):
        np.testing.assert_array_equal(first, second)
    else:
        assert first == second


def test_a_store_needs_ids(tiny_encoder: Any, tmp_path: Path) -> None:
    store = turnlens.ConversationStore.open(tmp_path / "store", encoder=tiny_encoder)
    for without in ([talk(0)], pd.DataFrame({"messages": [talk(0)]}), [{"messages": talk(0)}]):
        with pytest.raises(turnlens.ConversationError, match="id"):
            store.add(without)
    assert store.add([]).added == 0


def test_others_of_a_cluster_need_files(tmp_path: Path) -> None:
    with pytest.raises(turnlens.ConversationError, match="DataFrame: expected files that all workers can read"):
        turnlens.scale.embed_corpus(pd.DataFrame(ROWS), output=tmp_path / "vectors", engine="ray")
