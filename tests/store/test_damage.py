import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from turnlens._utils.files import is_disk_full
from turnlens.store import SQL, ConversationStore, StoreError, StoreLockedError
from turnlens.store.state import naming_damage, state_stamp
from turnlens.store.store_encoder import StoreEncoder
from turnlens.store.tables import transaction

NEW = {"id": "new", "messages": [{"role": "user", "content": "i want a pizza"}]}
USES: dict[str, Callable[[ConversationStore], object]] = {
    "stats": lambda store: store.stats(),
    "get": lambda store: store.get("talk-1"),
    "export": lambda store: list(store.export()),
    "search": lambda store: store.search_messages("my card"),
    "search by text": lambda store: store.search_messages("card", mode="text"),
    "search conversations": lambda store: store.search_conversations("my card"),
    "add": lambda store: store.add([NEW]),
    "delete": lambda store: store.delete(["talk-0"]),
    "check": lambda store: store.check(),
    "compact": lambda store: store.compact(),
    "erase": lambda store: store.erase(["talk-0"]),
}
MESSAGES = "v1/messages.lance"
READING = {"get", "export", "search", "search by text"}
ALL = set(USES)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [cut, pytest.param(empty, marks=pytest.mark.slow), Path.unlink])
@pytest.mark.parametrize(
    ("files", "told"),
    [
        (f"{MESSAGES}/data/*.lance", READING | {"check", "compact", "erase"}),
        (
            "v1/conversations.lance/data/*.lance",
            {"get", "export", "search conversations", "check", "compact", "erase"},
        ),
        ("v1/*/_versions/*.manifest", ALL),
        (f"{MESSAGES}/_indices/*/*", {"search by text", "check", "compact"}),
        ("store.json", ALL),
    ],
)
def test_damaged_files_are_an_error_with_advice(store, tiny_encoder, harm, files, told) -> None:
    for path in store.path.glob(files):
        harm(path)
    encoder = StoreEncoder(tiny_encoder, "messages")
    for name, use in USES.items():
        opened = ConversationStore(store.path, encoder, encoder.digest(), read_only=False)
        try:
            use(opened)
        except StoreError as error:
            assert str(store.path) in str(error)
            assert "\n" not in str(error) and ".rs:" not in str(error)
            assert "backup" in str(error)
        else:
            assert name not in told, name


def test_a_state_that_no_store_writes_is_refused(store, tiny_encoder) -> None:
    path = store.path / "store.json"
    state = json.loads(path.read_text())
    changes: list[dict[str, Any]] = [
        {"messages": "3"},
        {"folder": "../other"},
        {"folder": None},
        {"further": 1},
        {"indexes": {"vector": [{"file": "vector", "rows": "many", "probes": 1, "recall": 1.0}]}},
        {"indexes": 3},
        {"messages": 99},
    ]
    for change in changes:
        path.write_text(json.dumps(state | change))
        for use in (
            store.stats,
            lambda: store.add([NEW]),
            lambda: ConversationStore.open(store.path, encoder=tiny_encoder),
        ):
            with pytest.raises(StoreError, match="backup"):
                use()


def test_a_store_of_another_schema_is_refused(store) -> None:
    path = store.path / "store.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))
    with pytest.raises(StoreError, match="has schema 99, this version of turnlens reads 1"):
        ConversationStore.open(store.path)


def test_a_store_without_state_is_refused(store, tiny_encoder) -> None:
    state = (store.path / "store.json").read_bytes()
    (store.path / "store.json").unlink()
    with pytest.raises(StoreError, match=r"store\.json is missing"):
        ConversationStore.open(store.path, encoder=tiny_encoder)
    (store.path / "store.json").write_bytes(state)
    assert store.get("talk-1") is not None


def test_rows_that_no_store_writes(store) -> None:
    with transaction(store.path) as changes:
        rows = changes.tables.conversations.inner.to_arrow().slice(0, 1)
        for column, value in (("conversation", "alone"), ("fields", "{no json")):
            rows = rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), [[value]])
        changes.tables.conversations.inner.add(rows)
        changes.commit()
    with pytest.raises(StoreError, match="the messages of conversation 'alone' are not there"):
        store.get("alone")
    with pytest.raises(StoreError, match="the labels of conversation 'alone' cannot be read"):
        store.search_conversations("hello", where="conversation = 'alone'")


def test_an_erase_while_reading_is_one_error(store, tiny_encoder) -> None:
    reader = ConversationStore.open(store.path, encoder=tiny_encoder, read_only=True)
    reading = reader.tables()
    store.erase(["talk-0"])
    with pytest.raises(StoreLockedError, match="was rewritten while it was being read: read it again"):
        list(reading.messages.batches(["text"]))
    assert len(list(reader.export())) == 4


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("LanceError(IO): No space left on device (os error 28)"), "is full .*the store is sound: free some"),
        (RuntimeError("lance error: Permission denied (os error 13)"), "as the user who owns it"),
        (OSError(30, "Read-only file system"), "as the user who owns it"),
    ],
)
def test_full_disks_and_missing_rights_are_no_damage(tmp_path: Path, error: Exception, said: str) -> None:
    with pytest.raises(StoreError, match=said) as raised, naming_damage(tmp_path):
        raise error
    assert "delete" not in str(raised.value)


@contextmanager
def largest_files(size: int) -> Iterator[None]:
    """Inside the block, no file may be larger, as on a disk that is full, and without the rights to make one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_asked_where_an_error_does_not_tell(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the disk of .* is full .*the store is sound"):  # noqa: SIM117
        with largest_files(1000), naming_damage(tmp_path):
            raise RuntimeError("lance error: the task failed")
    with pytest.raises(StoreError, match="cannot be used: lance error"), naming_damage(tmp_path):
        raise RuntimeError("lance error: the task failed")


@pytest.mark.slow
def test_full_disks_are_told_wherever_they_show(store, conversations, tiny_encoder, own_encoder, tmp_path) -> None:
    own_encoder.transformers_model.embeddings.word_embeddings.weight.data += 1
    uses: dict[str, Callable[[ConversationStore], object]] = {
        "create": lambda store: ConversationStore.create(store.path / "inner", conversations, encoder=tiny_encoder),
        "add": lambda store: store.add([{**row, "id": f"new {row['id']}"} for row in conversations]),
        "compact": lambda store: store.compact(retention=timedelta(0)),
        "delete": lambda store: store.delete(["talk-0"]),
        "erase": lambda store: store.erase(["talk-0"]),
        "reindex": lambda store: store.reindex(own_encoder),
    }
    told = 0
    for size in (0, 300, 1000, 2500, 6000, 20_000):
        for name, use in uses.items():
            own = ConversationStore.open(shutil.copytree(store.path, tmp_path / f"{size} {name}"), encoder=tiny_encoder)
            try:
                with largest_files(size):
                    use(own)
            except (StoreError, OSError) as error:
                assert is_disk_full(error) or " is full " in str(error), (size, name, error)
                told += 1
            assert own.stats().conversations in (4, 5, 10), (size, name)
    assert told > len(uses)


def test_a_lock_of_another_user(store, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(store.path / "writer.lock"))

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(StoreError, match=r"writer\.lock.*as the user who owns it"):
        store.delete(["first"])


def test_mistakes_in_sql_are_told_as_such(store) -> None:
    with pytest.raises(ValueError, match="nothing") as raised:
        store.search_messages("card", where=SQL("nothing = 3"))
    assert not isinstance(raised.value, StoreError)


def test_panics_are_damage_and_interrupts_are_not(tmp_path: Path) -> None:
    """LanceDB's panics are no `Exception`; Ctrl-C is none either, and stays what it is."""

    class PanicException(BaseException):
        pass

    with pytest.raises(StoreError, match="index out of range"), naming_damage(tmp_path):
        raise PanicException("index out of range")
    with pytest.raises(KeyboardInterrupt), naming_damage(tmp_path, state_stamp(tmp_path)):
        raise KeyboardInterrupt


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError("Cannot allocate memory (os error 12)")])
def test_too_little_memory_is_no_damage(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)[:7]), naming_damage(tmp_path):
        raise error
