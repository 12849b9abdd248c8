"""Texts that a role says again and again."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens.groups.canned_replies import canned_texts


def test_texts_are_canned_where_they_are_most_messages() -> None:
    free = [f"where is parcel {letter}" for letter in "abcde"]
    texts = [*["yes"] * 6, *["no 1", "no 2"] * 3, *["maybe"] * 4, *free]
    canned = canned_texts([*texts, *free], np.repeat([0, 1], [len(texts), 5]))
    assert (canned[12:] < 0).all()
    assert len(set(canned[:6].tolist())) == len(set(canned[6:12].tolist())) == 1 and -1 < canned[0] != canned[6] > -1
    greeted = [
        f"Hi {name}, {text}" for name in ("Ann", "Bo Lee", "Cy") for text in ("I see it.", "have a look: www.a.org")
    ]
    assert len(set(canned_texts(greeted * 2, np.zeros(12, np.int64)).tolist())) == 2
    mostly_free = [*["yes"] * 6, *free, "a", "b"]
    assert (canned_texts(mostly_free, np.zeros(13, np.int64)) < 0).all()


@pytest.mark.parametrize("text", ["please send a pizza", "please send pizza {}"])
def test_messages_that_are_all_the_same_are_one_group(tiny_encoder: SentenceTransformer, text: str) -> None:
    rows = [[{"role": "user", "content": text.format(number)}] for number in range(40)]
    found = turnlens.cluster(rows, encoder=tiny_encoder)
    assert [group.size for group in found.groups] == [40] and found.outliers == 0
    assert found.summary()["kind"].to_pylist()[0] == "request"


def test_few_others_are_in_no_group_of_equal_messages(tiny_encoder: SentenceTransformer) -> None:
    others = ["where is my flight", "hello"]
    rows = [[{"role": "user", "content": text}] for text in [*["please send a pizza"] * 38, *others]]
    found = turnlens.cluster(rows, encoder=tiny_encoder)
    assert [group.size for group in found.groups] == [38]
    assert found.to_pandas()["group"].isna().tolist() == [False] * 38 + [True] * 2


def test_word_for_word_complaints_are_no_requests_of_a_bot(tiny_encoder: SentenceTransformer) -> None:
    things, states = (
        ("card", "ticket", "bag", "order", "line", "phone"),
        ("lost", "late", "old", "new", "broken", "gone"),
    )
    openings = [f"my {thing} is {state}" for thing in things for state in states]
    rare = [f"is parcel {first}{second} here" for first in "abcde" for second in "fghijk"]  # typed, not pressed
    rows = [
        [
            {"role": "user", "content": opening},
            {"role": "assistant", "content": f"this is what I can do for you {number}"},
            {"role": "user", "content": ("my bill is lost", "my seat is wrong")[number % 2]},
        ][: 3 if number % 3 else 2]
        for number, opening in enumerate([*openings * 6, *rare])
    ]
    report = turnlens.cluster(rows, encoder=tiny_encoder).report
    said = np.asarray([row["content"] for messages in rows for row in messages])
    assert set(said[report.messages["request"]]) == {*openings, *rare}


def test_macros_that_call_everybody_by_name_are_one_text_each(tiny_encoder: SentenceTransformer) -> None:
    names = ("Ann", "Bo Lee", "Cyrus", "Dilek", "Esra", "Fay")
    rows = [
        [
            {"role": "user", "content": f"hello there where is my flight {number}"},
            {"role": "agent", "content": f"Hi {name}, please send a pizza."},
            {"role": "user", "content": f"a card {number}"},
            {"role": "agent", "content": f"You're welcome, {name}! See you."},
        ]
        for number, name in enumerate(names * 6)
    ]
    found = turnlens.cluster(rows, encoder=tiny_encoder).summary().to_pylist()
    said = [row["group_name"] for row in found if row["kind"] in ("answer", "along the way") and row["group_name"]]
    assert len([name for name in said if "pizza" in name.lower()]) == 1, said
    assert len([name for name in said if "welcome" in name.lower() or "see you" in name.lower()]) == 1, said
    assert not any(word in said_name for said_name in said for name in names for word in name.split())
    assert not any(row["group_name"].lower().startswith("hello") for row in found if row["group_name"])
