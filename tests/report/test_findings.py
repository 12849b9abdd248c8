"""The findings that a store keeps about itself, and when that no longer holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

pytest.importorskip("graspologic_native", reason="needs the extra explorer")
pytest.importorskip("lancedb", reason="needs the extra store")

from tests.report.test_report import talks
from turnlens.report import GroupSettings, Report, build_report
from turnlens.report import analysis as finding_out
from turnlens.report import group_edits as edits
from turnlens.report.stored_analysis import FILE
from turnlens.store import ConversationStore

SETTINGS = GroupSettings(neighbours=8)


@pytest.fixture
def store(tmp_path: Path, tiny_encoder: SentenceTransformer) -> ConversationStore:
    opened = ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    opened.add(talks(36))
    return opened


@pytest.fixture
def found_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Says how often anything was found out."""
    calls: list[None] = []
    canned = finding_out.analyse

    def analyse(*arguments: Any) -> Any:
        calls.append(None)
        return canned(*arguments)

    monkeypatch.setattr(finding_out, "analyse", analyse)
    return lambda: len(calls)


def same(first: Report, second: Report) -> bool:
    return first.groups == second.groups and all(
        np.array_equal(values, second.columns(kind)[name], equal_nan=values.dtype.kind == "f")
        for kind in ("message", "conversation")
        for name, values in first.columns(kind).items()
    )


def test_an_unchanged_store_is_only_read(store: ConversationStore, found_out: Callable[[], int]) -> None:
    first = build_report(store, settings=SETTINGS)
    again = build_report(store, settings=SETTINGS)
    assert found_out() == 1 and same(first, again) and again.surprise == first.surprise
    assert np.array_equal(again.neighbours["message"].rows, first.neighbours["message"].rows)


def test_what_changes_is_found_out_again(store: ConversationStore, found_out: Callable[[], int]) -> None:
    first = build_report(store, settings=SETTINGS)
    build_report(store, settings=SETTINGS, seed=1)
    assert found_out() == 2
    build_report(store, settings=SETTINGS)
    store.add(talks(6, start=36))
    assert len(build_report(store, settings=SETTINGS).ids) == 42 and found_out() == 4
    edits.rename(store.path, "message", first.groups["message"][0].id, "cards")
    names = {group.name for group in build_report(store, settings=SETTINGS).groups["message"]}
    assert found_out() == 5 and "cards" in names
    store.delete(["talk-1"])
    assert "talk-1" not in build_report(store, settings=SETTINGS).ids and found_out() == 6


def test_a_damaged_file_costs_only_time(store: ConversationStore, found_out: Callable[[], int]) -> None:
    assert isinstance(store.path, Path)
    first = build_report(store, settings=SETTINGS)
    (store.path / FILE).write_bytes(b"\x08")
    assert same(first, build_report(store, settings=SETTINGS)) and found_out() == 2
    (store.path / FILE).unlink()
    assert same(first, build_report(store, settings=SETTINGS)) and found_out() == 3


def test_no_text_and_no_id_is_kept_a_second_time(store: ConversationStore) -> None:
    assert isinstance(store.path, Path)
    build_report(store, settings=SETTINGS)
    kept = (store.path / FILE).read_bytes()
    assert b"talk-" not in kept and not any(subject in kept for subject in (b"card", b"flight", b"pizza"))


def test_a_store_opened_read_only_is_left_as_it_is(store: ConversationStore) -> None:
    assert isinstance(store.path, Path)
    build_report(ConversationStore.open(store.path, read_only=True), settings=SETTINGS)
    assert not (store.path / FILE).exists()
