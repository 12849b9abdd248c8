from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from turnlens.store import ConversationStore, indexes, rewrites, tables

SECRET = {
    "id": "patient-7391",
    "messages": [{"role": "user", "content": "my card is zanzibarquux", "note": "vexillophile"}],
    "folder": "mumpsimus",
}
# In the words of the text index, a transducer written from its end, "anzibarquu" stands so.
IN_TEXT_INDEX = bytes.fromhex("d3d3fdc7c5dac8f6cbc5")
TRACES = [SECRET["id"], "zanzibarquux", "vexillophile", "mumpsimus", "another penumbrae", IN_TEXT_INDEX]


def holding(folder: Path, what: str | bytes) -> list[str]:
    """The files of a folder that hold some bytes."""
    wanted = what.encode() if isinstance(what, str) else what
    return [
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and wanted in path.read_bytes()
    ]


def versions(folder: Path) -> Iterator[pa.Table]:
    """Any version of any table that LanceDB finds in a folder."""
    for path in folder.rglob("*.lance"):
        if path.is_dir():
            table = lancedb.connect(path.parent).open_table(path.stem)
            for version in table.list_versions():
                table.checkout(version["version"])
                yield table.to_arrow()


def ids_in_versions(folder: Path) -> set[str]:
    return {conversation for table in versions(folder) for conversation in table["conversation"].to_pylist()}


def vector_in_versions(folder: Path, text: str) -> bytes:
    """The stored vector of a message: computed again, in another batch, it may have other bits."""
    rows = (row for table in versions(folder) if "text" in table.column_names for row in table.to_pylist())
    return next(np.asarray(row["vector"], np.float32).tobytes() for row in rows if row["text"] == text)


@pytest.fixture
def is_indexed() -> bool:
    return False


@pytest.fixture
def secretive(copied, labelled, tiny_encoder, monkeypatch, is_indexed: bool) -> ConversationStore:
    """A store of several versions in which a conversation was added and deleted, and another one changed."""

    def build(path: Path) -> None:
        store = ConversationStore.open(path, encoder=tiny_encoder)
        store.add(labelled)
        store.add([SECRET, {**labelled[2], "messages": [{"role": "user", "content": "another penumbrae"}]}])
        store.compact()  # its words are in the text index
        store.add([labelled[2]])
        assert store.delete([SECRET["id"]]) == 1

    if is_indexed:
        monkeypatch.setattr(indexes, "SMALLEST_INDEXED", 2)
    return copied("indexed secrets" if is_indexed else "secrets", build)


@pytest.mark.parametrize("is_indexed", [False, True])
def test_nothing_deleted_or_replaced_is_left(secretive, labelled, tiny_encoder, is_indexed) -> None:
    store = secretive
    vector = vector_in_versions(store.path, "another penumbrae")
    assert all(holding(store.path, trace) for trace in [*TRACES, vector]), "the check must be able to fail"
    assert SECRET["id"] in ids_in_versions(store.path)
    indexes = store.stats().indexes.keys()
    assert bool(indexes) == is_indexed
    reader = ConversationStore.open(store.path, encoder=tiny_encoder, read_only=True)
    assert reader.get("silent") == labelled[2]

    assert store.erase() == 0

    assert not [holding(store.path, trace) for trace in [*TRACES, vector] if holding(store.path, trace)]
    assert ids_in_versions(store.path) == {row["id"] for row in labelled}
    assert sorted(map(str, reader.export())) == sorted(map(str, labelled))
    assert store.stats().indexes.keys() == indexes
    assert store.search_messages("my card is lost")[0].text == "my card is lost"
    assert store.search_messages("lost card", mode="text")[0].text == "my card is lost"
    assert not store.search_messages("zanzibarquux", mode="text")
    assert store.add([SECRET]).added == 1
    assert store.erase([SECRET["id"], SECRET["id"], "nobody"]) == 1
    assert not [trace for trace in TRACES if holding(store.path, trace)]


def test_all_can_be_erased(labelled_store, labelled) -> None:
    store = labelled_store
    assert store.erase([row["id"] for row in labelled]) == 3
    assert list(store.export()) == [] and not holding(store.path, "my money back")
    store.add(labelled)
    assert store.search_messages("my card is lost", mode="text")[0].text == "my card is lost"


def test_former_encoders_and_unfinished_moves_go_too(secretive, tiny_encoder_path, monkeypatch) -> None:
    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        secretive.add([SECRET])
        secretive.reindex(tiny_encoder_path, pooling="mean", progress=stop)
    assert holding(next(secretive.path.glob("reindexed-*")), SECRET["id"])
    secretive.reindex(tiny_encoder_path, pooling="interlocutor")
    secretive.erase([SECRET["id"]])
    assert not [trace for trace in TRACES if holding(secretive.path, trace)]
    (folder,) = (path for path in secretive.path.iterdir() if path.is_dir())
    assert secretive.tables().state.folder.startswith(folder.name)


@pytest.mark.parametrize("finishes", [False, True])
@pytest.mark.parametrize("step", ["create_tables", "_copy", "tidy", "switch", "_forget_words", "rmtree"])
def test_a_killed_erase_is_finished_by_the_next(secretive, labelled, monkeypatch, tiny_encoder, step, finishes) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rewrites.shutil if step == "rmtree" else rewrites, step, die)
        with pytest.raises(KeyboardInterrupt):
            secretive.erase(["refund"])
    rest = labelled[1:]
    opened = ConversationStore.open(secretive.path, encoder=tiny_encoder)
    if finishes:
        assert opened.erase(["refund"]) == 0  # it is deleted, but not yet erased
        assert not [trace for trace in [*TRACES, "refund"] if holding(opened.path, trace)]
    assert sorted(row["id"] for row in opened.export()) == sorted(row["id"] for row in rest)
    assert opened.add([labelled[0]]).added == 1
    opened.compact()
    assert opened.erase(["refund"]) == 1
    assert not [trace for trace in [*TRACES, "refund"] if holding(opened.path, trace)]
    assert sorted(row["id"] for row in opened.export()) == sorted(row["id"] for row in rest)


def test_uncommitted_rows_of_a_killed_writer_are_erased(labelled_store, monkeypatch) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    store = labelled_store
    with monkeypatch.context() as patch:
        patch.setattr(tables.Transaction, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            store.add([SECRET])
    assert holding(store.path, SECRET["id"]), "the check must be able to fail"
    assert store.erase([SECRET["id"]]) == 0
    assert not [trace for trace in TRACES if holding(store.path, trace)]
