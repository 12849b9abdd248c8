"""Reports of stores, the files they are written to, and a user's edits of their groups."""

import base64
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.report.talks import SETTINGS, SUBJECTS, fine, talks
from turnlens.groups.group_model import read_models, write_models
from turnlens.groups.group_settings import GroupSettings
from turnlens.page import write_report
from turnlens.page.live_report import LiveReport
from turnlens.report import Report, build_report
from turnlens.report import group_edits as edits
from turnlens.report import surprise as measuring_surprise
from turnlens.store import ConversationStore


def test_a_report_holds_every_message_in_its_place(report: Report) -> None:
    given = {row["id"]: row for row in talks(36)}
    assert set(report.ids) == set(given) and len(report.texts) == 36 * 4
    messages, conversations = report.messages, report.conversations
    for row, text in enumerate(report.texts):
        conversation, turn = int(messages["conversation"][row]), int(messages["turn"][row])
        message = given[report.ids[conversation]]["messages"][turn]
        assert message["content"] == text and message["role"] == report.roles[messages["role"][row]]
        assert conversations["first"][conversation] + turn == row
        assert message.get("time") == messages["time"][row] or (turn and np.isnan(messages["time"][row]))
    subject = report.conversation_labels["subject"]
    assert [subject.values[code] for code in subject.codes] == [given[id]["subject"] for id in report.ids]
    assert report.conversation_labels["tags"].values == ("a, b",)
    assert "n" in report.conversation_labels and set(report.message_labels) == {"intent"}
    assert (report.message_labels["intent"].codes[messages["turn"] > 0] == -1).all()
    assert np.isnan(messages["surprise"]).all()


def test_groups_are_whole_and_named_after_their_texts(report: Report) -> None:
    groups = {group.id: group for group in report.groups["message"]}
    of_message = report.messages["group"]
    for group in groups.values():
        ids = [group.id] if group.level else [one.id for one in groups.values() if one.parent == group.id]
        members = np.flatnonzero(np.isin(of_message, ids))
        assert group.size == len(members) and group.share == pytest.approx(
            len(members) / (36 if group.role == "user" else 72)  # requests, and all else that users say
        )
        assert {report.roles[role] for role in report.messages["role"][members]} == {group.role}
        assert set(group.central) | set(group.edge) <= set(members.tolist())
    assert report.outliers("message") == pytest.approx((of_message < 0).mean())
    assert len({group.name for group in fine(report)}) == len(fine(report))
    assert any(subject in group.name for group in fine(report) for subject in SUBJECTS)


def test_the_same_data_gives_the_same_report(store: ConversationStore, report: Report) -> None:
    for name in ("groups.safetensors", "report.safetensors"):
        (store.path / name).unlink()
    anew = build_report(store, settings=SETTINGS)
    quick = build_report(store, settings=SETTINGS, former=anew)
    for other in (anew, quick):
        assert other.groups == report.groups
        for name, values in report.messages.items():
            assert np.array_equal(values, other.messages[name], equal_nan=values.dtype.kind == "f"), name
    assert quick.neighbours["message"] is anew.neighbours["message"]


def test_projections_stay_until_messages_double(store: ConversationStore, build: Callable[..., Report]) -> None:
    def learned_from() -> int:
        build(page=False)
        basis = read_models(Path(store.path))["message"].basis
        assert basis is not None and basis.context is not None
        return basis.context.messages

    assert learned_from() == 36 * 4
    store.add(talks(12, start=36))
    assert learned_from() == 36 * 4
    store.add(talks(30, start=48))
    assert learned_from() == 78 * 4


def test_history_puts_answers_beside_their_questions(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    rows = talks(60)
    for number, row in enumerate(rows):
        row["messages"][1]["content"] = f"yes please {number}"
    opened = ConversationStore.open(tmp_path / "answers", encoder=tiny_encoder)
    opened.add(rows)

    def mixed(**settings: Any) -> float:
        """Share of pairs of answers to different subjects that are in one group."""
        report = build_report(opened, settings=replace(SETTINGS, **settings), page=False)
        answers = np.flatnonzero(report.messages["turn"] == 1)
        group = report.messages["group"][answers]
        label = report.conversation_labels["subject"].codes[report.messages["conversation"][answers]]
        pairs = (label[:, None] != label) & (group[:, None] >= 0)
        return float((group[:, None] == group)[pairs].mean())

    assert mixed(history=True) < 0.1 < 0.3 < mixed()


def test_changing_groups_keeps_how_they_were_made(store: ConversationStore) -> None:
    settings = replace(SETTINGS, seed=3, history=True)
    live = LiveReport(store, build_report(store, seed=3, settings=settings))
    before = live.report
    group = fine(before)[0]
    live.edit("rename", "message", [group.id], "what cards cost")
    assert live.report.settings == settings
    assert np.array_equal(live.report.messages["group"], before.messages["group"])
    assert live.report.neighbours["message"] is before.neighbours["message"]  # nothing is looked for again
    live.close()


def test_read_only_stores_are_not_written_to(store: ConversationStore) -> None:
    (store.path / "report.safetensors").unlink()
    before = sorted(store.path.rglob("*"))
    build_report(ConversationStore.open(store.path, read_only=True), settings=SETTINGS, page=False)
    assert sorted(store.path.rglob("*")) == before


def test_groups_are_named_though_their_encoder_is_gone(
    tmp_path: Path, tiny_encoder: SentenceTransformer, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_encoder.save(str(tmp_path / "model"))
    ConversationStore.create(tmp_path / "talks", talks(36), encoder=tmp_path / "model")
    shutil.rmtree(tmp_path / "model")
    report = build_report(ConversationStore.open(tmp_path / "talks"), page=False)
    assert all(group.name for group in fine(report))
    assert capsys.readouterr().err.count("groups are named by their words alone: ") == 1


def test_a_report_of_nothing_is_refused(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    with pytest.raises(ValueError, match="no conversation"):
        build_report(ConversationStore.open(tmp_path / "empty", encoder=tiny_encoder))


def test_names_of_users_stay_when_data_grow(store: ConversationStore, build: Callable[..., Report]) -> None:
    group = fine(build(page=False))[0]
    edits.rename(store.path, "message", group.id, "  Lost\ncards ")
    store.add(talks(6, start=100))
    after = {one.id: one for one in fine(build(page=False))}
    assert (after[group.id].name, after[group.id].renamed) == ("Lost cards", True)


def test_other_groups_get_other_names_but_those_of_users_stay_or_are_told(
    store: ConversationStore, build: Callable[..., Report], capsys: pytest.CaptureFixture[str]
) -> None:
    mine, *others = fine(build(page=False))
    edits.rename(store.path, "message", mine.id, "Mine")
    for other in others:  # as if they had been named among other groups
        models = read_models(store.path)
        stale = replace(models["message"].groups[other.id], name=f"Stale {other.id}")
        write_models(store.path, models | {"message": models["message"].with_groups({other.id: stale})})
    assert all("Stale" in group.name for group in fine(build(page=False)) if group.name != "Mine")
    names = [group.name for group in fine(build_report(store, settings=GroupSettings(granularity=7), page=False))]
    assert "Mine" in names and not any("Stale" in name for name in names)
    for group in others:
        edits.rename(store.path, "message", group.id, f"Mine {group.id}")
    few = {group.name for group in fine(build_report(store, settings=GroupSettings(granularity=1), page=False))}
    lost = {f"Mine {group.id}" for group in others} - few
    told = capsys.readouterr().err.partition("no group is like these any more, which were named by hand: ")[2]
    assert lost and lost <= set(told.splitlines()[0].split(", "))


def test_erasing_removes_analysis_and_words_but_not_names(
    store: ConversationStore, build: Callable[..., Report]
) -> None:
    gone = talks(12, ("zanzibarquux",), start=200)
    store.add(gone)
    before = build()
    kept = next(group for group in fine(before) if "zanzibarquux" not in group.name)
    edits.rename(store.path, "message", kept.id, "Mine")
    model = store.path / "groups.safetensors"
    assert b"zanzibarquux" in model.read_bytes() and b"card" in model.read_bytes()
    findings = store.path / "report.safetensors"  # where each message lies on the map, and the like
    assert findings.exists()
    store.erase([row["id"] for row in gone])
    assert b"zanzibarquux" not in model.read_bytes() and not findings.exists()
    after = {group.id: group for group in fine(build())}
    assert after[kept.id].name == "Mine"
    assert all(group.name and group.phrases for group in after.values())
    model.write_bytes(model.read_bytes()[:-5])
    store.erase()
    assert not model.exists()


def test_merged_groups_are_one_from_then_on(store: ConversationStore, build: Callable[..., Report]) -> None:
    before = build(page=False)
    first, second = (group.id for group in fine(before)[:2])
    both = np.isin(before.messages["group"], [first, second])
    assert edits.merge(store.path, "message", [first, second], "Both") == first
    after = build(former=before, page=False)
    assert second not in {group.id for group in after.groups["message"]}
    assert (after.messages["group"][both] == first).all()
    store.add(talks(6, start=100))
    grown = build(page=False)
    assert next(group for group in fine(grown) if group.id == first).name == "Both"
    place = {text: row for row, text in enumerate(grown.texts)}
    rows = [place[text] for text, one in zip(after.texts, both) if one]
    assert (grown.messages["group"][rows] == first).mean() > 0.9


def test_split_groups_stay_split(store: ConversationStore, build: Callable[..., Report]) -> None:
    before = build(page=False)
    first, second = (group.id for group in fine(before)[:2])
    edits.merge(store.path, "message", [first, second])
    parts = edits.split(store.path, "message", first)
    after = build(former=before, page=False)
    assert first in parts and len(parts) > 1
    assert {group.id for group in fine(after)} >= set(parts)
    names = {group.id: group.name for group in after.groups["message"]}
    assert all(names[part] for part in parts) and len({names[part] for part in parts}) == len(parts)
    store.add(talks(6, start=100))
    assert {group.id for group in fine(build(page=False))} >= set(parts)


def test_coarse_groups_can_be_merged_and_split(store: ConversationStore, build: Callable[..., Report]) -> None:
    before = build(page=False)
    of_user = set(before.messages["group"][before.messages["role"] == before.roles.index("user")].tolist())
    coarse = sorted({group.parent for group in fine(before) if group.id in of_user})
    if len(coarse) > 1:
        whole = edits.merge(store.path, "message", coarse)
        assert {group.parent for group in fine(build(page=False)) if group.id in of_user} == {whole}
    else:
        whole = coarse[0]
    inside = [group.id for group in fine(build(page=False)) if group.parent == whole]
    parts = edits.split(store.path, "message", whole)
    parents = [group.parent for group in fine(build(page=False)) if group.id in inside]
    assert sorted(parents) == sorted(parts) and len(set(parents)) == len(inside)


def test_edits_that_cannot_be_say_why(store: ConversationStore, build: Callable[..., Report]) -> None:
    groups = build().groups["message"]
    with pytest.raises(ValueError, match="no group of messages with the number 999"):
        edits.merge(store.path, "message", [groups[0].id, 999])
    with pytest.raises(ValueError, match="two groups or more"):
        edits.merge(store.path, "message", [groups[0].id, groups[0].id])
    with pytest.raises(ValueError, match="fine and coarse"):
        edits.merge(store.path, "message", [groups[0].id, groups[-1].id])
    with pytest.raises(ValueError, match="1 to 200 characters"):
        edits.rename(store.path, "message", groups[0].id, " ")
    (store.path / "groups.safetensors").unlink()
    with pytest.raises(ValueError, match="no groups of messages yet"):
        edits.rename(store.path, "message", 0, "name")


def test_groups_of_two_roles_or_one_name_conflict(store: ConversationStore, build: Callable[..., Report]) -> None:
    report = build()
    role = dict(zip(report.messages["group"].tolist(), report.messages["role"].tolist()))
    first, *others = fine(report)
    same = next(group for group in others if role[group.id] == role[first.id])
    other = next(group for group in others if role[group.id] != role[first.id])
    with pytest.raises(ValueError, match="groups of different roles cannot be merged"):
        edits.merge(store.path, "message", [first.id, other.id])
    with pytest.raises(ValueError, match=f"group {same.id} has the name .* already: merge the two"):
        edits.rename(store.path, "message", first.id, f" {same.name} ")
    edits.rename(store.path, "message", first.id, first.name)
    edits.merge(store.path, "message", [first.id, same.id], same.name)


def test_a_language_model_names_new_groups_once(store: ConversationStore, build: Callable[..., Report]) -> None:
    asked: list[Any] = []

    def naming(phrases: Any, examples: Any) -> list[str]:
        asked.append(examples)
        return [f"model's {number}" for number in range(len(phrases))]

    (store.path / "groups.safetensors").unlink()
    report = build(naming=naming)
    assert all(group.name.startswith("model's") for kind in report.groups for group in report.groups[kind])
    assert all(0 < len(texts) <= 10 for examples in asked for texts in examples)
    asked.clear()
    assert build(naming=naming).groups == report.groups and not asked


def test_the_page_tells_surprise_of_messages_and_conversations(
    tmp_path: Path, tiny_encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring_surprise, "LEAST_CONVERSATIONS", 60)
    store = ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    store.add(talks(60))
    report = build_report(store, settings=SETTINGS)
    assert (np.isnan(report.messages["surprise"]) == (report.messages["turn"] == 0)).all()
    values = report.messages["surprise"].reshape(60, 4)[:, 1:].mean(1)
    assert report.conversations["surprise"] == pytest.approx(values)


def read(folder: Path, name: str) -> Any:
    text = (folder / "data" / f"{name}.js").read_text(encoding="utf-8")
    start = f'turnlens.put("{name}", '
    assert text.startswith(start) and text.endswith(");\n")
    return json.loads(text[len(start) : -3])


def column(value: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(value["data"]), value["type"])


def test_the_files_hold_the_report(tmp_path: Path, report: Report) -> None:
    write_report(report, tmp_path / "report")
    write_report(report, tmp_path / "report")  # again
    summary = read(tmp_path / "report", "summary")
    assert summary["format"] == 1 and summary["counts"] == {"messages": 144, "conversations": 36, "speakers": 2}
    assert [group["id"] for group in summary["groups"]["message"]] == [group.id for group in report.groups["message"]]
    messages = read(tmp_path / "report", "messages")
    types = {name: value["type"] for name, value in messages.items()}
    assert types == {
        **{name: "float32" for name in ("x", "y", "surprise", "unhappy")},
        "group": "int32",
        "request": "uint8",
        "conversation": "uint32",
        "turn": "uint16",
        "role": "uint8",
        "time": "float64",
        "label:intent": "int32",
    }
    for name, values in report.messages.items():
        assert column(messages[name]) == pytest.approx(values * 1, nan_ok=True)
    conversations = read(tmp_path / "report", "conversations")
    assert column(conversations["similar"]).reshape(36, 5).tolist() == report.conversations["similar"].tolist()
    assert read(tmp_path / "report", "ids") == list(report.ids)
    assert read(tmp_path / "report", "texts-00000") == list(report.texts)


def test_texts_cannot_leave_their_script(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    store = ConversationStore.open(tmp_path / "hostile", encoder=tiny_encoder)
    text = "</script><script>alert(1)</script> \u2028 & <!-- \ud800"
    store.add([{"id": "</script>", "messages": [{"role": "<b>", "content": text.replace("\ud800", "")}]}])
    write_report(build_report(store), tmp_path / "report")
    for file in (tmp_path / "report" / "data").iterdir():
        assert not set("<>\u2028") & set(file.read_text(encoding="utf-8"))
    assert read(tmp_path / "report", "texts-00000") == [text.replace("\ud800", "")]


def test_a_conversation_ends_with_its_last_text(store: ConversationStore, build: Callable[..., Report]) -> None:
    said = talks(1, start=100)[0]
    for minute, message in enumerate(said["messages"]):
        message["time"] = f"2026-01-01T10:0{minute}:00Z"
    closed = {"role": "bot", "content": "", "notice": "close", "time": "2026-01-02T10:00:00Z"}
    store.add([{**said, "messages": [*said["messages"], closed]}])
    report = build()
    assert report.numbers["minutes"][report.ids.index(said["id"])] == 3
