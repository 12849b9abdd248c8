import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from format_cases import read, write
from samples import lines
from traces import (
    ANSWER,
    DOCUMENT,
    QUESTION,
    SAID,
    SO,
    TRACES,
    WHY,
    langfuse_observations,
    langfuse_trace,
    phoenix_rows,
)


def _check(row: dict[str, Any]) -> None:
    assert [(message["role"], message["content"]) for message in row["messages"]] == SAID
    assert (row["id"], row["system"], row["model"]) == ("s1", "Be kind.", "m")
    assert row["time"].startswith("2024-05-01T10:00:00")
    assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (4, 20.0, 8.0)
    assert row["latency"] == 4.0
    assert json.loads(row["messages"][3]["tool_calls"])[0]["id"] == "c1"
    assert json.loads(row["messages"][4]["tool_results"])[0]["content"] == "a cake"


@pytest.mark.parametrize("kind", TRACES)
def test_a_session_is_what_was_said_in_it(tmp_path: Path, kind: str) -> None:
    (row,) = read(write(tmp_path / TRACES[kind][0], TRACES[kind][1]))
    _check(row)
    if kind != "otel logs":  # which has one time
        assert [message["time"][14:19] for message in row["messages"]] == ["00:03"] * 2 + ["00:11"] * 2 + ["00:13"] * 2
    if kind.startswith(("openinference", "phoenix", "langfuse", "langsmith")):
        assert row["messages"][1]["documents"] == [DOCUMENT]
    if kind.startswith(("langfuse", "langsmith", "opik")):
        assert row["cost"] == 1.0
        assert [message.get("trace") for message in row["messages"][:3]] == ["t1", None, "t2"]
    if kind in ("langsmith", "opik files"):
        assert row["score_helpful"] == 1.0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [phoenix_rows(), langfuse_observations(), langfuse_observations(snake=True)])
def test_the_same_from_tables(tmp_path: Path, rows: list[dict[str, Any]], ending: str) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    path = tmp_path / f"rows.{ending}"
    as_text = [
        {name: value if isinstance(value, str | None) else json.dumps(value) for name, value in row.items()}
        for row in rows
    ]
    if ending == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(as_text)
    else:
        pq.write_table(pa.table({name: [row.get(name) for row in as_text] for name in names}), path)
    (row,) = read(path)
    _check(row)


def test_traces_without_their_observations(tmp_path: Path) -> None:
    path = write(tmp_path / "traces.json", [langfuse_trace("t2"), langfuse_trace("t1")])
    (row,) = read(path)
    assert [message["content"] for message in row["messages"]] == [QUESTION, ANSWER, WHY, SO]
    assert (row["id"], row["cost"], row["latency"], row["score_helpful"]) == ("s1", 0.5, 5.0, 1.0)


def test_a_trace_with_its_observations(tmp_path: Path) -> None:
    traces = [
        langfuse_trace(name, observations=[row for row in langfuse_observations() if row["traceId"] == name])
        for name in ("t1", "t2")
    ]
    (row,) = read(write(tmp_path / "traces.jsonl", lines(*traces)))
    assert [(message["role"], message["content"]) for message in row["messages"]] == SAID


def test_a_call_inside_another_counts_once(tmp_path: Path) -> None:
    spans = langfuse_observations()
    inner = {**spans[3], "id": "d2", "parentObservationId": "d"}
    (row,) = read(write(tmp_path / "o.json", [*spans, inner]))
    _check(row)


def test_traces_without_sessions_are_joined_by_history(tmp_path: Path) -> None:
    spans = [{**row, "sessionId": None} for row in langfuse_observations()]
    (row,) = read(write(tmp_path / "o.json", spans))
    assert [(message["role"], message["content"]) for message in row["messages"]] == SAID


def test_the_error_of_a_span_is_a_label(tmp_path: Path) -> None:
    spans = langfuse_observations()
    spans[-1] |= {"level": "ERROR", "statusMessage": "overloaded"}
    (row,) = read(write(tmp_path / "o.json", spans))
    assert row["error"] == "overloaded"
