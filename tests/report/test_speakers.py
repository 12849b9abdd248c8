"""Who asks, and whose messages are grouped apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from tests.groups.clouds import clouds
from tests.report.talks import SUBJECTS, chats
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.neighbours import nearest_within
from turnlens.groups.pipeline import Parts, group_vectors
from turnlens.report import find_requests
from turnlens.report.corpus import Corpus
from turnlens.report.find_requests import moves_among
from turnlens.report.speakers import Part, opener_roles, speakers_of, with_opener_roles


def corpus(*conversations: str) -> Corpus:
    """Conversations given by the roles of their messages, such as ``"agent user agent"``."""
    spoken = [conversation.split() for conversation in conversations]
    roles = list(dict.fromkeys(role for turns in spoken for role in turns))
    turns = np.asarray([len(each) for each in spoken])
    fields: dict[str, Any] = dict.fromkeys(Corpus.__dataclass_fields__)
    return Corpus(
        **{
            **fields,
            "ids": [str(number) for number in range(len(spoken))],
            "conversation": np.repeat(np.arange(len(spoken), dtype=np.uint32), turns),
            "roles": roles,
            "texts": ["what somebody says in a conversation"] * int(turns.sum()),
            "role": np.asarray([roles.index(role) for each in spoken for role in each], np.uint16),
            "message_labels": {},
        }
    )


@pytest.mark.parametrize(
    ("conversations", "asker", "parts"),
    [
        (["user assistant user", "assistant user", "system user assistant"], "user", ["assistant", "user"]),
        (["Agent customer Agent", "Agent customer"], "customer", ["Agent", "customer"]),
        (["A B A", "A B", "A B C"], "A", ["A", "B"]),
        (["Ann Bob", "Carla Dora", "Emil Fritz"], None, []),
        (["user", "user"], "user", ["user"]),
    ],
)
def test_who_opens_most_conversations_asks(conversations: list[str], asker: str | None, parts: list[str]) -> None:
    spoken = corpus(*conversations)
    speakers = speakers_of(spoken)
    assert speakers.asker == asker
    assert [part.role for part in speakers.parts if part.role] == parts
    for role, part in zip(spoken.role, speakers.part):
        assert speakers.parts[part].role == (spoken.roles[role] if spoken.roles[role] in parts else None)


def test_naming_the_asker_changes_no_parts() -> None:
    spoken = corpus("user assistant user", "user assistant", "user assistant system")
    usual, named = speakers_of(spoken), speakers_of(spoken, "assistant")
    assert named.asker == "assistant" and named.parts == usual.parts
    assert (named.part == usual.part).all() and (named.salts == usual.salts).all()
    assert Part("system") in speakers_of(spoken, "system").parts


@pytest.mark.parametrize(
    ("conversations", "roles"),
    [
        (["Ann Bob Ann", "Carla Dora", "Emil Fritz Ann"], "opener others opener opener others opener others others"),
        (["Ann S", "S Bob", "Carla S", "Dora S"], "opener others others opener opener others opener others"),
        (["agent A B agent", "agent B", "C agent"], "others opener others others others opener opener others"),
    ],
)
def test_where_roles_are_names_whoever_opens_asks(conversations: list[str], roles: str) -> None:
    named = corpus(*conversations)
    opened = with_opener_roles(named)
    assert [opened.roles[role] for role in opened.role] == roles.split()
    speaker = opened.message_labels["speaker"]
    assert [speaker.values[code] for code in speaker.codes] == " ".join(conversations).split()
    assert speakers_of(opened).asker == "opener"


@pytest.mark.parametrize(
    ("conversations", "role"),
    [
        (["user agent", "user agent user", "agent user"], None),
        (["A B", "B A", "A B", "B A"], None),  # about as many: not known
        (["Ann Bob", "Carla Dora", "Emil Fritz"], "Ann"),
    ],
)
def test_other_roles_stay_as_they_are(conversations: list[str], role: str | None) -> None:
    spoken = corpus(*conversations)
    assert with_opener_roles(spoken, role) is spoken


def test_the_opener_can_be_named_as_asker() -> None:
    opened = with_opener_roles(corpus("A B", "B A", "A B", "B A"), "opener")
    assert opened.role.tolist() == [0, 1] * 4 and speakers_of(opened, "opener").opened == 1


def test_requests_are_a_part_of_their_own() -> None:
    usual = speakers_of(corpus("assistant user assistant user", "user assistant user"))
    speakers = usual.with_requests(np.asarray([False, True, False, False, True, False, False]))
    opening = list(speakers.parts).index(Part("user", opening=True))
    assert np.flatnonzero(speakers.part == opening).tolist() == [1, 4]
    assert speakers.stamp != usual.stamp and len(speakers.salts) == len(usual.salts) + 1
    assert usual.with_requests(np.zeros(7, bool)) is usual


def test_unknown_roles_are_errors_that_list_the_roles() -> None:
    with pytest.raises(ValueError, match="no message has the role 'customer': expected one of 'user', 'assistant'"):
        speakers_of(corpus("user assistant"), "customer")


def test_parts_with_equal_texts_share_no_group() -> None:
    vectors, texts, _ = clouds(4, 60)
    part = np.repeat([0, 1, 2], [240, 240, 3])
    doubled, both = np.concatenate([vectors, vectors, vectors[:3]]), [*texts, *texts, *texts[:3]]
    salts = np.asarray([0, 99, 7], np.uint64)
    parts = Parts(part, salts, None, np.full(len(part), -1))
    groups = group_vectors(doubled, both, GroupSettings(), parts=parts).groups
    assert not set(groups[part == 0]) & set(groups[part == 1]) - {-1}
    assert (groups[part == 2] == -1).all()  # too few
    alone = group_vectors(vectors, texts, GroupSettings()).groups
    assert (groups[part == 0] == alone).all()


def test_neighbours_are_of_one_part_unless_too_small() -> None:
    vectors, _, _ = clouds(2, 30)
    part = np.arange(60) % 2
    part[0] = 2
    near = nearest_within(vectors, np.arange(60), part, 5)
    assert (part[near.rows[1:]] == part[1:, None]).all()
    assert (near.rows[0] >= 0).all() and (near.cosines[0] > 0).any()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    said = [[f"{SUBJECTS[number % 3]} {number} {turn}" for turn in range(6)] for number in range(36)]
    return chats(said, ("assistant", "user"))


def test_groups_of_one_role(rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    store = turnlens.ConversationStore.create(tmp_path / "talks", rows, encoder=tiny_encoder)
    everything = turnlens.cluster(store)
    asked = turnlens.cluster(store, role="user")
    assert asked.report.neighbours["message"].rows.tolist() == everything.report.neighbours["message"].rows.tolist()
    assert set(asked.to_pandas()["role"]) == {"user"} and len(asked.to_pandas()) == 36 * 3
    assert [group for group in everything.groups if group.role == "user"] == asked.groups
    assert sum(group.size for group in asked.groups) == pytest.approx(36 * 3 * (1 - asked.outliers))


def test_a_table_of_groups_keeps_the_names(rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer) -> None:
    def named(message: dict[str, str], number: int) -> dict[str, str]:
        return {**message, "role": f"customer {number}" if message["role"] == "user" else f"colleague {number % 5}"}

    chats = [[named(message, number) for message in row["messages"][1:]] for number, row in enumerate(rows)]
    found = turnlens.cluster(chats, encoder=tiny_encoder)
    table = found.to_pandas()
    assert table["role"].tolist() == ["opener", "others", "opener", "others", "opener"] * 36
    assert table["speaker"][5] == "customer 1" and found.report.speakers.asker == "opener"


def test_labelled_names_become_opener_and_others() -> None:
    said = ["Carla", "Shop", "Carla", "agent", "Dora", "agent", "Emil"]
    expected = ["opener", "others", "opener", "others", "opener", "others", "others"]
    assert opener_roles(said, [3, 4]) == expected


def test_conversations_have_no_role(rows: list[dict[str, Any]], tiny_encoder: SentenceTransformer) -> None:
    with pytest.raises(ValueError, match="role chooses messages"):
        turnlens.cluster(rows, encoder=tiny_encoder, level="conversation", role="user")
    with pytest.raises(ValueError, match="expected one of 'assistant', 'user'"):
        turnlens.cluster(rows, encoder=tiny_encoder, role="customer")


def test_short_openings_that_differ_are_requests() -> None:
    spoken = corpus(*["user agent user"] * 20)
    texts = [text for number in range(20) for text in (f"app {number} stuck", "yes?", f"it shows error {number} again")]
    spoken = replace(spoken, texts=texts)
    assert moves_among(np.tile([0, -1, 1], 20), spoken, speakers_of(spoken)) == {1}


def test_where_nothing_else_is_asked_the_opening_is_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_requests, "moves_among", lambda groups, *_: set(groups.tolist()))  # beside thanks
    openings = [f"{part} {number}" for part in ("lost card", "late parcel", "bill too high") for number in range(12)]
    chats = [
        [{"role": role, "content": text} for role, text in zip(("user", "agent", "user"), (opening, "yes?", "thanks"))]
        for opening in (*openings, "hello")
    ]
    report = turnlens.cluster(chats).report
    assert {report.texts[row] for row in np.flatnonzero(report.messages["request"])} == set(openings)


@pytest.mark.parametrize(("then", "moves"), [("please change the day of my flight", {0}), ("card 1", set())])
def test_repeated_texts_before_longer_ones_are_no_requests(then: str, moves: set[int]) -> None:
    spoken = corpus(*["user agent user user"] * 20)
    texts = [text for number in range(20) for text in ("a small matter", "yes", f"{then}, {number}", "many thanks")]
    spoken = replace(spoken, texts=texts)
    groups = np.tile([0, -1, 1, 2], 20)
    assert moves_among(groups, spoken, speakers_of(spoken)) & {0} == moves
