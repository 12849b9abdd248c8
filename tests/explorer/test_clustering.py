"""Groups in Python: of a store, of its folder and of conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise.explorer import GroupSettings, build_report

pytest.importorskip("lancedb")
pytest.importorskip("igraph")

SUBJECTS = ("card", "flight", "pizza")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Conversations about one subject each, whose texts all differ."""
    talks = []
    for number in range(36):
        subject = SUBJECTS[number % 3]
        texts = [f"{subject} {subject} {subject} {number} {turn}" for turn in range(4)]
        messages = [{"role": ("user", "bot")[turn % 2], "content": text} for turn, text in enumerate(texts)]
        talks.append({"id": f"talk-{number}", "messages": messages})
    return talks


def test_the_groups_of_messages_are_a_table(rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer) -> None:
    groups = turnwise.cluster(rows, encoder=tiny_encoder)
    table = groups.to_pandas()
    columns = ["id", "turn", "role", "text", "group", "group_name", "coarse_group", "coarse_group_name"]
    assert list(table.columns[:8]) == columns
    assert len(table) == 36 * 4
    sizes = [group.size for group in groups.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) / len(table) == pytest.approx(1 - groups.outliers)
    names = {group.id: group.name for group in [*groups.groups, *groups.coarse_groups]}
    named = table.dropna(subset=["group"])
    assert [names[group] for group in named["group"]] == named["group_name"].tolist()
    assert [names[id] for id in named["coarse_group"]] == named["coarse_group_name"].tolist()


def test_a_store_keeps_its_groups(
    rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    store = turnwise.ConversationStore.create(tmp_path / "talks", rows, encoder=tiny_encoder)
    of_store = turnwise.cluster(store, level="conversation").to_pandas()
    of_folder = turnwise.cluster(tmp_path / "talks", encoder=tiny_encoder, level="conversation").to_pandas()
    assert len(of_store) == 36 and of_store.equals(of_folder)


def test_granularity_is_a_word_or_a_number(
    rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    store = turnwise.ConversationStore.create(tmp_path / "talks", rows, encoder=tiny_encoder)
    coarse, fine, three = (
        turnwise.cluster(store, role="user", granularity=granularity)  # type: ignore[arg-type]
        for granularity in ("coarse", "fine", 3)
    )
    assert len(coarse.groups) <= len(fine.groups)
    assert abs(len(three.groups) - 3) <= 1


def test_an_unknown_level_is_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="level must be 'message' or 'conversation', got 'dialogue'"):
        turnwise.cluster(rows, level="dialogue")  # type: ignore[arg-type]


def test_the_map_is_made_for_those_who_look_and_stays(
    rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    store = turnwise.ConversationStore.create(tmp_path / "talks", rows, encoder=tiny_encoder)
    groups = turnwise.cluster(store)
    assert not groups.report.has_map
    report = build_report(store)
    assert report.has_map and np.abs(report.messages["x"]).max() <= 1
    assert (report.messages["group"] == groups.report.messages["group"]).all()
    finer = build_report(store, settings=GroupSettings(granularity="fine"))
    assert (finer.messages["x"] == report.messages["x"]).all() and (finer.messages["y"] == report.messages["y"]).all()
