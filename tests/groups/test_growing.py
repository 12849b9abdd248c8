from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.groups.clouds import clouds
from turnlens._utils.checked_arrays import save_checked
from turnlens.groups.group_model import FILE, GroupModel, read_models, write_models
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.model_updates import match_groups, pinned_labels
from turnlens.groups.pipeline import Grouping, Parts, group_vectors


@cache
def first(groups: int = 4) -> tuple[Grouping, np.ndarray]:
    vectors, texts, cloud = clouds(groups, 60)
    return group_vectors(vectors, texts, GroupSettings()), cloud


def grown(former: GroupModel, groups: int = 5) -> tuple[Grouping, np.ndarray]:
    """The same again, as much more of each cloud, and further clouds."""
    vectors, texts, cloud = clouds(4, 60)
    more, further, further_cloud = clouds(groups, 60, seed=1)
    both, said = np.concatenate([vectors, more]), [*texts, *further]
    return group_vectors(both, said, GroupSettings(), former), np.concatenate([cloud, further_cloud])


def test_the_same_data_has_the_same_groups() -> None:
    found, _ = first()
    vectors, texts, _ = clouds(4, 60)
    again = group_vectors(vectors, texts, GroupSettings(), found.model)
    assert again.model is found.model
    assert (again.groups == found.groups).all()


def test_other_settings_refit_groups_without_marking_them_new() -> None:
    vectors, texts, _ = clouds(4, 60)
    few = group_vectors(vectors, texts, GroupSettings(granularity=2)).model
    more = group_vectors(vectors, texts, GroupSettings(), few).model
    assert len(more.groups) > len(few.groups) and not any(group.new for group in more.groups.values())


def test_growing_data_keep_ids_and_mark_new_groups() -> None:
    before, cloud = first()
    after, all_clouds = grown(before.model)
    assert not any(group.new for group in before.model.groups.values())
    for one in range(4):
        old = before.groups[cloud == one]
        new = after.groups[all_clouds == one]
        assert np.bincount(new[new >= 0]).argmax() == np.bincount(old[old >= 0]).argmax()
    further = after.groups[all_clouds == 4]
    id = int(np.bincount(further[further >= 0]).argmax())
    assert after.model.groups[id].new and id >= before.model.next_id
    assert sum(group.new for id, group in after.model.groups.items() if group.parent is not None) == 1


def test_parts_of_a_known_group_are_not_new() -> None:
    before, cloud = first()
    one, other = (int(before.groups[cloud == n][0]) for n in (0, 1))
    known = replace(before.model, fine=np.where(before.model.fine == other, one, before.model.fine)).with_groups({})
    centroids = {id: centroid for id, centroid in known.centroids.items() if id in known.groups}
    after, all_clouds = grown(replace(known, centroids=centroids))
    parts = {int(after.groups[all_clouds == n][0]) for n in (0, 1)}
    assert len(parts) == 2 and parts - known.groups.keys()  # of the two, one has a new id
    assert not any(after.model.groups[id].new for id in parts)


def test_few_similar_texts_join_and_nothing_else_changes() -> None:
    before, cloud = first()
    vectors, texts, _ = clouds(4, 60)
    more, further, further_cloud = clouds(4, 5, seed=1)
    after = group_vectors(np.concatenate([vectors, more]), [*texts, *further], GroupSettings(), before.model)
    assert after.model.joined == 20 and after.model.groups == before.model.groups
    assert (after.groups[: len(cloud)] == before.groups).mean() > 0.99
    of_cloud = [np.bincount(before.groups[(cloud == one) & (before.groups >= 0)]).argmax() for one in range(4)]
    joined = after.groups[len(cloud) :]
    assert (joined == np.asarray(of_cloud)[further_cloud]).mean() > 0.8


def test_few_texts_unlike_all_others_are_new_groups() -> None:
    before, _ = first()
    vectors, texts, _ = clouds(4, 60)
    more, further, further_cloud = clouds(5, 40, seed=1)
    own = further_cloud == 4
    said = [*texts, *(text for text, is_own in zip(further, own) if is_own)]
    after = group_vectors(np.concatenate([vectors, more[own]]), said, GroupSettings(), before.model)
    assert after.model.joined == 0
    groups = after.groups[len(texts) :]
    assert after.model.groups[int(np.bincount(groups[groups >= 0]).argmax())].new


def test_texts_that_change_parts_are_not_new() -> None:
    vectors, texts, _ = clouds(4, 60)
    more, further, _ = clouds(4, 3, seed=1)
    part = np.zeros(len(texts) + len(further), np.int64)
    part[::2] = 1
    salts = np.asarray([1, 2], np.uint64)

    def found(count: int, former: GroupModel | None = None) -> GroupModel:
        parts = Parts(part[:count], salts, 1, np.full(count, -1))
        both = np.concatenate([vectors, more])[:count]
        return group_vectors(both, [*texts, *further][:count], GroupSettings(), former, parts=parts).model

    before = found(len(texts))
    part[:40] = 1 - part[:40]
    assert found(len(part), before).joined == len(further)


def test_groups_are_refitted_after_a_fifth_joined() -> None:
    model, (vectors, texts, _) = None, clouds(4, 60)
    joined = []
    for seed in range(1, 5):
        model = group_vectors(vectors, texts, GroupSettings(), model).model
        more, further, _ = clouds(4, 5, seed=seed)
        vectors, texts = np.concatenate([vectors, more]), [*texts, *further]
        joined.append(model.joined)
    assert joined == [0, 20, 40, 0]


def test_new_groups_are_marked_until_data_grow() -> None:
    before, _ = first()
    after, _ = grown(before.model)
    again, _ = grown(after.model)
    assert again.model.groups == after.model.groups
    last, _ = grown(after.model, groups=6)
    new = {id for id, group in last.model.groups.items() if group.new and group.parent is not None}
    assert len(new) == 1 and not new & set(after.model.groups)


def test_names_are_kept_with_the_ids() -> None:
    before, _ = first()
    named = {id: replace(group, name=f"name of {id}") for id, group in before.model.groups.items()}
    after, _ = grown(replace(before.model, groups=named))
    kept = {id: group.name for id, group in after.model.groups.items() if group.name}
    assert kept == {id: f"name of {id}" for id in kept} and len(kept) >= 4


def test_groups_are_matched_by_overlap_then_by_centroids() -> None:
    labels = np.asarray([0, 0, 0, 1, 1, 2, 2])
    former = np.asarray([10, 10, 11, 11, 11, -1, -1])
    centroids = np.eye(3)
    known = {10: np.eye(3)[1], 11: np.eye(3)[0], 12: np.eye(3)[2], 13: -np.eye(3)[2]}
    assert match_groups(labels, former, centroids, known) == {0: 10, 1: 11, 2: 12}
    assert match_groups(labels, former, centroids, {10: known[10], 11: known[11]}) == {0: 10, 1: 11}


def test_pinned_groups_keep_members_and_take_similar_ones() -> None:
    labels = np.asarray([0, 0, 0, 1, 1, 1])
    former = np.asarray([5, 5, -1, 6, 6, -1])
    free, held = pinned_labels(labels, former, frozenset([5]))
    assert held.tolist() == [5, 5, 5, -1, -1, -1]
    assert free.tolist() == [-1, -1, -1, 1, 1, 1]


def test_memory_is_what_was_written(tmp_path: Path) -> None:
    found, _ = first()
    write_models(tmp_path, {"message": found.model})
    model = read_models(tmp_path)["message"]
    assert model.groups == found.model.groups and model.stamp == found.model.stamp
    assert (model.keys == found.model.keys).all() and (model.fine == found.model.fine).all()
    assert model.centroids.keys() == found.model.centroids.keys()
    assert adjusted_rand_score(model.coarse, found.model.coarse) == 1


def test_a_damaged_memory_is_named(tmp_path: Path) -> None:
    assert read_models(tmp_path) == {}
    (tmp_path / FILE).write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"groups\.safetensors is damaged.*delete it"):
        read_models(tmp_path)


def test_a_memory_of_another_format_is_refused(tmp_path: Path) -> None:
    save_checked(tmp_path / FILE, {"format": 99, "any": np.zeros(1)})
    with pytest.raises(ValueError, match="has format 99, this version of turnlens reads 1"):
        read_models(tmp_path)
