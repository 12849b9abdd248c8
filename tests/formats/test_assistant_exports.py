import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import CHATGPT, CHATGPT_OLD, CLAUDE, CLAUDE_OLD, HELLO, NIHAO, SHALOM, said
from turnlens.errors import ConversationError


def test_chatgpt_reads_the_branch_shown_last(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "conversations.json", CHATGPT))
    time = "2023-11-14T22:13:20.500000+00:00"
    assert row == {
        "id": "c-1",
        "title": "Ordering 🍰",
        "time": "2023-11-14T22:13:20+00:00",
        "messages": [
            {
                "role": "user",
                "content": SHALOM,
                "time": time,
                "attachments": ["image_asset_pointer: file-service://a", "file: cake.png"],
            },
            {"role": "assistant", "content": "", "time": time, "thinking": "Hm\nx"},
            {
                "role": "assistant",
                "content": "",
                "time": time,
                "tool_calls": '[{"name": "python", "arguments": "1+1"}]',
            },
            {"role": "tool", "content": "", "time": time, "tool_results": '[{"content": "2"}]'},
            {"role": "assistant", "content": HELLO, "time": time, "model": "gpt-4o"},
        ],
    }


def test_chatgpt_with_another_branch_shown_or_none_named(tmp_path: Path) -> None:
    other = {**CHATGPT[0], "current_node": "old"}
    assert read(write(tmp_path / "a.json", [other]))[0]["messages"][-1]["content"] == "regenerated away"
    unnamed = json.loads(json.dumps({**CHATGPT[0], "current_node": None}))
    for name, node in unnamed["mapping"].items():
        node["children"] = [other for other in unnamed["mapping"] if unnamed["mapping"][other]["parent"] == name]
    assert read(write(tmp_path / "b.json", [unnamed]))[0]["messages"][-1]["content"] == HELLO


def test_chatgpt_messages_in_a_circle(tmp_path: Path) -> None:
    message = {"author": {"role": "user"}, "content": said("x")}
    mapping = {name: {"message": message, "parent": parent} for name, parent in (("a", "b"), ("b", "a"))}
    path = write(tmp_path / "c.json", [{"mapping": mapping, "current_node": "a"}, CHATGPT[0]])
    with pytest.raises(ConversationError, match=r"row 1: message 'a' comes before itself"):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["c-1"]


def test_claude(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "conversations.json", CLAUDE))
    assert row == {
        "id": "u-1",
        "title": "נסיון",
        "time": "2024-05-01T10:00:00Z",
        "messages": [
            {"role": "user", "content": NIHAO, "time": "2024-05-01T10:00:00Z", "attachments": ["file: plan.txt"]},
            {
                "role": "assistant",
                "content": HELLO,
                "time": "2024-05-01T10:01:00Z",
                "thinking": "Hm.",
                "tool_calls": '[{"name": "search", "input": {"q": "订单"}}]',
                "tool_results": '[{"tool_use_id": "t", "content": "found"}]',
            },
        ],
    }


def test_older_exports(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "a.json", [CHATGPT_OLD]))
    assert (row["id"], row["time"]) == ("c-0", "2023-11-14T22:13:20+00:00")
    said = [(message["role"], message["content"]) for message in row["messages"]]
    assert said == [("user", SHALOM), ("assistant", ""), ("tool", ""), ("assistant", HELLO)]
    assert row["messages"][2]["tool_results"] == '[{"content": "2"}]'
    (row,) = read(write(tmp_path / "b.json", [CLAUDE_OLD]))
    assert (row["id"], row["time"]) == ("u-0", "2023-05-01T10:00:00Z")
    assert [(message["role"], message["content"]) for message in row["messages"]] == [
        ("user", NIHAO),
        ("assistant", HELLO),
    ]


def _claude_message(name: str, parent: str | None, text: str) -> dict[str, Any]:
    return {"uuid": name, "parent_message_uuid": parent, "sender": "human", "text": text}


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        (["0", "a", "a", "c"], "acd"),  # b was edited into c
        (["0", "a", "b", "c"], "abcd"),
        ([None, None, None, None], "abcd"),  # as before 2025
        (["0", "lost", "b", "c"], "abcd"),
        (["b", "0", "d", "a"], "badc"),  # of the same time, and so in any order
        ([None, "a", "d", "b"], "abdc"),
        ([None, "a", None, "c"], "abcd"),
    ],
)
def test_claude_reads_the_branch_of_the_last_message(tmp_path: Path, parents: list[Any], expected: str) -> None:
    messages = [_claude_message(name, parent, name) for name, parent in zip("abcd", parents)]
    (row,) = read(write(tmp_path / "c.json", [{"uuid": "1", "chat_messages": messages}]))
    assert [message["content"] for message in row["messages"]] == list(expected)


def test_an_export_in_which_nothing_was_said(tmp_path: Path) -> None:
    for name, rows in (("chatgpt", CHATGPT[1:]), ("claude", CLAUDE[1:])):
        with pytest.raises(ConversationError, match="none of its conversations has any text"):
            read(write(tmp_path / f"{name}.json", rows))
