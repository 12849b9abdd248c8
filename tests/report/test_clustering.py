"""Groups in Python: of a store, of its folder and of conversations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from tests.page.counting import newcombe
from tests.report.talks import talks
from turnlens.report import Groups, GroupSettings, build_report

ROWS = talks(36)


@pytest.fixture(scope="module")
def groups(tiny_encoder_path: Path) -> Groups:
    return turnlens.cluster(ROWS, encoder=tiny_encoder_path)


def test_the_groups_of_messages_are_a_table(groups: Groups) -> None:
    table = groups.to_pandas()
    columns = ["id", "turn", "role", "text", "time", "group", "group_name", "coarse_group", "coarse_group_name"]
    assert list(table.columns[:9]) == columns
    assert len(table) == 36 * 4
    sizes = [group.size for group in groups.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) / len(table) == pytest.approx(1 - groups.outliers)
    names = {group.id: group.name for group in [*groups.groups, *groups.coarse_groups]}
    named = table.dropna(subset=["group"])
    assert [names[group] for group in named["group"]] == named["group_name"].tolist()
    assert [names[id] for id in named["coarse_group"]] == named["coarse_group_name"].tolist()


def test_a_summary_counts_conversations_and_says_what_grows(tiny_encoder: SentenceTransformer) -> None:
    rows = []
    for number in range(60):  # pizza grows: 5 of the first 30 days, 20 of the last 30
        subject = "pizza" if number % 6 == 0 or (number > 30 and number % 2) else "flight to the city"
        asked = f"please {subject} {subject} now {number}"
        said = [asked, f"here: {subject} {number}"]
        rows.append(
            {
                "id": str(number),
                "rating": str(1 + number % 5) if number % 3 else "",
                "team": ("North", "South")[number % 2],
                "ticket": 1000 + number,
                "messages": [
                    {"role": role, "content": text, "time": f"2026-0{1 + number // 30}-{1 + number % 28:02}"}
                    for role, text in zip(("user", "bot"), said)
                ],
            }
        )
    groups = turnlens.cluster(rows, encoder=tiny_encoder, granularity=2)
    table = groups.summary("month").to_pylist()
    report = groups.report
    conversation, group = report.messages["conversation"], report.messages["group"]
    times = report.conversations["time"]
    first, last = np.sort(times)[[1, -2]]  # the hundredth at each end decides nothing
    later, before = (times > last - 30 * 86400) & (times <= last), (times <= last - 30 * 86400) & (times >= first)
    kinds = [(row["role"], row["kind"]) for row in table]
    assert list(dict.fromkeys(kinds)) == [("user", "request"), ("bot", "answer"), ("user", "no request")]
    requests = [row["group"] for row in table if row["kind"] == "request"]
    asked = np.isin(np.arange(60), conversation[np.isin(group, requests)])
    assert table.pop()["conversations"] == (~asked).sum()  # who asked for none of these
    assert not any(name.startswith("ticket") for name in table[0])  # a number that measures nothing
    for row in table:
        inside = np.isin(np.arange(60), conversation[group == row["group"]])
        assert row["conversations"] == inside.sum() and row["share"] == inside.mean()
        counts = [int(each) for half in (later, before) for each in (inside[half].sum(), half.sum())]
        assert (row["recent"], row["earlier"]) == (counts[0], counts[2])
        low, high = newcombe(*counts)
        assert (row["growth_low"], row["growth_high"]) == pytest.approx((low, high))
        assert row["growth"] == pytest.approx(inside[later].mean() - inside[before].mean())
        assert row["example"] in report.texts and row["group_name"] and row["example_2"] != row["example"]
        ratings = [1 + number % 5 for number in np.flatnonzero(inside) if number % 3]
        assert row["rating_known"] == len(ratings) and row["rating_median"] == np.median(ratings)
        assert row["rating_above"] == pytest.approx(np.mean(np.asarray(ratings) > 4))  # three quarters have at most 4
        assert row["team: South"] == inside[1::2].sum() and row["team: North"] == inside[::2].sum()
        assert (row["next_message"] is None) == (row["role"] == "bot")
    labels = groups.to_pandas()
    assert labels["team"].isin(["North", "South"]).all() and labels["rating"].max() == 5
    pizza = next(row for row in table if "pizza" in row["example"] and row["kind"] == "request")
    assert pizza["growth_low"] > 0
    days = groups.summary("day").to_pylist()
    assert all(row["growth"] is None and row["recent"] <= 3 for row in days)  # too few to say
    with pytest.raises(ValueError, match="a summary lists groups of messages"):
        turnlens.cluster(rows, encoder=tiny_encoder, level="conversation").summary()


def test_automatic_replies_are_no_typical_next_message(tiny_encoder: SentenceTransformer) -> None:
    automatic = "we have your message and one of us will answer it by the end of the next working day"
    said = [
        (f"please {2 * (number // 2 * 'a' + 'b')} the card now", automatic, f"here is card {number}")
        for number in range(20)
    ]
    rows = [
        {
            "id": str(number),
            "messages": [{"role": role, "content": text} for role, text in zip(("user", "bot", "bot"), texts)],
        }
        for number, texts in enumerate(said)
    ]
    table = turnlens.cluster(rows, encoder=tiny_encoder).summary().to_pylist()
    following = [row["next_message"] for row in table if row["kind"] == "request"]
    assert following and all(text.startswith("here is card") for text in following)


def test_messages_have_every_number_that_is_a_label(tiny_encoder: SentenceTransformer) -> None:
    rows = [
        {
            "id": str(number),
            "cost": f"{number},5",
            "messages": [
                {"role": role, "content": f"{role} {number}", "letters": 1000.5 * number + turn}
                for turn, role in enumerate(("user", "bot"))
            ],
        }
        for number in range(202)  # more values than can be chosen from
    ]
    table = turnlens.cluster(rows, encoder=tiny_encoder).to_pandas()
    assert table["cost"].tolist() == [float(row["id"]) + 0.5 for row in rows for _ in row["messages"]]
    assert table["letters"].tolist() == [message["letters"] for row in rows for message in row["messages"]]


def test_a_number_that_counts_messages_measures_nothing(tiny_encoder: SentenceTransformer) -> None:
    rows = [
        {
            "id": str(number),
            "messages": [
                {"role": role, "content": f"{role} {number}", "Post No": turn + 1, "wait": turn + 1 + number % 7}
                for turn, role in enumerate(("user", "bot", "user"))
            ],
        }
        for number in range(40)
    ]
    groups = turnlens.cluster(rows, encoder=tiny_encoder)
    columns = groups.summary().column_names
    assert "wait_median" in columns and "Post No_median" not in columns
    assert "wait" in groups.report.message_labels and "Post No" not in groups.report.message_labels


def test_a_store_keeps_its_groups(store: turnlens.ConversationStore, tiny_encoder_path: Path) -> None:
    of_store = turnlens.cluster(store, level="conversation").to_pandas()
    of_folder = turnlens.cluster(store.path, encoder=tiny_encoder_path, level="conversation").to_pandas()
    assert len(of_store) == 36 and of_store.equals(of_folder)


def test_conversations_in_memory_give_the_same_table(tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    store = turnlens.ConversationStore.create(tmp_path / "talks", ROWS, encoder=tiny_encoder)
    groups, of_store = turnlens.cluster(ROWS, encoder=tiny_encoder), turnlens.cluster(store)
    assert groups.to_pandas().equals(of_store.to_pandas())
    assert groups.summary().equals(of_store.summary())
    assert groups.report.numbers.keys() == of_store.report.numbers.keys()
    messages = [(row["id"], message) for row in ROWS for message in row["messages"]]
    frame = pd.DataFrame([{"conversation_id": id, "role": own["role"], "text": own["content"]} for id, own in messages])
    columns = ["id", "turn", "role", "text", "group", "group_name", "coarse_group", "coarse_group_name"]
    of_frame = turnlens.cluster(frame, encoder=tiny_encoder).to_pandas()
    assert of_frame[columns].equals(of_store.to_pandas()[columns])


def test_the_last_of_conversations_with_one_id_counts(tiny_encoder_path: Path) -> None:
    changed = {**ROWS[1], "messages": [{"role": "user", "content": "something else"}]}
    table = turnlens.cluster([*ROWS, changed], encoder=tiny_encoder_path).to_pandas()
    assert table["text"][table["id"] == ROWS[1]["id"]].tolist() == ["something else"] and len(table) == 35 * 4 + 1


def test_granularity_is_a_word_or_a_number(store: turnlens.ConversationStore) -> None:
    coarse, fine, three = (
        turnlens.cluster(store, role="user", granularity=granularity)  # type: ignore[arg-type]
        for granularity in ("coarse", "fine", 3)
    )
    assert len(coarse.groups) <= len(fine.groups)
    assert abs(sum(group.opening for group in three.groups) - 3) <= 1


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level must be 'message' or 'conversation', got 'dialogue'"):
        turnlens.cluster(ROWS, level="dialogue")  # type: ignore[arg-type]


def test_the_map_is_made_for_pages_and_stays(groups: Groups, store: turnlens.ConversationStore) -> None:
    assert not groups.report.has_map
    report = build_report(store)
    assert report.has_map and np.abs(report.messages["x"]).max() <= 1
    assert (report.messages["group"] == groups.report.messages["group"]).all()
    finer = build_report(store, settings=GroupSettings(granularity="fine"))
    assert (finer.messages["x"] == report.messages["x"]).all() and (finer.messages["y"] == report.messages["y"]).all()
