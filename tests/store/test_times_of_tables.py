"""When something was said, from the file that says it to the filter that asks for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnlens.data.conversations import read_conversations

TABLE = "ticket_id,author,text,{}\n7,ann,my card is lost,31/05/2024 10:00\n7,bot,yes,01/06/2024 09:00\n"
MESSAGES = [
    {"role": "ann", "content": "my card is lost", "sent at": "31/05/2024 10:00"},
    {"role": "bot", "content": "yes", "sent at": "01/06/2024 09:00"},
]


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("named.csv", TABLE.format("When"), "time=When"),
        ("known.csv", TABLE.format("timestamp"), None),
        ("guessed.csv", TABLE.format("Created (UTC)"), None),
        ("nested.jsonl", json.dumps({"log": MESSAGES}), "messages=log"),
        ("chat.jsonl", json.dumps({"messages": MESSAGES}), None),
        ("transcript.txt", "2024-05-31 10:00 ann: my card is lost\n2024-06-01 09:00 ann: yes\n", None),
    ],
)
def test_filters_by_time_work_for_any_file(
    tmp_path: Path, filled: Any, name: str, content: str, columns: str | None
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    store = filled(read_conversations(path, columns=columns))
    june, may = (store.search_messages("lost", where=f"time {period} 2024-06-01") for period in (">=", "<"))
    assert ([hit.text for hit in june], [hit.text for hit in may]) == (["yes"], ["my card is lost"])
    assert june[0].time is not None and june[0].time.isoformat() == "2024-06-01T09:00:00+00:00"


def test_a_transcript_without_dates_can_be_stored(tmp_path: Path, filled: Any) -> None:
    path = tmp_path / "call.txt"
    path.write_text("[00:01] ann: hello\n[00:12] ann: yes\n", encoding="utf-8")
    assert [hit.time for hit in filled(read_conversations(path)).search_messages("yes")] == [None, None]
