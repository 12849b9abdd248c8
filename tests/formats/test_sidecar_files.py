import json
import logging
from pathlib import Path
from typing import Any

import pytest

from format_cases import MULTIWOZ_ROWS, multiwoz_file, read, turns, write
from samples import CHATGPT, CLAUDE, SAMPLES
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.scale.inputs import find_inputs


def test_sidecars_in_a_folder_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "data.json", multiwoz_file())
    write(tmp_path / "ontology.json", {"hotel-area": ["east"]})
    write(tmp_path / "valListFile.txt", "SNG1.json\n")
    write(tmp_path / "train" / "schema.json", [{"service_name": "hotel"}])
    write(tmp_path / "train" / "taxi_db.json", [{"phone": "1"}])
    write(tmp_path / "train" / "doc2dial_doc.json", {"doc_data": {}})
    rows = [{**row, "split": split} for row, split in zip(MULTIWOZ_ROWS, ("dev", "train"))]
    with caplog.at_level(logging.INFO, logger="turnlens"):
        assert read(tmp_path) == rows
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    passed = [message for message in messages if message.startswith("passed over ")]
    assert len(passed) == 5
    assert any(f"{tmp_path / 'ontology.json'}: slots and values" in message for message in passed)
    assert read(Path(f"{tmp_path}/*.json")) == rows


def test_a_sidecar_named_directly_or_alone_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a" / "chat.jsonl", json.dumps({"id": "1", "messages": turns("hello")}))
    named = write(tmp_path / "a" / "tasks.txt", json.dumps({"id": "2", "messages": turns("hello")}))
    assert [row["id"] for row in read(tmp_path / "a")] == ["1"]
    assert [row["id"] for row in read(named)] == ["2"]
    alone = write(tmp_path / "b" / "schema.json", [{"service_name": "hotel"}])
    with pytest.raises(ConversationError, match=r"schema\.json: could not detect the format"):
        read(alone.parent)


def test_other_files_in_folders_are_errors(tmp_path: Path) -> None:
    write(tmp_path / "data.json", multiwoz_file())
    write(tmp_path / "mistake.json", {"alpha": 1})
    with pytest.raises(ConversationError, match=r"mistake\.json: could not detect the format"):
        read(tmp_path)


def test_sidecars_of_assistants_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "chatgpt" / "conversations.json", CHATGPT)
    write(tmp_path / "chatgpt" / "user.json", {"email": "a@b.c"})
    write(tmp_path / "chatgpt" / "message_feedback.json", [{"rating": "thumbs_up"}])
    write(tmp_path / "claude" / "conversations.json", CLAUDE)
    write(tmp_path / "claude" / "users.json", [{"uuid": "me"}])
    write(tmp_path / "mine" / "users.json", [{"messages": turns("hello")}])
    assert [row["id"] for row in read(tmp_path)] == ["c-1", "u-1", "users-1"]
    shards = [Path(file.path).relative_to(tmp_path).as_posix() for file in find_inputs(tmp_path)]  # by --engine ray
    assert shards == ["chatgpt/conversations.json", "claude/conversations.json", "mine/users.json"]


EXPORTS = [(name, content) for format, name, content in SAMPLES if FORMATS[format].is_export]


@pytest.mark.parametrize(("name", "content"), EXPORTS, ids=[name for name, _ in EXPORTS])
def test_beside_an_export_files_without_conversations_are_passed_over(
    tmp_path: Path, name: str, content: Any, caplog: pytest.LogCaptureFixture
) -> None:
    export = write(tmp_path / "export" / name, content)
    alone = read(export)
    beside = {"empty.jsonl": "", "list.json": [], "files/notes.txt": "Buy milk.", "files/sums.csv": "a,b\n1,2\n"}
    for other, other_content in beside.items():
        write(export.parent / other, other_content)
    write(tmp_path / "account.json", {"alpha": 1})
    for place in (tmp_path, tmp_path):  # the second time from the cache
        caplog.clear()
        assert read(place) == alone
        (told,) = [record.getMessage() for record in caplog.records if "passed over" in record.getMessage()]
        assert all(str(export.parent / other) in told for other in beside) and "account.json" in told


def test_a_file_named_beside_an_export_must_hold_conversations(tmp_path: Path) -> None:
    export = write(tmp_path / "conversations.json", CHATGPT)
    table = write(tmp_path / "mine.csv", "a,b\n1,2\n")
    with pytest.raises(ConversationError, match=r"mine\.csv: could not detect the format"):
        read_conversations([export, table])
    assert len(read_conversations(tmp_path)) == len(read(export))


def test_a_damaged_file_of_an_export_is_an_error(tmp_path: Path) -> None:
    export = write(tmp_path / "conversations-000.json", CHATGPT)
    write(tmp_path / "conversations-001.json", export.read_text(encoding="utf-8")[:-2])
    with pytest.raises(ConversationError, match=r"conversations-001\.json"):
        read(tmp_path)


@pytest.mark.parametrize("shown_by", ["modules.json", "run.json"])
def test_models_and_unfinished_runs_are_passed_over(
    tmp_path: Path, shown_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "chats.jsonl", json.dumps({"id": "1", "messages": turns("hello")}))
    for name in (shown_by, "config.json", "1_Pooling/config.json", "vocab.txt"):
        write(tmp_path / "runs" / "model" / name, {"a": 1})
    with caplog.at_level(logging.INFO, logger="turnlens"):
        assert [row["id"] for row in read(tmp_path)] == ["1"]
    assert f"passed over {tmp_path / 'runs' / 'model' / 'vocab.txt'}: part of a model" in caplog.text
    with pytest.raises(ConversationError, match="the folder holds no conversations"):
        read(tmp_path / "runs" / "model")
