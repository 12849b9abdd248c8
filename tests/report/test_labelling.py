"""Groups applied to other messages, their confidence, and groups that a user knows."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from tests.groups.clouds import clouds
from tests.report.talks import talks
from turnlens._utils.vectors import unit_vectors
from turnlens.groups.confidence import Confidence, Voters, calibrated
from turnlens.groups.group_model import Basis, GroupModel, StoredGroup, empty_model, read_models
from turnlens.report import label
from turnlens.report.labelling import Labeller
from turnlens.report.seed_groups import claimed_groups
from turnlens.report.summary import read_summary
from turnlens.store import StoreError


@pytest.fixture(scope="module")
def store(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> turnlens.ConversationStore:
    place = tmp_path_factory.mktemp("labelling") / "talks"
    store = turnlens.ConversationStore.create(place, talks(36), encoder=tiny_encoder_path)
    turnlens.cluster(store)
    return store


def of_clouds(groups: int, roles: list[str | None] | None = None, split: int = 0) -> Labeller:
    """A labeller of clouds; of two roles, the first ``split`` of the clouds are the first role's."""
    vectors, _, cloud = clouds(groups, 60)
    role = (cloud >= split).astype(np.int64) if roles else np.zeros(len(cloud), np.int64)
    known = {id: StoredGroup(f"group {id}", parent=100) for id in range(groups)} | {100: StoredGroup("topic")}
    model = GroupModel(**{**vars(empty_model()), "fine": cloud.astype(np.int64), "groups": known})
    return Labeller(model, Basis(vectors, role, roles or [None], "tiny", "0", False))


def test_similar_messages_are_labelled_and_others_are_not() -> None:
    labeller = of_clouds(6)
    vectors, _, cloud = clouds(8, 20, seed=1)  # the last two clouds were not there
    ids, confidence = labeller.label(vectors, [len(vectors)], ["user"] * len(vectors))
    there = cloud < 6
    assert (ids[there] == cloud[there]).mean() > 0.95 and (ids[~there] == -1).mean() > 0.95
    assert confidence[there].min() > confidence[~there].max()


def test_a_role_gets_its_own_groups() -> None:
    labeller = of_clouds(6, ["user", "bot"], split=3)
    vectors, _, cloud = clouds(6, 20, seed=1)
    ids, _ = labeller.label(vectors, [len(vectors)], ["user"] * len(vectors))
    assert (ids[cloud < 3] == cloud[cloud < 3]).mean() > 0.95 and not set(ids.tolist()) & {3, 4, 5}
    unknown, _ = labeller.label(vectors, [len(vectors)], ["guest"] * len(vectors))
    assert (unknown == cloud).mean() > 0.95


def test_without_calibration_confidence_is_the_share_of_votes() -> None:
    vectors, _, cloud = clouds(1, 30)
    confidence = calibrated(vectors, cloud, 0)
    assert confidence == Confidence(None)
    assert confidence.of(np.array([[0.4, 1, 0], [1, 1, 0]])).tolist() == [0.4, 1.0]


def test_requests_win_over_moves_and_nameless_groups_lose() -> None:
    vectors, _, cloud = clouds(4, 60)
    asides = vectors[cloud == 0]
    basis = Basis(np.concatenate([asides, vectors]), np.repeat([0, 1], [60, 240]), ["user"] * 2, "tiny", "0", False)
    known = {id: StoredGroup(name) for id, name in ((0, "card"), (1, "pizza"), (2, "flight"), (3, ""), (8, "well"))}
    fine = np.append(np.full(60, 8), cloud).astype(np.int64)
    labeller = Labeller(GroupModel(**{**vars(empty_model()), "fine": fine, "groups": known}), basis)
    ids, _ = labeller.label(vectors, [240], ["user"] * 240)
    assert ids.tolist() == np.where(cloud < 3, cloud, -1).tolist()


def test_canned_texts_are_in_their_own_group() -> None:
    canned = np.eye(8)
    voters = Voters.of(canned, np.arange(8), 5)
    groups, evidence = voters.votes(canned[[6, 2]])
    assert groups.tolist() == [6, 2] and evidence[:, :2].tolist() == [[1, 1], [1, 1]]
    assert voters.votes(unit_vectors(np.ones((1, 8))))[1][0, 0] < 0.3


def test_distances_count_by_the_spread_of_groups() -> None:
    both = np.concatenate([clouds(1, 60, spread=0.1)[0], clouds(2, 60, spread=0.4)[0][60:]])
    voters = Voters.of(both, np.repeat([3, 5], 60), 10)
    off_the_middle = np.concatenate([clouds(1, 20, seed=1, spread=0.4)[0], clouds(2, 20, seed=1, spread=0.4)[0][20:]])
    groups, evidence = voters.votes(off_the_middle)
    assert groups.tolist() == [3] * 20 + [5] * 20
    assert evidence[:20, 2].max() < -3 and abs(evidence[20:, 2].mean()) < 1


def test_labels_are_a_table(store: turnlens.ConversationStore, tiny_encoder_path: Path) -> None:
    table = label(talks(9, start=36), groups=store.path).to_pandas()
    names = {id: group.name for id, group in read_models(Path(store.path))["message"].groups.items()}
    assert table["id"].tolist() == [f"talk-{number}" for number in range(36, 45) for _ in range(4)]
    assert table["turn"].tolist() == [0, 1, 2, 3] * 9
    inside = table.dropna(subset=["group"])
    assert len(inside) and [names[group] for group in inside["group"]] == inside["group_name"].tolist()
    assert table["confidence"].between(0, 1).all() and (inside["confidence"] >= 0.5).all()
    of_file = label(talks(9, start=36), groups=Path(store.path) / "groups.safetensors", encoder=tiny_encoder_path)
    assert of_file.to_pandas().equals(table)


def test_groups_know_the_texts_they_were_found_in(tiny_encoder_path: Path, tmp_path: Path) -> None:
    rows, plain = talks(36), talks(36)
    for number, (row, bare) in enumerate(zip(rows, plain)):
        row["messages"][0]["content"] += f" {chr(97 + number % 26) * (3 + number // 26)}."
        bare["messages"][0]["content"] = row["messages"][0]["content"]
        row["messages"][0]["content"] += "\n\nOur office is closed on every second Sunday." if number % 2 else ""
        row["messages"][2]["content"] += "\n\nA week ago we wrote:\n> all of this is quoted, once again"
        row["messages"].append({"role": "user", "content": ""})
    turnlens.cluster(turnlens.ConversationStore.create(tmp_path / "s", rows, encoder=tiny_encoder_path))
    labelled = label(rows, groups=tmp_path / "s").to_pandas()
    expected = label(plain, groups=tmp_path / "s").to_pandas()["group"].fillna(-1).to_numpy()
    assert (labelled[labelled["text"] != ""]["group"].fillna(-1).to_numpy() == expected).mean() > 0.98
    assert (expected >= 0).mean() > 0.5
    empty = labelled[labelled["text"] == ""]
    assert empty["group"].isna().all() and (empty["confidence"] == 0).all()


def test_labelling_uses_the_projection_of_the_groups(store: turnlens.ConversationStore) -> None:
    basis = read_models(Path(store.path))["message"].basis
    assert basis is not None and basis.context is not None
    said = [message for row in talks(36) for message in row["messages"]]
    texts = [message["content"] for message in said if message["role"] == "bot"]
    of_bots = basis.vectors[basis.role == basis.roles.index("bot")].astype(np.float32)  # these have no answers
    vectors = np.asarray(store.encoder().messages(texts)["vector"])
    for own, like in ((basis.vectors_of(vectors), True), (vectors, False)):
        nearest = (of_bots @ own.T).max(1)
        assert bool((nearest > 0.98).all()) is like


def test_groups_need_their_encoder(
    store: turnlens.ConversationStore, tiny_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    tiny_encoder.prompts["other"] = "other: "
    with pytest.raises(ValueError, match="the groups were found in vectors of"):
        label(talks(1), groups=store, encoder=tiny_encoder)
    with pytest.raises(ValueError, match="has no groups: turnlens cluster DATA --store"):
        label(talks(1), groups=tmp_path)


@pytest.fixture
def copied(store: turnlens.ConversationStore, tmp_path: Path) -> turnlens.ConversationStore:
    return turnlens.ConversationStore.open(shutil.copytree(store.path, tmp_path / "talks"))


def test_erased_texts_leave_no_vectors(copied: turnlens.ConversationStore) -> None:
    store = copied
    store.erase(["talk-0"])
    with pytest.raises(ValueError, match="does not hold the vectors that groups were fitted to"):
        Labeller.of(store)
    turnlens.cluster(store)
    Labeller.of(store)


def test_groups_take_the_names_of_seeds(copied: turnlens.ConversationStore) -> None:
    store = copied
    seeds = {"About cards": ["card card card 100 0", "card card card 101 2"], "Flights": "flight flight flight 102 0"}
    before = turnlens.cluster(store)
    groups = turnlens.cluster(store, seeds=seeds)
    table = groups.to_pandas()
    user = table[(table["role"] == "user") & table["group_name"].isin(list(seeds))]
    for name, subject in (("About cards", "card"), ("Flights", "flight")):
        texts = user["text"][user["group_name"] == name]
        assert len(texts) and texts.str.startswith(subject).mean() > 0.5
    assert len(groups.groups) <= len(before.groups) + 1
    again = turnlens.cluster(store, seeds=seeds)
    assert again.to_pandas().equals(table)
    assert turnlens.cluster(store).to_pandas().equals(table)  # the store keeps them
    assert {group["group_name"] for group in read_summary(store.path)["groups"]} >= set(seeds)
    turnlens.cluster(store, seeds={"said along the way": {" Flights": seeds["Flights"]}})
    groups = {group.name: group for group in turnlens.report.build_report(store).groups["message"]}
    assert groups["Flights"].aside and groups["Flights"].move and groups["About cards"].aside is None


def test_examples_like_no_message_are_in_no_group() -> None:
    cloud = np.repeat([0, 1], 40)
    vectors = unit_vectors(np.eye(8)[cloud] + 0.1 * np.random.default_rng(0).standard_normal((80, 8)))
    basis = Basis(vectors.astype(np.float16), np.zeros(80, np.int64), ["user"], "encoder", "digest", False)
    model = replace(empty_model(), fine=cloud)
    examples = np.eye(8, dtype=np.float32)[[0, 1, 2]]
    assert claimed_groups(model, basis, examples, "user").tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("seeds", "problem"),
    [
        ({"Refund": 3}, "expected a sentence or a list of examples for 'Refund', got 3"),
        ({"Refund": [""]}, "expected a sentence or a list of examples"),
        ({"Refund": []}, "one example or more"),
        ({" ": "money back"}, "expected a name of 1 to 200 characters"),
        ({"Refund": "money back", "refund ": "my money"}, "'refund ' and 'Refund' differ only in capitals or blanks"),
        ({"Hi": "hello", "said along the way": {"Hi ": "hey"}}, "'Hi ' and 'Hi' differ only in capitals or blanks"),
    ],
)
def test_seeds_that_are_no_seeds(store: turnlens.ConversationStore, seeds: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        turnlens.cluster(store, seeds=seeds)


def test_read_only_stores_take_no_seeds(store: turnlens.ConversationStore) -> None:
    reader = turnlens.ConversationStore.open(store.path, read_only=True)
    with pytest.raises(StoreError, match="read-only"):
        turnlens.cluster(reader, seeds={"Cards": "card"})
