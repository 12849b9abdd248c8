"""The analysis that a store keeps, and when it no longer holds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.report.talks import SETTINGS, talks
from turnlens.report import Report, build_report
from turnlens.report import group_edits as edits
from turnlens.report.stored_analysis import FILE
from turnlens.store import ConversationStore


@pytest.fixture
def has_analysed(store: ConversationStore) -> Callable[[], bool]:
    """True if the store has a new file with its analysis since it was last called."""
    seen = [_version(store)]

    def changed() -> bool:
        seen.append(_version(store))
        return seen[-1] != seen[-2]

    return changed


def _version(store: ConversationStore) -> tuple[int, int]:
    state = (Path(store.path) / FILE).stat()
    return state.st_ino, state.st_mtime_ns


def same(first: Report, second: Report) -> bool:
    return first.groups == second.groups and all(
        np.array_equal(values, second.columns(kind)[name], equal_nan=values.dtype.kind == "f")
        for kind in ("message", "conversation")
        for name, values in first.columns(kind).items()
    )


def test_an_unchanged_store_is_only_read(
    store: ConversationStore, report: Report, has_analysed: Callable[[], bool]
) -> None:
    again = build_report(store, settings=SETTINGS)
    assert not has_analysed() and same(report, again)
    assert np.array_equal(again.neighbours["message"].rows, report.neighbours["message"].rows)


def test_a_changed_store_is_analysed_again(
    store: ConversationStore, report: Report, has_analysed: Callable[[], bool]
) -> None:
    build_report(store, settings=SETTINGS, seed=1, page=False)
    assert has_analysed()
    store.add(talks(6, start=36))
    assert len(build_report(store, settings=SETTINGS, page=False).ids) == 42 and has_analysed()
    edits.rename(store.path, "message", report.groups["message"][0].id, "cards")
    names = {group.name for group in build_report(store, settings=SETTINGS, page=False).groups["message"]}
    assert has_analysed() and "cards" in names
    store.delete(["talk-1"])
    assert "talk-1" not in build_report(store, settings=SETTINGS, page=False).ids and has_analysed()


@pytest.mark.parametrize("content", [b"\x08", None])
def test_a_damaged_file_costs_only_time(store: ConversationStore, report: Report, content: bytes | None) -> None:
    file = Path(store.path) / FILE
    kept = file.read_bytes()
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert same(report, build_report(store, settings=SETTINGS))
    assert len(file.read_bytes()) == len(kept)


def test_no_text_and_no_id_is_kept_twice(store: ConversationStore) -> None:
    kept = (Path(store.path) / FILE).read_bytes()
    assert b"talk-" not in kept and not any(subject in kept for subject in (b"card", b"flight", b"pizza"))


def test_read_only_stores_keep_no_analysis(store: ConversationStore) -> None:
    (Path(store.path) / FILE).unlink()
    build_report(ConversationStore.open(store.path, read_only=True), settings=SETTINGS, page=False)
    assert not (Path(store.path) / FILE).exists()
