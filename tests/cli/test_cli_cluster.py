import csv
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .command_line import fail, run, succeed


@pytest.fixture
def store(chats: Path, tiny_encoder_path: Path, tmp_path: Path) -> Path:
    succeed("index", chats, "--store", tmp_path / "store", "--model", tiny_encoder_path)
    return tmp_path / "store"


def test_cluster_writes_the_group_of_every_message(chats: Path, tiny_encoder_path: Path, tmp_path: Path) -> None:
    given = [chats, "--store", tmp_path / "new", "--model", tiny_encoder_path]
    said = succeed("cluster", *given, "--output", tmp_path / "groups.parquet")
    assert "read 30 conversations, all new; embedded" in said and "Grouping 30 conversations" in said
    assert "in no group" in said and "Next time, this is enough: turnlens cluster --store" in said
    rows = pq.read_table(tmp_path / "groups.parquet").to_pylist()
    talks = [json.loads(line) for line in chats.read_text().splitlines()]
    assert {(row["id"], row["turn"], row["role"], row["text"]) for row in rows} == {
        (talk["id"], turn, message["role"], message["content"])
        for talk in talks
        for turn, message in enumerate(talk["messages"])
    }
    inside = [row for row in rows if row["group"] is not None]
    assert inside and all(
        row["group_name"] and row["coarse_group_name"] and row["coarse_group"] is not None for row in inside
    )


def test_a_table_whose_columns_leave_no_doubt_needs_no_options(tiny_encoder_path: Path, tmp_path: Path) -> None:
    rows = [(n // 4, "ab"[n % 2], f"message {'xyz'[n % 3]} of {n}") for n in range(80)]
    options = ["--store", tmp_path / "new", "--model", tiny_encoder_path, "--output", tmp_path / "groups.csv"]
    for header, read in ((["Ticket ID", "Author Type", "Comment"], True), (["a", "b", "c"], False)):
        with (tmp_path / "tickets.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        result = run("cluster", tmp_path / "tickets.csv", *options, "--force")
        columns = "conversation={},speaker={},text={}".format(*header)
        assert columns in result.output + str(result.exception)
        assert (result.exit_code == 0) == read
        if read:
            assert f"read with --columns '{columns}'" in result.output and "read 20 conversations" in result.output
            label = ["--groups", tmp_path / "new", "--output", "-"]
            assert succeed("label", tmp_path / "tickets.csv", *label).count("message ") == 80


def test_a_file_without_ids_may_be_edited_between_looks_at_it(
    tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, into = tmp_path / "survey.csv", ["--columns", "text=answer", "--model", tiny_encoder_path, "--output"]
    answers = [f"{word} {number}" for number in range(8) for word in ("card", "pizza", "flight")]
    file.write_text("\n".join(["answer", *answers]))
    succeed("cluster", file, *into, "once.csv")
    file.write_text("\n".join(["answer", "card once more", *answers[1:]]))
    assert "0 of them new, 0 grown, 1 changed" in succeed("cluster", file, *into, "twice.csv")
    assert "card once more" in Path("twice.csv").read_text()
    other = run("cluster", file.rename(tmp_path / "survey.tsv"), "--store", "survey.store", *into, "again.csv")
    assert other.exit_code == 0, other.output  # the same answers
    file.write_text("answer\nhotel")
    assert "already has another conversation" in run("cluster", file, "--store", "survey.store", *into, "b.csv").output


def test_empty_messages_do_not_count_as_none_of_these(chats: Path, store: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in chats.read_text().splitlines()]
    for row in rows:
        row["messages"].append({"role": row["messages"][0]["role"], "content": "", "notice": "closed"})
    succeed("cluster", "--store", store)
    with_notices = tmp_path / "notices.jsonl"
    with_notices.write_text("\n".join(map(json.dumps, rows)))
    to = ["--groups", store, "--output", tmp_path / "labels.csv", "--force"]
    shares = [succeed("label", file, *to).split("; ")[1].split(" belong")[0] for file in (chats, with_notices)]
    assert shares[0] == shares[1] and "of all texts" in shares[0]
    assert "there is no store" in fail("label", chats, "--groups", tmp_path / "nothere", *to[2:])


def test_groups_are_compared_with_own_labels(chats: Path, store: Path, tmp_path: Path) -> None:
    for label, of in (("intent", "values of intent"), ("domain", "Of 30 with one of")):  # of messages; of conversations
        said = succeed("cluster", "--store", store, "--label", label)
        assert of in said and "% right (F1" in said and "Calibration" not in said
        to = ["--groups", store, "--output", tmp_path / "labels.csv", "--force", "--label", label]
        said = succeed("label", chats, *to)
        assert of in said and "% right (F1" in said and "Calibration" in said
    for command in (["cluster", "--store", store], ["label", chats, *to[:-2]]):
        assert "nothing has this label; labels are domain, intent" in fail(*command, "--label", "nosuch")
    assert "labelling" not in fail("label", chats, *to[:-2], "--label", "nosuch")
    said = fail("cluster", chats, "--store", tmp_path / "new.store", "--label", "nosuch")
    assert (
        "nothing has this label; labels are domain, intent" in said
        and "embedded" not in said
        and "Grouping" not in said
    )


def test_the_ending_names_the_format_and_a_dash_the_standard_output(store: Path, tmp_path: Path) -> None:
    succeed("cluster", "--store", store, "--level", "conversation", "--output", tmp_path / "groups.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "groups.jsonl").read_text().splitlines()]
    columns = {"id", "turns", "group", "group_name", "coarse_group", "coarse_group_name"}
    assert len(lines) == 30 and columns <= lines[0].keys()
    succeed("cluster", "--store", store, "--level", "conversation", "--output", tmp_path / "groups.csv")
    with (tmp_path / "groups.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [line["id"] for line in lines]
    quiet = run("cluster", "--store", store, "--level", "conversation", "--quiet")
    assert "%  in no group" in quiet.stdout and not quiet.stderr
    result = run("cluster", "--store", store, "--level", "conversation", "--output", "-")
    assert [json.loads(line) for line in result.stdout.splitlines()] == lines


def test_the_messages_of_one_role_can_be_asked_for(store: Path, tmp_path: Path) -> None:
    said = succeed("cluster", "--store", store, "--role", "user", "--output", tmp_path / "groups.jsonl")
    assert "The role that asks is user" in said
    lines = [json.loads(line) for line in (tmp_path / "groups.jsonl").read_text().splitlines()]
    assert {line["role"] for line in lines} == {"user"}
    result = run("cluster", "--store", store, "--role", "nobody", "--output", tmp_path / "none.jsonl")
    assert result.exit_code != 0 and "no message has the role 'nobody'" in result.output + str(result.exception)


def test_a_list_of_the_groups_can_be_asked_for(store: Path, tmp_path: Path) -> None:
    tables = ["--output", tmp_path / "groups.csv", "--summary", tmp_path / "summary.csv"]
    assert "Wrote a list of the groups to" in succeed("cluster", "--store", store, *tables)
    with (tmp_path / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "groups.csv").open(newline="") as file:
        names = {row["group_name"] for row in csv.DictReader(file)} - {""}
    assert {row["group_name"] for row in rows} == names | {""}  # the last row is for what is in no group
    assert {"kind", "role", "conversations", "share", "growth", "keywords", "example", "next_message"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "groups.ods"], "expected a name ending in .parquet, .csv, .jsonl, .xlsx"),
        (["--output", "groups.csv", "--name-endpoint", "http://127.0.0.1:1/v1"], "belong together"),
        (
            ["--output", "groups.csv", "--granularity", "finest"],
            "granularity must be coarse, medium, fine or a number of groups from 1, got 'finest'",
        ),
        (
            ["--output", "groups.csv", "--summary", "list.txt"],
            "expected a name ending in .parquet, .csv, .jsonl, .xlsx",
        ),
        (
            ["--output", "groups.csv", "--summary", "list.csv", "--level", "conversation"],
            "--summary lists groups of messages: leave out --level conversation",
        ),
        (["--output", "groups.csv"], "expected DATA or --store FOLDER: turnlens cluster chats.jsonl"),
    ],
)
def test_what_was_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("cluster", *arguments)
    assert result.exit_code != 0 and said in " ".join((result.output + str(result.exception)).split())


def test_the_list_of_groups_needs_no_table(store: Path, tmp_path: Path) -> None:
    said = succeed("cluster", "--store", store, "--summary", tmp_path / "requests.csv")
    assert "in no group" in said and "Wrote the groups" not in said
    assert (tmp_path / "requests.csv").read_text(encoding="utf-8-sig").startswith('"group","group_name"')
    assert "in no group" in succeed("cluster", "--store", store)


def test_label_applies_the_groups_to_other_conversations(store: Path, chats: Path, tmp_path: Path) -> None:
    succeed("cluster", "--store", store, "--output", tmp_path / "groups.parquet")
    said = succeed("label", chats, "--groups", store, "--output", tmp_path / "labels.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert "belong to none of these" in said and len(lines) == sum(
        len(json.loads(line)["messages"]) for line in chats.read_text().splitlines()
    )
    assert {"id", "turn", "role", "text", "group", "group_name", "coarse_group", "confidence"} <= lines[0].keys()
    result = run("label", chats, "--groups", tmp_path, "--output", tmp_path / "none.csv")
    assert result.exit_code == 1 and "has no groups: turnlens cluster DATA --store" in " ".join(result.output.split())


def test_a_store_is_not_read_as_conversations(chats: Path, store: Path, tmp_path: Path) -> None:
    for command in (["inspect", store], ["embed", store, "--output", tmp_path / "vectors.parquet"]):
        assert f"is a store; to read what it holds, write it: turnlens export {store}" in fail(*command)
    folder = shutil.copytree(store, tmp_path / "data" / "chats.store").parent
    shutil.copy(chats, folder / "chats.jsonl")
    assert "│ 30 " in succeed("inspect", folder)  # the store beside the file is passed over


def test_seeds_name_groups(store: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.parquet"
    succeed("cluster", "--store", store, "--output", groups)
    text = next(row["text"] for row in pq.read_table(groups).to_pylist() if row["group"] is not None)
    # as Windows' editor writes it, with a byte order mark
    (tmp_path / "seeds.toml").write_text(f'"My own name" = {json.dumps(text)}\n', encoding="utf-8-sig")
    succeed("cluster", "--store", store, "--seeds", tmp_path / "seeds.toml", "--output", groups, "--force")
    assert "My own name" in pq.read_table(groups)["group_name"].to_pylist()
    (tmp_path / "seeds.toml").write_text("refund: money", encoding="utf-8")
    assert "is not valid TOML" in fail(
        "cluster", "--store", store, "--seeds", tmp_path / "seeds.toml", "--output", tmp_path / "new.csv"
    )
    assert f"{store} is a store: turnlens cluster --store {store}" in fail(
        "cluster", store, "--output", tmp_path / "new.csv"
    )
