import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError


@pytest.mark.parametrize("format", ["sgd", "taskmaster", "self_dialogue"])
def test_other_layouts_list_found_and_expected_keys(tmp_path: Path, format: str) -> None:
    ending = "csv" if format == "self_dialogue" else "json"
    text = "alpha,beta\n1,2\n" if ending == "csv" else '[{"alpha": 1, "beta": 2}]'
    with pytest.raises(ConversationError, match=f"found the keys alpha, beta .*{format}' expects "):
        read(write(tmp_path / f"x.{ending}", text), format)


def test_files_of_a_folder_may_differ_in_format(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "conversation_id,speaker,text\n1,user,hello\n")
    write(tmp_path / "b.jsonl", json.dumps({"id": "2", "messages": turns("hello"), "topic": "t"}))
    assert [row["id"] for row in read(tmp_path)] == ["1", "2"]


@pytest.mark.parametrize("content", [{"hotel-area": ["east", "west"]}, [{"service_name": "hotel"}], {"a": {"b": 1}}])
def test_other_json_is_not_taken_for_conversations(tmp_path: Path, content: Any) -> None:
    with pytest.raises(ConversationError, match="could not detect the format: found the columns or keys"):
        read(write(tmp_path / "x.json", content))


def test_objects_of_many_unknown_keys_list_some(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", {f"key{i:03}": 0 for i in range(300)})
    with pytest.raises(ConversationError, match=r"key018, key019, … \(300 in all\)"):
        read(path)


@pytest.mark.parametrize(
    "table",
    [
        "1,user,Where is it?\n1,assistant,On its way.\n2,user,Hello\n",
        "c1\tcustomer\tWhere is it?\nc1\tagent\tOn its way.\nc2\tcustomer\tHello\n",
        "2024-05-01 10:00,Ann,Where is it?\n2024-05-01 10:01,Ben,On its way.\n",
    ],
)
def test_a_table_without_a_header_is_told(tmp_path: Path, table: str) -> None:
    with pytest.raises(ConversationError, match=r"its first row looks like a message.* add a first row"):
        read(write(tmp_path / ("t.tsv" if "\t" in table else "t.csv"), table))


@pytest.mark.parametrize("header", ["0,1,2", ",0,1", "Nr,agent,Was"])
def test_unusual_names_of_columns_are_a_header(tmp_path: Path, header: str) -> None:
    with pytest.raises(ConversationError, match="could not detect the format"):
        read(write(tmp_path / "t.csv", f"{header}\n0,agent,Where is it?\n0,user,On its way.\n1,agent,Hello\n"))
