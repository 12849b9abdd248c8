"""Exports of a store to other tools: everything, a sample, or requests with their groups."""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import turnlens
from turnlens.report import group_edits as edits

from .command_line import fail, run, succeed

SUBJECTS = ("card", "flight", "pizza")
FAILED = {"talk-4": "overloaded", "talk-9": ""}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, tiny_encoder_path: Path) -> Path:
    talks = []
    for number in range(90):
        subject, id = SUBJECTS[number % 3], f"talk-{number}"
        texts = [f"{subject} {subject} {subject} {number} {turn}" for turn in range(4)]
        messages: list[dict[str, Any]] = [
            {"role": ("user", "bot")[turn % 2], "content": text} for turn, text in enumerate(texts)
        ]
        messages[0]["trace"] = f"trace-{number}"
        messages[3] |= {"feedback": "negative"} if id == "talk-9" else {}
        talks.append({"id": id, "error": FAILED.get(id) or None, "group": number, "messages": messages})
    folder = tmp_path_factory.mktemp("export")
    (folder / "chats.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    succeed("index", folder / "chats.jsonl", "--store", folder / "talks", "--model", tiny_encoder_path)
    return folder / "talks"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_sample_has_examples_of_each_request_and_of_what_failed(store: Path, tmp_path: Path) -> None:
    assert "Wrote" in succeed("export", store, "--sample", 4, "--output", tmp_path / "sample.jsonl")
    rows = _lines(tmp_path / "sample.jsonl")
    of_requests = Counter(row["group_name"] for row in rows if "request" in row["sampled_as"])
    succeed("export", store, "--output", tmp_path / "tags.csv")
    with (tmp_path / "tags.csv").open(newline="", encoding="utf-8") as file:
        groups = Counter(name for row in csv.DictReader(file) if (name := row["group_name"]))
    assert of_requests == {name: min(4, size) for name, size in groups.items()}
    reasons = Counter(reason for row in rows for reason in row["sampled_as"])
    assert reasons["edge"] == 4 and not reasons["surprising"]  # which needs more conversations
    assert {row["id"] for row in rows if "failed" in row["sampled_as"]} == set(FAILED)
    assert all(row["label_group"] >= 0 and row["group"] == int(row["id"][5:]) for row in rows if "group_name" in row)
    assert all(row["messages"][row["request_turn"]]["role"] == "user" for row in rows)
    succeed("export", store, "--sample", 4, "--output", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "sample.jsonl").read_bytes()


def test_requests_are_a_table_with_the_ids_that_tags_need(store: Path, tmp_path: Path) -> None:
    assert "the requests of 90 conversations" in succeed("export", store, "--output", tmp_path / "tags.csv")
    with (tmp_path / "tags.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["id"], row["trace"]) for row in rows} == {(f"talk-{n}", f"trace-{n}") for n in range(90)}
    assert {row["role"] for row in rows} == {"user"} and any(row["group_name"] for row in rows)


def test_tags_and_the_list_count_the_same_conversations_without_a_request(store: Path, tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    shutil.copytree(store, talks)
    listed = turnlens.cluster(talks).summary().to_pylist()
    group = next(row["group"] for row in listed if row["kind"] == "request")
    edits.move(talks, "message", group, aside=True)
    rest = next(row for row in turnlens.cluster(talks).summary().to_pylist() if row["kind"] == "no request")
    succeed("export", talks, "--output", tmp_path / "tags.csv")
    tags = pd.read_csv(tmp_path / "tags.csv")
    assert rest["conversations"] == tags["group"].isna().sum() == tags["group_name"].isna().sum() > 0
    assert group not in tags["group"].tolist()


def test_a_sample_is_no_table(store: Path, tmp_path: Path) -> None:
    assert "name a .jsonl file" in run("export", store, "--sample", 2, "--output", tmp_path / "tags.csv").output
    assert "expected a name ending in .jsonl" in run("export", store, "--output", tmp_path / "out.txt").output


def test_labels_that_people_add_come_back(store: Path, tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    shutil.copytree(store, talks)
    succeed("export", talks, "--output", tmp_path / "tags.csv")
    tags = pd.read_csv(tmp_path / "tags.csv", dtype=str)
    tags["intent"] = tags["text"].str.split().str[0]
    tags.to_csv(tmp_path / "tags.csv", index=False, sep=";", encoding="utf-8-sig")
    assert "90 conversations have labels" in succeed(
        "store", "annotate", talks, tmp_path / "tags.csv", "--label", "intent"
    )
    assert "90 were already there" in succeed("index", store.parent / "chats.jsonl", "--store", talks)
    succeed("export", talks, "--output", tmp_path / "all.jsonl")
    rows = _lines(tmp_path / "all.jsonl")
    assert all(row["intent"] == SUBJECTS[row["group"] % 3] for row in rows)
    assert all([message.get("intent") for message in row["messages"]].count(row["intent"]) == 1 for row in rows)


@pytest.mark.parametrize("name", ["tags.csv", "tags.xlsx", "tags.parquet"])
def test_a_table_of_requests_is_no_source(store: Path, tmp_path: Path, name: str) -> None:
    succeed("export", store, "--output", tmp_path / name)
    named = ("--columns", "conversation=id,speaker=role,text=text")
    assert "turnlens store annotate" in fail("index", tmp_path / name, *named, "--store", store)


def test_a_sample_that_is_indexed_again_changes_nothing(store: Path, tmp_path: Path) -> None:
    succeed("export", store, "--sample", 4, "--output", tmp_path / "sample.jsonl")
    assert "0 changed" in succeed("index", tmp_path / "sample.jsonl", "--store", store)
