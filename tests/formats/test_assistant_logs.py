from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from format_cases import read, turns, write
from samples import ASSISTANTS, HELLO, NIHAO, lines

SAID = [("user", HELLO), ("assistant", NIHAO)]


@pytest.mark.parametrize(("format", "name", "content"), ASSISTANTS)
def test_chats_and_sessions_are_read(tmp_path: Path, format: str, name: str, content: object) -> None:
    (row,) = read(write(tmp_path / name, content))
    said = [(message["role"], message["content"]) for message in row["messages"] if message["content"]]
    assert said == SAID
    if format in ("claude_code", "codex") or name.startswith("vercel"):
        labels = {label for message in row["messages"] for label in message}
        assert {"tool_calls", "tool_results", "thinking"} <= labels
    if format != "chat":
        assert row["id"] == "s" and row["time"].startswith("2023-11-14")
        assert row.get("model") == (None if name == "rollout-old.jsonl" else "m")
    if format in ("open_webui", "librechat"):
        assert row["feedback"] == "positive"


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
@pytest.mark.parametrize("name", ["conversation_hash", "conversation_id"])
def test_released_logs(tmp_path: Path, name: str, ending: str) -> None:
    row = {name: "c", "model": "m", "conversation": turns(HELLO, NIHAO), "turn": 1, "language": "German"}
    path = tmp_path / f"train.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist([row, {**row, name: "d"}]), path)
    else:
        write(path, lines(row, {**row, name: "d"}))
    first, second = read(path)
    assert (first["id"], second["id"]) == ("c", "d")
    assert first["messages"] == turns(HELLO, NIHAO)
