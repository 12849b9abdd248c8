import random

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from tests.groups.clouds import clouds
from turnlens._utils.vectors import unit_vectors
from turnlens.groups.communities import by_size, communities, joined, merged, neighbour_graph
from turnlens.groups.fitting import closeness, fit_groups, split_group
from turnlens.groups.group_members import members_of
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.map_layout import layout, place, scaled
from turnlens.groups.merge_tree import merge_tree
from turnlens.groups.neighbours import LEAST_SHARE, Neighbours, nearest, outlier_cosine, vote
from turnlens.groups.pipeline import group_vectors, keys_of, sample_rows


def test_neighbours_are_the_nearest_other_vectors() -> None:
    vectors, _, _ = clouds(3, 20)
    found = nearest(vectors, vectors, 5)
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -2)
    expected = np.argsort(-scores, axis=1)[:, :5]
    assert (found.rows == expected).all()
    assert found.cosines == pytest.approx(np.take_along_axis(scores, expected, 1), abs=1e-5)
    assert (found.copy_of == np.arange(len(vectors))).all()


def test_copies_have_the_neighbours_of_the_original() -> None:
    vectors, _, _ = clouds(2, 30)
    found = nearest(vectors[[4, 4]], vectors, 6)
    assert (found.rows == nearest(vectors, vectors, 6).rows[[4, 4]]).all()
    assert (found.copy_of == 4).all()


def test_every_seed_finds_the_clouds_reproducibly() -> None:
    vectors, _, cloud = clouds(6, 60)
    near = nearest(vectors, vectors, 15)
    for seed in (0, 1):
        groups = vote(near, fit_groups(vectors, near, GroupSettings(seed=seed)).fine)
        assert adjusted_rand_score(cloud, groups) > 0.95
    random.seed(123)
    before = random.getstate()
    first, second = (fit_groups(vectors, near, GroupSettings()) for _ in range(2))
    assert (first.fine == second.fine).all() and (first.coarse == second.coarse).all()
    assert random.getstate() == before  # of the user


def test_coarse_groups_are_made_of_close_fine_ones() -> None:
    random_numbers = np.random.default_rng(0)
    topics = random_numbers.standard_normal((2, 32))
    centres = np.concatenate([topic + 0.6 * random_numbers.standard_normal((4, 32)) for topic in topics])
    topic = np.repeat([0, 0, 0, 0, 1, 1, 1, 1], 60)
    vectors = centres.repeat(60, 0) + 0.7 * random_numbers.standard_normal((480, 32))
    vectors = unit_vectors(vectors).astype(np.float32)
    fitted = fit_groups(vectors, nearest(vectors, vectors, 15), GroupSettings(granularity=8))
    assert len(fitted.coarse) == 8 and len(set(fitted.coarse.tolist())) == 2
    inside = fitted.fine >= 0
    of_topic = np.stack([topic[inside], fitted.coarse[fitted.fine[inside]]])
    assert len(np.unique(of_topic[1])) == len(np.unique(of_topic, axis=1).T)  # no coarse group is of both topics


def test_granularity_says_how_many_groups() -> None:
    vectors, _, _ = clouds(8, 60, spread=0.4)
    near = nearest(vectors, vectors, 8)
    found = {
        granularity: len(fit_groups(vectors, near, GroupSettings(granularity=granularity)).coarse)
        for granularity in ("coarse", "medium", "fine", 8, 12)
    }
    assert found["coarse"] <= found["medium"] <= found["fine"]
    assert found["medium"] == found[8] == 8
    assert abs(found[12] - 12) <= 2


def test_closeness_leaves_out_the_vector_and_its_nearest_neighbours() -> None:
    vectors = unit_vectors(np.random.default_rng(0).standard_normal((9, 4))).astype(np.float32)
    labels = np.asarray([0, 0, 0, 0, 0, 1, 1, 2, -1])  # of a pair nobody is left; the last two are alone or in no group
    near = np.asarray([[1, 5], [0, 2], [8, 3], [2, 4], [5, 6], [6, 0], [5, 0], [0, 1], [0, 1]])
    expected = []
    for row in range(5):
        mean = vectors[[other for other in range(5) if other not in (row, *near[row])]].mean(0)
        expected.append(vectors[row] @ mean / np.linalg.norm(mean))
    assert closeness(vectors, labels, near) == pytest.approx(sum(expected) / 9, abs=1e-6)


def test_sentences_that_were_copied_are_no_groups_of_their_own() -> None:
    sentences, _, topic = clouds(6, 15, spread=1.0)
    copies = sentences + 0.01 * np.random.default_rng(1).standard_normal(sentences.shape)
    vectors = unit_vectors(np.concatenate([sentences, copies])).astype(np.float32)
    fine = fit_groups(vectors, nearest(vectors, vectors, 15), GroupSettings()).fine
    assert fine.max() + 1 < 12
    assert adjusted_rand_score(np.tile(topic, 2), fine) > 0.6


def test_communities_are_closely_linked_and_numbered_by_size() -> None:
    parts = np.repeat([1, 0, 2], [4, 6, 3])
    links = (parts[:, None] == parts) * (1 - np.eye(len(parts)))
    links[0, 4] = links[4, 0] = 0.5
    assert communities(sparse.csr_matrix(links), 1.0, 0).tolist() == parts.tolist()
    assert communities(sparse.csr_matrix((3, 3)), 1.0, 0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("count", [4, 9, 40])
def test_small_maps_have_a_place_for_each_vector(count: int) -> None:
    vectors = unit_vectors(np.random.default_rng(0).standard_normal((count, 8))).astype(np.float32)
    near = nearest(vectors, vectors, min(5, count - 1)).rows
    places = scaled(layout(near, seed=0))
    assert len(np.unique(places, axis=0)) == count
    assert np.abs(places).max() <= 1 < np.ptp(places, axis=0).max()
    if count == 40:  # so few that their graph has equal eigenvalues may be turned by a rounding
        assert (places == scaled(layout(near, seed=0))).all()


def test_growing_maps_keep_former_places() -> None:
    vectors, _, cloud = clouds(4, 60)
    new = np.arange(len(vectors)) % 10 == 0
    first = layout(nearest(vectors[~new], vectors[~new], 10).rows, seed=0)
    former = np.full((len(vectors), 2), np.nan, np.float32)
    former[~new] = first
    near = nearest(vectors, vectors, 10).rows
    places = layout(near, seed=0, former=former)
    moved = np.linalg.norm(scaled(places)[~new] - scaled(first), axis=1)
    elsewhere = np.linalg.norm(scaled(layout(near, seed=1))[~new] - scaled(first), axis=1)
    assert np.isfinite(places).all() and np.median(moved) < np.median(elsewhere) / 2
    of_cloud = np.stack([places[~new & (cloud == one)].mean(0) for one in range(4)])
    nearest_cloud = np.linalg.norm(places[new][:, None] - of_cloud, axis=2).argmin(1)
    assert (nearest_cloud == cloud[new]).mean() > 0.9


def test_merging_takes_the_cheapest_union() -> None:
    sums = np.random.default_rng(0).standard_normal((7, 4))
    levels = merged(sums)
    assert levels[6].tolist() == list(range(7))
    for finer, coarser in zip(levels[:0:-1], levels[-2::-1]):
        groups = {int(group): sums[finer == group].sum(0) for group in np.unique(finer)}
        costs = {
            (a, b): np.linalg.norm(groups[a]) + np.linalg.norm(groups[b]) - np.linalg.norm(groups[a] + groups[b])
            for a in groups
            for b in groups
            if a < b
        }
        a, b = min(costs, key=lambda pair: costs[pair])
        expected = np.where(finer == b, a, finer)
        assert len(np.unique(coarser)) == len(groups) - 1
        assert adjusted_rand_score(expected, coarser) == 1


@pytest.mark.parametrize("shared", [0, 3])
def test_only_a_group_in_two_parts_is_joined(shared: float) -> None:
    vectors, _, cloud = clouds(6, 60)
    vectors = unit_vectors(vectors + shared * unit_vectors(np.ones(vectors.shape[1])))
    parts = np.where((cloud == 2) & (np.arange(len(cloud)) % 4 == 0), 6, cloud)  # one small part, and a large one
    sums = np.stack([vectors[parts == part].sum(0) for part in range(7)])
    groups = joined(sums, np.bincount(parts), 0.6)
    assert adjusted_rand_score(cloud, groups[parts]) == 1


def test_few_parts_are_not_joined() -> None:
    vectors, _, cloud = clouds(2, 30)
    assert joined(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 0.6).tolist() == []
    sums = np.stack([vectors[cloud == part].sum(0) for part in range(2)])
    assert joined(sums, np.bincount(cloud), 0.6).tolist() == [0, 1]


def test_a_far_third_part_joins_no_others() -> None:
    middles = np.asarray([[1, 0, 0, 0], [1, 0.9, 0, 0], [0, 0, 1, 0]])  # the first two have a cosine of 0.74
    vectors = unit_vectors(np.repeat(unit_vectors(middles), 40, 0) + np.random.default_rng(0).normal(0, 0.05, (120, 4)))
    part = np.repeat([0, 1, 2], 40)

    def found(parts: int) -> np.ndarray:
        return joined(np.stack([vectors[part == one].sum(0) for one in range(parts)]), np.bincount(part), 0.6)

    assert found(3).tolist() == [0, 1, 2]
    part[:20] = 3  # a part of the first
    groups = found(4)
    assert adjusted_rand_score(groups[part], np.repeat([0, 1, 2], 40)) == 1


def test_noise_does_not_split_requests_ever_further() -> None:
    vectors, _, _ = clouds(8, 45)
    noise = unit_vectors(np.random.default_rng(0).normal(size=vectors.shape))
    noisy = unit_vectors(vectors + 2 * noise).astype(np.float32)
    near = nearest(noisy, noisy, 8)
    usual, finer = (fit_groups(noisy, near, GroupSettings(), requests=asked).fine.max() + 1 for asked in (False, True))
    assert usual < finer <= 1.25 * usual + 0.5  # several times as many at the price of requests


def test_groups_ignore_a_direction_shared_by_all() -> None:
    vectors, _, cloud = clouds(6, 60)
    shifted = unit_vectors(vectors + 3 * unit_vectors(np.ones(vectors.shape[1]))).astype(np.float32)
    near = nearest(shifted, shifted, 8)
    assert adjusted_rand_score(cloud, fit_groups(shifted, near, GroupSettings()).fine) > 0.95


def test_fitted_vectors_keep_groups_unless_votes_are_split() -> None:
    labels = np.asarray([0, 1, 1, 1, -1, -1])
    near = np.asarray([[1, 2, 3], [1, 4, 5]], np.int32)
    cosines = np.asarray([[0.9, 0.9, 0.9], [0.2, 0.9, 0.9]], np.float32)
    assert vote(Neighbours(near, cosines, np.asarray([0, 0])), labels).tolist() == [0, -1]


def test_outliers_and_ties_are_in_no_group() -> None:
    labels = np.asarray([0, 0, 0, 1, 1, 1, -1])
    near = np.asarray([[0, 1, 2, 3], [0, 3, 4, 6], [0, 1, 2, 3], [0, 3, 6, 6]], np.int32)
    cosines = np.asarray([[0.9] * 4, [0.9] * 4, [0.1] * 4, [0.9] * 4], np.float32)
    neighbours = Neighbours(near, cosines, np.full(4, -1))
    assert vote(neighbours, labels).tolist() == [0, 1, 0, -1]  # a third of the votes is enough, a quarter is not
    assert vote(neighbours, labels, least_cosine=0.3).tolist() == [0, 1, -1, -1]


def test_votes_over_many_groups_equal_counting() -> None:
    random_numbers = np.random.default_rng(0)
    labels = random_numbers.integers(-1, 4, 50)
    rows = random_numbers.integers(0, 50, (200, 7)).astype(np.int32)
    cosines = random_numbers.uniform(0.1, 1, (200, 7)).astype(np.float32)
    for row, group in enumerate(vote(Neighbours(rows, cosines, np.full(200, -1)), labels).tolist()):
        votes = {one: cosines[row][labels[rows[row]] == one].sum() for one in range(4)}
        best = max(votes, key=lambda one: votes[one])
        assert group == (best if votes[best] >= LEAST_SHARE * cosines[row].sum() else -1)


def test_outliers_are_far_below_the_median() -> None:
    cosines = np.random.default_rng(0).normal(0.8, 0.02, 10_000)
    assert outlier_cosine(cosines) == pytest.approx(0.72, abs=0.005)


def test_places_are_of_copies_or_between_neighbours() -> None:
    places = np.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    near = Neighbours(
        np.asarray([[1, 2], [0, 2], [1, 2]], np.int32),
        np.asarray([[0.9, 0.9], [0.9, 0.1], [0.9, 0.9]], np.float32),
        np.asarray([-1, -1, 0], np.int32),
    )
    found = place(near, places, seed=0)
    assert found[0] == pytest.approx([0.5, 0.5])
    assert found[1] == pytest.approx([0, 0], abs=1e-3)
    assert found[2] == pytest.approx([0, 0])


def test_samples_ignore_order_and_change_little_with_growth() -> None:
    texts = [f"text {number}" for number in range(1000)]
    keys = keys_of(texts, 0)
    chosen = {texts[row] for row in sample_rows(keys, 100, np.ones(1000, bool))}
    backwards = keys[::-1]
    assert {texts[::-1][row] for row in sample_rows(backwards, 100, np.ones(1000, bool))} == chosen
    grown = [*texts, *texts[:50], *(f"more {number}" for number in range(100))]
    after = {grown[row] for row in sample_rows(keys_of(grown, 0), 100, np.ones(len(grown), bool))}
    assert len(after) == 100 and len(chosen & after) > 80
    assert {texts[row] for row in sample_rows(keys_of(texts, 1), 100, np.ones(1000, bool))} != chosen


def test_all_vectors_get_their_group_from_a_sample() -> None:
    vectors, texts, cloud = clouds(4, 200)
    found = group_vectors(vectors, texts, GroupSettings(sample=300))
    assert len(found.sample) == 300
    inside = found.groups >= 0
    assert inside.mean() > 0.9
    assert adjusted_rand_score(cloud[inside], found.groups[inside]) > 0.95


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_tiny_data_have_no_groups_and_no_error(count: int) -> None:
    vectors, texts, _ = clouds(1, 5)
    found = group_vectors(vectors[:count], texts[:count], GroupSettings())
    assert len(found.groups) == count


def test_empty_texts_are_in_no_group() -> None:
    vectors, texts, _ = clouds(2, 40)
    texts[3] = "  "
    assert group_vectors(vectors, texts, GroupSettings()).groups[3] == -1


def test_a_group_is_split_into_its_parts() -> None:
    vectors, _, cloud = clouds(2, 50)
    near = neighbour_graph(nearest(vectors, vectors, 15).rows)
    parts = split_group(near, np.zeros(100, np.int64), 0)
    assert parts is not None and adjusted_rand_score(cloud, parts) > 0.9
    assert split_group(near, np.asarray([0] * 3 + [1] * 97), 0) is None


def test_central_members_are_nearest_and_have_distinct_words() -> None:
    vectors = unit_vectors(np.asarray([[1, 0.0], [1, 0.1], [1, -0.1], [0.5, 1], [0, 1]])).astype(np.float32)
    found = members_of(vectors, np.asarray([7, 7, 7, 7, -1]), ["a", "Hi, b!", "hi b", "d", "e"])
    assert set(found) == {7} and found[7].size == 4
    assert found[7].central[0] == 1 and found[7].edge[0] == 3
    assert len(found[7].central) == 3


def test_texts_that_repeat_a_sentence_are_shown_once() -> None:
    texts = [
        "The lid of my bin is broken",
        "the ild of my bin is broken, I work nights",
        "My bin has no wheel",
        "my bin",
    ]
    vectors = unit_vectors(np.asarray([[1, 0.1 * row] for row in range(4)])).astype(np.float32)
    assert set(members_of(vectors, np.zeros(4, int), texts)[0].central) in ({0, 2, 3}, {1, 2, 3})


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="sample"):
        GroupSettings(sample=1)
    for granularity in (0, 2.5, "finest"):
        with pytest.raises(ValueError, match="granularity must be coarse, medium, fine or a number"):
            GroupSettings(granularity=granularity)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mistaken", "most"), [((), 6), ((0, 1), 15)])
def test_ten_answers_find_the_number_even_if_the_first_two_are_wrong(mistaken: tuple[int, ...], most: int) -> None:
    vectors, _, cloud = clouds(6, 40)
    eight = by_size(cloud * 8 + np.arange(240) % 8)  # groups of each cloud
    tree = merge_tree(vectors, eight, by_size(np.arange(240) // 2 % 20 + 20 * eight), np.zeros(48, bool))
    answers: dict[int, bool] = {}
    for number in range(10):
        merge = tree.question(answers, answers)
        assert merge is not None
        first, second = (np.bincount(cloud[side[tree.piece]]).argmax() for side in tree.sides[merge])
        answers[merge] = (first == second) != (number in mistaken)
    assert 6 <= len(set(tree.regrouped(vectors, answers).tolist())) <= most
