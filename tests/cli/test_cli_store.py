import json
import sqlite3
from pathlib import Path

import pytest

from .command_line import fail, run, succeed

TALKS = [
    {"id": "first", "messages": [{"role": "user", "content": "i want a pizza"}, {"role": "bot", "content": "which"}]},
    {"id": "second", "messages": [{"role": "user", "content": "my card is lost", "intent": "lost"}], "domain": "bank"},
]


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(map(json.dumps, TALKS)))
    return path


@pytest.fixture
def store(talks: Path, tiny_encoder_path: Path, tmp_path: Path) -> Path:
    succeed("index", talks, "--store", tmp_path / "store", "--model", tiny_encoder_path)
    return tmp_path / "store"


def printed(*arguments: object):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_index_says_what_it_did(store, talks) -> None:
    assert "2 were already there; embedded 0 messages" in succeed("index", talks, "--store", store)
    grown = {**TALKS[0], "messages": [*TALKS[0]["messages"], {"role": "user", "content": "a big one"}]}
    talks.write_text(json.dumps(grown))
    report = printed("index", talks, "--store", store)
    assert report == {
        "added": 0,
        "grown": 1,
        "changed": 0,
        "unchanged": 0,
        "messages": 1,
        "shortened": 0,
        "lost": 0,
        "repeated": 0,
    }


def test_a_time_that_cannot_be_read_is_told_with_its_file(talks, tiny_encoder_path, tmp_path) -> None:
    talks.write_text(json.dumps({"id": "z5", "messages": [{"role": "user", "content": "hello", "time": "soon"}]}))
    assert f"error: {talks}: z5, message 0: the label 'time' is 'soon'" in fail(
        "index", talks, "--store", tmp_path / "store", "--model", tiny_encoder_path
    )


def written(path: Path, *said: str, **labels: object) -> Path:
    rows = [{**labels, "messages": [{"role": "user", "content": text} for text in texts.split("; ")]} for texts in said]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def exported(store: Path) -> list[str]:
    out = store.parent / "out.jsonl"
    succeed("export", store, "--output", out, "--force")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return sorted("; ".join(message["content"] for message in row["messages"]) for row in rows)


def test_customers_whose_ids_are_redacted_stay_apart_and_are_known_again(
    tiny_encoder_path: Path, tmp_path: Path
) -> None:
    into = ["--store", tmp_path / "new", "--redact", "emails,phones"]
    monday = written(tmp_path / "wa.jsonl", "monday", id="+4917055510351")
    succeed("index", monday, *into, "--model", tiny_encoder_path)
    succeed("index", written(tmp_path / "wb.jsonl", "tuesday", id="+4917055510352"), *into)
    assert exported(tmp_path / "new") == ["monday", "tuesday"]
    more = written(tmp_path / "wc.jsonl", "monday; wednesday", id="+4917055510351")
    assert "1 have grown" in succeed("index", more, *into)
    assert exported(tmp_path / "new") == ["monday; wednesday", "tuesday"]
    assert "49170" not in (tmp_path / "out.jsonl").read_text()
    key = tmp_path / "new" / "ids.key"
    assert key.stat().st_mode & 0o77 == 0
    key.write_bytes(b"short")
    assert "copy it back from a backup" in run("index", more, *into).output


@pytest.mark.parametrize("command", ("index", "explore", "cluster"))
def test_a_redacted_store_takes_no_texts_as_they_are(tiny_encoder_path: Path, tmp_path: Path, command: str) -> None:
    chats, store = written(tmp_path / "a.jsonl", "write to ann@x.org", id="1"), tmp_path / "a.store"
    succeed("index", chats, "--store", store, "--redact", "emails", "--model", tiny_encoder_path)
    out = {"explore": ["--export", tmp_path / "x.html"], "cluster": ["--output", tmp_path / "x.csv"]}.get(command, [])
    result = run(command, chats, "--store", store, *out)
    assert result.exit_code == 1 and "was filled with --redact" in " ".join(result.output.split())
    assert exported(store) == ["write to [email]"]


def test_a_mistake_in_an_option_does_not_mark_a_store_as_redacted(tiny_encoder_path: Path, tmp_path: Path) -> None:
    chats, store = written(tmp_path / "a.jsonl", "write to ann@x.org", id="1"), tmp_path / "a.store"
    into = ("--store", store, "--model", tiny_encoder_path)
    for wrong in (("--redact", "al"), ("--redact", "emails", "--format", "talks")):
        result = run("index", chats, *into, *wrong)
        assert (result.exit_code == 1 and "expected" in result.output) or "unknown format" in result.output
        assert not store.exists()
    succeed("index", chats, *into)
    assert exported(store) == ["write to ann@x.org"]


def test_the_key_for_ids_is_put_into_no_other_folder(talks: Path, tmp_path: Path) -> None:
    result = run("index", talks, "--store", tmp_path, "--redact", "emails")
    assert result.exit_code == 1 and not (tmp_path / "ids.key").exists()


@pytest.mark.parametrize("redact", [(), ("--redact", "emails")])
def test_files_without_ids_do_not_replace_each_other(tiny_encoder_path: Path, tmp_path: Path, redact: tuple) -> None:
    name, into = "ann@x.org.jsonl", ["--store", tmp_path / "new", *redact]
    monday = written(tmp_path / "mon" / name, "one", "two")
    succeed("index", monday, *into, "--model", tiny_encoder_path)
    tuesday = written(tmp_path / "tue" / name, "one; more", "three", "four")
    result = run("index", tuesday, *into)
    assert result.exit_code == 1 and f"tue/{name}: the store already has another conversation" in result.output
    assert ("'ann@x.org-2'" in result.output) == (not redact)
    assert exported(tmp_path / "new") == ["one", "two"]
    assert "2 were already there" in succeed("index", monday, *into)
    assert "1 have grown" in succeed("index", written(monday, "one", "two; more", "three"), *into)
    succeed("index", tuesday.rename(tmp_path / "tuesday.jsonl"), *into)
    assert exported(tmp_path / "new") == ["four", "one", "one; more", "three", "three", "two; more"]


def test_search_at_each_level(store) -> None:
    assert "my card is lost" in succeed("search", store, "my card is lost")
    hits = printed("search", store, "my card", "--where", "label.domain = 'bank'")
    labels = {"domain": "bank", "intent": "lost"}
    assert [(hit["conversation"], hit["turn"], hit["labels"]) for hit in hits] == [("second", 0, labels)]
    assert [hit["text"] for hit in printed("search", store, "cards", "--mode", "text")] == ["my card is lost"]
    assert printed("search", store, "i want a pizza", "--level", "conversation", "--limit", 1)[0]["turns"] == 2
    replies = printed("search", store, "i want a pizza", "--level", "reply")
    assert [hit["text"] for hit in replies] == ["which"]


def test_filters_on_absent_names_say_which_there_are(store, talks) -> None:
    for where, level, told in (
        ("role = 'nobody'", "message", "no message has the role 'nobody'; there are bot, user"),
        ("label.nosuch = 3", "message", "no message has the label 'nosuch'; there are domain, intent"),
        ("label.intent in ('lots')", "message", "no message has intent=lots; intent has lost"),
        ("speaker = 'ann'", "conversation", "no conversation has the role 'ann'; there are bot, user"),
    ):
        assert told in fail("search", store, "card", "--level", level, "--where", where)
        if level == "message":
            assert told in fail("reply", "--store", store, "--conversation", talks, "--where", where)
    told = "no conversation has the label 'intent'; there are domain"
    assert told in run("store", "delete", store, "--where", "label.intent = 'lost'").output
    for where in ("turn > 99", "role contains 'nobody'", "role = 'user' and text = 'none'"):  # may be true another day
        assert printed("search", store, "card", "--where", where) == []


def test_search_shows_mistakes_in_one_line(store, tmp_path) -> None:
    result = run("search", store, "x", "--where", "role = user")
    assert result.exit_code == 1
    assert "error: filter, character 8: expected a text in quotes, which a shell takes away unless" in result.output
    assert "got 'user'" in result.output
    assert "is not a store" in run("search", tmp_path / "none", "x").output
    for settings in ((), ("--mode", "hybrid"), ("--level", "conversation"), ("--level", "reply")):
        assert "the query has no text" in fail("search", store, " ", *settings)
    assert "belongs to --level message" in run("search", store, "x", "--level", "reply", "--mode", "text").output


def test_looking_after_a_store(store, tmp_path, tiny_encoder_path) -> None:
    assert printed("store", "info", store)["messages"] == 3
    assert "every search looks at all vectors" in succeed("store", "info", store)
    succeed("store", "compact", store)
    succeed("export", store, "--output", tmp_path / "out.jsonl")
    exported = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(exported, key=lambda row: row["id"]) == TALKS
    assert f"deleted from {store}: 1" in succeed("store", "delete", store, "first").replace("\n", " ")
    succeed("store", "reindex", store, "--model", tiny_encoder_path, "--pooling", "mean")
    assert printed("store", "info", store)["pooling"] == "mean"


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_erasing_leaves_nothing_in_the_store_and_the_caches(store, talks, tmp_path) -> None:
    places = [store, tmp_path / "cache"]
    with sqlite3.connect(tmp_path / "cache" / "turnlens-vectors.sqlite") as vectors:
        assert vectors.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    (killed := tmp_path / "cache" / "turnlens" / ".abc.writing-def").mkdir()
    (killed / "conversations.part0").write_text("my card is lost")
    assert "turnlens store erase" in succeed("store", "delete", store, "second")
    assert all(files_with(place, "my card is lost") for place in places)
    erased = run("store", "erase", store, "first", "nobody")
    assert erased.exit_code == 1 and f"erased from {store}: 1, and all" in erased.output
    assert "error: not there: nobody" in erased.output
    seen = [files_with(place, text) for place in places for text in ("my card is lost", "i want a pizza", "second")]
    assert not any(seen)
    assert printed("store", "info", store)["conversations"] == 0
    with sqlite3.connect(tmp_path / "cache" / "turnlens-vectors.sqlite") as vectors:
        assert vectors.execute("SELECT * FROM sqlite_master").fetchall() == []
    succeed("index", talks, "--store", store)  # what was read is read anew
    assert printed("store", "info", store)["conversations"] == 2


def test_conversations_are_deleted_and_erased_by_a_filter(talks, tiny_encoder_path, tmp_path) -> None:
    ids = {'it\'s "a" b': "4711", "-x": "4711", "kept": "4712"}
    rows = [{"id": id, "messages": TALKS[0]["messages"], "customer": customer} for id, customer in ids.items()]
    talks.write_text("\n".join(map(json.dumps, rows)))
    store = tmp_path / "store"
    succeed("index", talks, "--store", store, "--model", tiny_encoder_path)
    assert ": 1" in succeed("store", "delete", store, "--where", "conversation = '-x'")
    assert ": 1, and all" in succeed("store", "erase", store, "--where", "label.customer = '4711'")
    assert printed("store", "info", store)["conversations"] == 1
    assert not files_with(store, "4711")


def test_what_is_not_there_fails_and_writes_nothing(store) -> None:
    def written() -> dict[Path, int]:
        files = (path for path in store.rglob("*") if path.is_file() and path.stem != "writer")
        return {path: path.stat().st_mtime_ns for path in files}

    before = written()
    for command in ("delete", "erase"):
        for choice, told in ((["nobody"], "not there: nobody"), (["--where", "turns > 99"], "no conversation fulfils")):
            result = run("store", command, store, *choice)
            assert result.exit_code == 1 and told in result.output and ": 0" in result.output
    assert "expected ids of conversations, or --where FILTER" in run("store", "delete", store).output
    assert written() == before


def test_a_damaged_store_is_told_by_every_command(store, tmp_path) -> None:
    for path in store.glob("v1/conversations.lance/data/*"):
        path.write_bytes(path.read_bytes()[:100])
    serving = ("serve", "--port", 0, "--store", store)
    export = ("export", store, "--output", tmp_path / "out.jsonl")
    for command in (("store", "info", store), ("store", "compact", store), export, serving):
        result = run(*command)
        assert result.exit_code == 1 and "copy a backup back" in result.output, command


def test_replies_from_a_store(store, talks, tiny_encoder_path, tmp_path) -> None:
    chat, ranked = written(tmp_path / "chat.jsonl", "i want a pizza"), tmp_path / "ranked.json"
    succeed("reply", tiny_encoder_path, "--store", store, "--conversation", chat, "--output", ranked)
    assert [hit["role"] for hit in json.loads(ranked.read_text())] == ["bot"]  # who speaks next
    options = ("--store", store, "--conversation", talks, "--where", "role = 'bot'", "--output", ranked, "--force")
    assert "which" in succeed("reply", tiny_encoder_path, *options)
    assert [row["message"] for row in json.loads(ranked.read_text())] == ["which"]
    assert "my card is lost" in succeed("reply", "--store", store, "--conversation", talks)  # which needs no model
    assert "either --candidates or --store, got neither" in run("reply", "m", "--conversation", talks).output
